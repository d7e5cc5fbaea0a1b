"""Reading and writing: UTF-8 text one sentence a line, plain or gzipped, and writes that are all or nothing."""

import csv
import errno
import gzip
import hashlib
import io
import json
import os
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from itertools import islice
from mmap import MADV_DONTNEED, mmap
from pathlib import Path
from typing import IO, Any

import numpy as np
import yaml

from neural_smt.errors import Section, UserError
from neural_smt.io.temporaries import make_temporary, temporary_output

MAKE = "run the step that makes it"
MAKE_AGAIN = f"{MAKE} again"

_HELD = 1 << 24
"""Bytes of a mapped array that are looked at before they are released."""


@contextmanager
def atomic(path: Path, directory: bool = False) -> Iterator[Path]:
    """Yield a temporary path beside ``path`` and rename it to ``path`` when the block ends well.

    With ``directory`` the temporary path is an empty folder, and an older folder at ``path`` is replaced.
    When the block raises, the temporary file or folder is removed and ``path`` stays as it was. What the file system
    refuses is an ``OSError`` that names ``path``.
    The temporary name keeps the suffixes of ``path``, so a writer that looks at ``.gz`` still sees it.
    What a process left that was killed while it wrote ``path`` is removed.
    """
    path = Path(path)
    with temporary_output(path, directory) as temporary:
        temporary.chmod(0o755 if directory else 0o644)
        yield temporary
        if directory:
            _replace_folder(temporary, path)
        else:
            os.replace(temporary, path)


def _replace_folder(temporary: Path, path: Path) -> None:
    """Give a folder its name, taking the name from an older folder; other processes may be doing the same."""
    while True:
        try:
            os.replace(temporary, path)  # an empty folder of that name would be replaced too
            return
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
        older = make_temporary(path, directory=True)
        with suppress(FileNotFoundError):
            os.replace(path, older)
        shutil.rmtree(older, ignore_errors=True)


@contextmanager
def open_text(path: Path, mode: str = "r") -> Iterator[IO[str]]:
    """Open a UTF-8 text file with ``\\n`` line ends for reading (``r``) or writing (``w``); ``.gz`` is (de)compressed.

    Compressed output holds neither name nor time: the same text gives the same bytes.
    """
    path = Path(path)
    with ExitStack() as stack:
        if path.suffix == ".gz":
            raw = stack.enter_context(open(path, f"{mode}b"))
            binary = stack.enter_context(gzip.GzipFile("", f"{mode}b", compresslevel=6, fileobj=raw, mtime=0))
            yield stack.enter_context(io.TextIOWrapper(binary, encoding="utf-8", newline="\n"))
        else:
            yield stack.enter_context(open(path, mode, encoding="utf-8", newline="\n"))


@contextmanager
def named_errors(path: Path, writing: bool = False) -> Iterator[None]:
    """Turn what goes wrong while ``path`` is read, or opened for writing, into a ``UserError`` that names it."""
    try:
        yield
    except (OSError, EOFError, zlib.error) as error:
        fault = f"cannot be read ({error}); fetch or write the file again"
        if isinstance(error, IsADirectoryError):
            fault = "is a folder; name a file"
        elif writing and isinstance(error, OSError):
            fault = f"cannot be written ({error.strerror}); name another file"
        elif isinstance(error, FileNotFoundError):
            fault = "no such file; check the path"
        raise UserError(f"{path}: {fault}") from None


MOST_TIMES, ALWAYS_READ = 200, 1 << 26
"""Times its size to which a ``.gz`` file may unpack where it is read as a whole, and bytes that are read of any.

Text and lists of candidates have 3 to 50 times; what is made to fill the memory has 1,000.
"""


def read_bytes(path: Path) -> bytes:
    """Return the contents of a file, unpacked when it ends in ``.gz``; ``UserError`` when it cannot be read."""
    path, found = Path(path), io.BytesIO()
    with open_bytes(path) as stream:
        most = max(ALWAYS_READ, MOST_TIMES * path.stat().st_size)
        while found.write(stream.read(1 << 20)):
            if path.suffix == ".gz" and found.tell() > most:
                raise UserError(
                    f"{path}: unpacks to more than {MOST_TIMES} times its size; unpack it if it is as it should be"
                )
    return found.getvalue()


@contextmanager
def open_bytes(path: Path) -> Iterator[io.BufferedIOBase]:
    """Open a file for reading bytes, unpacked when it ends in ``.gz``; ``UserError`` when it cannot be read."""
    path = Path(path)
    with named_errors(path), gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as stream:
        yield stream


def read_pieces(path: Path, size: int = 1 << 20, nul: bool = False) -> Iterator[tuple[int, bytes]]:
    """Yield the contents of a text file (``.gz`` or plain) in pieces of whole lines, about ``size`` bytes each.

    Each piece comes with the number of lines before it. Raises ``UserError`` for a file that cannot be read, and, with
    the line, for bytes that are not UTF-8, for NUL unless ``nul`` allows it, and for a line longer than 64 pieces.
    """
    path = Path(path)
    lines, rest = 0, b""
    with open_bytes(path) as stream:
        while block := stream.read(size):
            end = block.rfind(b"\n") + 1
            if end == 0:
                rest += block
                if len(rest) > 64 * size:
                    raise UserError(f"{path}, line {lines + 1}: has more than {len(rest) >> 20} MB; give a text file")
                continue
            piece, rest = rest + block[:end], block[end:]
            check_text(path, piece, lines, nul)
            yield lines, piece
            lines += piece.count(b"\n")
    if rest:
        check_text(path, rest, lines, nul)
        yield lines, rest


def check_text(path: Path | str, data: bytes, lines: int = 0, nul: bool = False) -> None:
    """Raise ``UserError`` naming file and line unless ``data``, after so many lines of it, is UTF-8, and without NUL
    unless ``nul`` allows it.
    """
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = lines + data.count(b"\n", 0, error.start) + 1
        raise UserError(
            f"{path}, line {line}: not valid UTF-8 (byte 0x{data[error.start]:02x}); convert the file to UTF-8"
        ) from None
    found = -1 if nul else data.find(b"\0")
    if found >= 0:
        line = lines + data.count(b"\n", 0, found) + 1
        raise UserError(f"{path}, line {line}: holds a NUL byte; give a text file")


def read_lines(path: Path) -> list[str]:
    """Return the lines of a UTF-8 text file (``.gz`` or plain), without line ends.

    Only ``\\n`` and ``\\r\\n`` end a line. Raises ``UserError`` naming file and line for a missing file, bytes
    that are not UTF-8, or a broken archive.
    """
    return decode_lines(Path(path), read_bytes(path))


def decode_lines(path: Path, data: bytes, before: int = 0) -> list[str]:
    """The lines of bytes of a file that come after ``before`` of its lines, as ``read_lines`` gives them."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        check_text(path, data, before, nul=True)
        raise
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line[:-1] if line.endswith("\r") else line for line in lines] if "\r" in text else lines


def read_parallel(source: Path, target: Path) -> tuple[list[str], list[str]]:
    """Read two files that must have the same number of lines; ``UserError`` when they do not."""
    sides = read_lines(source), read_lines(target)
    check_as_long(source, target, len(sides[0]), len(sides[1]))
    return sides


_TRANSLATIONS = "line i of one must be the translation of line i of the other"


def check_as_long(one: Path, other: Path, lines: int, other_lines: int, advice: str = _TRANSLATIONS) -> None:
    """Raise ``UserError``, with this advice, unless two texts of so many lines have as many."""
    if lines != other_lines:
        raise UserError(f"{one} has {lines} lines but {other} has {other_lines}; {advice}")


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines (without line ends) as UTF-8, atomically; ``.gz`` is compressed reproducibly."""
    with atomic(path) as temporary, open_text(temporary, "w") as stream:
        stream.writelines(f"{line}\n" for line in lines)


def read_json(path: Path) -> Any:
    """Parse a JSON file; ``UserError`` names the file and the line at fault."""
    return _parse_json(path, dict)


def read_object(path: Path, advice: str = MAKE_AGAIN) -> dict[str, Any]:
    """Parse a JSON file that holds an object; ``UserError`` also for another value, and for a key that is asked for
    but is not there, with this advice.
    """
    content = _parse_json(path, partial(Section, place=str(path), advice=advice))
    if not isinstance(content, dict):
        raise UserError(f"{path}: holds no JSON object; {advice}")
    return content


def _parse_json(path: Path, made_of: Callable[[list[tuple[str, Any]]], dict[str, Any]]) -> Any:
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"), object_pairs_hook=made_of)
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; {MAKE}") from None
    except json.JSONDecodeError as error:
        raise UserError(f"{path}, line {error.lineno}: not valid JSON ({error.msg}); {MAKE_AGAIN}") from None
    except (ValueError, RecursionError):  # not UTF-8, a number of thousands of digits, thousands of brackets
        raise UserError(f"{path}: not a JSON file; {MAKE_AGAIN}") from None


def read_yaml(path: Path) -> Any:
    """Parse a file of YAML (or JSON, which is YAML too); ``UserError`` names the file and the line at fault."""
    text = "\n".join(read_lines(path))
    with suppress(yaml.YAMLError, AttributeError, RecursionError):
        # libyaml, where PyYAML has it: a tenth of the time
        return _construct(path, yaml.CSafeLoader(text))
    try:
        # Python's parser says better what is wrong
        return _construct(path, yaml.SafeLoader(text))
    except yaml.YAMLError as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        where = f"{path}, line {mark.line + 1}" if mark else f"{path}"
        raise UserError(f"{where}: not valid YAML ({problem or str(error).splitlines()[0]}); correct it") from None
    except RecursionError:
        raise UserError(f"{path}: lists and sections are nested too deeply; write them flatter") from None


MOST_VALUES = 1_000_000
"""Values of a YAML file, those that aliases repeat counted each time."""


def _construct(path: Path, loader: Any) -> Any:
    """What the only document of a file of YAML holds; ``UserError`` for what PyYAML lets pass, or stumbles over."""
    node = loader.get_single_node()
    if node is None:
        return None
    if _count_values(path, node, {}) > MOST_VALUES:
        raise UserError(f"{path}: aliases make more than {MOST_VALUES:,} values of it; write them out")
    try:
        return loader.construct_document(node)
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path}: a value is not what its form or tag says ({error}); put it in quotes") from None


def _count_values(path: Path, node: yaml.Node, counts: dict[yaml.Node, int]) -> int:
    """How many values a node stands for; ``UserError`` for a key that stands twice, or an alias in what it names."""
    if node not in counts:
        counts[node], children = 0, [] if isinstance(node, yaml.ScalarNode) else node.value
        if isinstance(node, yaml.MappingNode):
            names: set[str] = set()
            for key, _ in node.value:
                if isinstance(key, yaml.ScalarNode):
                    line = f"{path}, line {key.start_mark.line + 1}"
                    if key.value in names:
                        raise UserError(f"{line}: the key '{key.value}' stands twice in its section; keep one")
                    names.add(key.value)
            children = [value for _, value in node.value]
        counts[node] = 1 + sum(_count_values(path, child, counts) for child in children)
    elif not counts[node]:
        raise UserError(f"{path}, line {node.start_mark.line + 1}: an alias stands inside what it names; write it out")
    return counts[node]


def digest_file(path: Path, algorithm: str = "sha256") -> str:
    """Checksum (hex) of a file's bytes."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, algorithm).hexdigest()


def digest_parts(parts: Iterable[str | np.ndarray]) -> str:
    """SHA-256 (hex) of texts and the values of arrays, one after the other."""
    digest = hashlib.sha256()
    for part in parts:
        for piece in [part.encode()] if isinstance(part, str) else byte_pieces(part):
            digest.update(piece)
    return digest.hexdigest()


def byte_pieces(array: np.ndarray) -> Iterator[memoryview]:
    """The bytes of an array (in C order) one piece after the other, of which one is in memory where it is mapped."""
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    for start in range(0, len(data), _HELD):
        yield data[start : start + _HELD].data
        release(array)


def release(array: np.ndarray) -> None:
    """Take the file that an array is mapped from, if it is, out of this process's memory.

    What is read once from end to end would otherwise stay as long as there is room, and count as used. What is looked
    at again comes back, most often from the system's cache.
    """
    owner: Any = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    if isinstance(owner, mmap):
        owner.madvise(MADV_DONTNEED)


def digest_json(values: Any) -> str:
    """SHA-256 (hex) of JSON values."""
    return digest_parts([json.dumps(values, sort_keys=True)])


def digest_lines(lines: Iterable[str]) -> str:
    """SHA-256 (hex) of lines, or of words in order, joined by ``\\n``."""
    digest, stream, separator = hashlib.sha256(), iter(lines), ""
    while piece := list(islice(stream, _DIGESTED)):
        digest.update((separator + "\n".join(piece)).encode())
        separator = "\n"
    return digest.hexdigest()


_DIGESTED = 1 << 16
"""Lines that are looked at together."""


def hash_text(text: str) -> int:
    """A 64-bit hash of a text that is the same in every process (BLAKE2b)."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def write_json(path: Path, value: Any) -> None:
    """Write ``value`` as indented JSON with sorted keys, atomically."""
    with atomic(path) as temporary:
        temporary.write_text(json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")


def read_csv(path: Path) -> list[dict[str, str]]:
    """Read a CSV table as one dictionary per row; pandas would take rows that are cut off.

    ``UserError`` for a missing or damaged file, and for a column that is asked for but is not there.
    """
    rows = csv.reader(io.StringIO("\n".join(read_lines(path)), newline=""), strict=True)
    table: list[dict[str, str]] = []
    header = None
    try:
        for row in rows:
            if not row:
                continue
            if header is None:
                header = row
            elif len(row) != len(header):
                raise csv.Error(f"{len(row)} cells under a header of {len(header)}")
            else:
                table.append(Section(zip(header, row, strict=True), f"{path}, line {rows.line_num}", MAKE_AGAIN))
    except csv.Error as error:
        raise UserError(f"{path}, line {rows.line_num}: not a row of a CSV table ({error}); {MAKE_AGAIN}") from None
    return table
