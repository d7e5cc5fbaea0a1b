"""Files of arrays: the safetensors format with a checksum of every array, mapped into memory when read.

Any reader of safetensors opens them. What it need not know stands in the metadata: ``meta``, JSON values of whoever
wrote the file; ``xxh3``, the XXH3 checksums of the arrays in the order of their data; ``header``, that of all the
header says besides. So a changed byte anywhere is noticed: when a file is read (12 GB/s of what is in memory), or, of a
file above ``STAMPED`` bytes, when it is first read: a hidden file beside it remembers its size and time of change.
"""

import json
import math
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import IO, Any, NamedTuple

import numpy as np
import xxhash

from neural_smt.errors import Section, UserError
from neural_smt.io.files import MAKE, MAKE_AGAIN, atomic, byte_pieces
from neural_smt.io.ragged import Ragged

STAMPED = 1 << 26
"""Bytes of a file whose checksums are remembered: those of smaller ones take 6 ms at most."""

_SMALL = 1 << 16
"""Bytes of a file that is sooner read than mapped."""

_LONGEST_HEADER = 1 << 27

_SIZES = {"U": (1, 2, 4, 8), "I": (1, 2, 4, 8), "F": (4, 8)}
KINDS = {f"{kind}{8 * size}": np.dtype(f"{kind.lower()}{size}") for kind, sizes in _SIZES.items() for size in sizes}
KINDS["BOOL"] = np.dtype(np.bool_)
"""What safetensors calls the types of arrays."""

_NAMES = {kind: name for name, kind in KINDS.items()}
_OWN = "__metadata__"


class _Place(NamedTuple):
    """Where an array lies in a file: ``start`` from the file's beginning; checksum: of its bytes, in hex."""

    kind: np.dtype
    shape: tuple[int, ...]
    start: int
    checksum: str

    @property
    def bytes(self) -> int:
        return math.prod(self.shape) * self.kind.itemsize


class Arrays(dict[str, np.ndarray]):
    """Arrays by name out of a file. path: the file; meta: what it says besides; advice: what to do where it is damaged;
    unseen: whether it was not known to be as it was written before it was read.
    """

    def __init__(self, path: Path, meta: Any, advice: str, unseen: bool):
        super().__init__()
        self.path, self.meta, self.advice, self.unseen = path, meta, advice, unseen

    def __missing__(self, name: str) -> np.ndarray:
        raise self.damaged(f"it has no '{name}'")

    def damaged(self, reason: object) -> UserError:
        """What is said of the file where it is not as it was written."""
        return UserError(f"{self.path}: damaged ({reason}); {self.advice}")

    def remember(self) -> None:
        """Let later readers of a large file trust it as it is now."""
        found = self.path.stat()
        if self.unseen and found.st_size > STAMPED:
            with suppress(OSError), atomic(stamp_of(self.path)) as temporary:
                temporary.write_text(_stamp(found))


def stamp_of(path: Path) -> Path:
    """The file that remembers that the checksums of a file were right."""
    return path.with_name(f".{path.name}.verified")


def _stamp(found: os.stat_result) -> str:
    return f"{found.st_size} {found.st_mtime_ns}\n"


def _remembered(path: Path, found: os.stat_result) -> bool:
    with suppress(OSError, ValueError):
        return found.st_size > STAMPED and stamp_of(path).read_text() == _stamp(found)
    return False


def read_arrays(
    path: Path, names: Iterable[str] | None = None, mapped: bool = True, advice: str = MAKE_AGAIN, trusted: bool = True
) -> Arrays:
    """Read a file that ``write_arrays`` wrote: arrays that are read-only, and mapped if the file is large, or, unless
    ``mapped``, in memory of their own.

    names: of those wanted, if not all; trusted: whether a large file that was found right before is so now. Raises
    ``UserError``, with this advice, for a file that is missing or not as it was written.
    """
    path = Path(path)
    try:
        with open(path, "rb") as stream:
            found = os.fstat(stream.fileno())
            places, meta = _read_header(stream, found.st_size)
            said = json.loads(meta, object_pairs_hook=partial(Section, place=str(path), advice=advice))
            arrays = Arrays(path, said, advice, not (trusted and _remembered(path, found)))
            whole = np.memmap(stream, np.uint8, "r") if mapped and found.st_size > _SMALL else None
            for name in places if names is None else names:
                place = places[name]
                data = _read(stream, place) if whole is None else np.asarray(whole)[place.start :][: place.bytes]
                if arrays.unseen and _checksum(data) != place.checksum:
                    raise ValueError(f"'{name}' is not what was written")
                arrays[name] = data.view(place.kind).reshape(place.shape)
                arrays[name].flags.writeable = not mapped
            return arrays
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; {MAKE}") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror or error}); {advice}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UserError(f"{path}: damaged ({error}); {advice}") from None


def _checksum(data: np.ndarray) -> str:
    """XXH3 (hex) of bytes."""
    digest = xxhash.xxh3_64()
    for piece in byte_pieces(data):
        digest.update(piece)
    return digest.hexdigest()


def _read(stream: IO[bytes], place: _Place) -> np.ndarray:
    stream.seek(place.start)
    data = np.fromfile(stream, np.uint8, place.bytes)
    if len(data) < place.bytes:
        raise ValueError("it ends too early")
    return data


def read_meta(path: Path, advice: str = MAKE_AGAIN) -> Any:
    """What the writer of a file of arrays said besides them."""
    return read_arrays(path, (), advice=advice).meta


def _read_header(stream: IO[bytes], size: int) -> tuple[dict[str, _Place], str]:
    """Where each array lies, and the JSON text of ``meta``; ``ValueError`` unless all of the file is accounted for."""
    length = int.from_bytes(stream.read(8), "little")
    if size < 8 or length > min(size - 8, _LONGEST_HEADER) or length % 8:
        raise ValueError("it does not begin as a file of arrays")
    header = json.loads(stream.read(length))
    own = header.pop(_OWN)
    if own["header"] != _digest_header(header, own["xxh3"], own["meta"]):
        raise ValueError("its header is not what was written")
    places, start = {}, 8 + length
    for (name, entry), checksum in zip(header.items(), own["xxh3"].split(), strict=True):
        place = _Place(KINDS[entry["dtype"]], tuple(entry["shape"]), start, checksum)
        whole = all(type(rows) is int and rows >= 0 for rows in place.shape)
        offsets = [start - 8 - length, start - 8 - length + place.bytes]
        if not whole or start % place.kind.itemsize or entry["data_offsets"] != offsets:
            raise ValueError(f"'{name}' has no place in it")
        places[name], start = place, start + place.bytes
    if start != size:
        raise ValueError("it has another length than it says")
    return places, own["meta"]


def _digest_header(entries: Mapping[str, Any], checksums: str, meta: str) -> str:
    return xxhash.xxh3_64_hexdigest(json.dumps([entries, checksums, meta]).encode())


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray], meta: Any = None) -> None:
    """Write arrays by name; meta: JSON values that ``read_arrays`` gives back. The file is not there before it ends."""
    # the widest types first, so that every array begins at a multiple of its item's size
    ordered = sorted(arrays.items(), key=lambda item: (-item[1].dtype.itemsize, item[0]))
    entries, parts, start = {}, [], 0
    for name, array in ordered:
        parts.append(np.asarray(array, order="C").reshape(-1).view(np.uint8))
        place = [start, start + array.nbytes]
        entries[name] = {"dtype": _NAMES[array.dtype], "shape": [*array.shape], "data_offsets": place}
        start += array.nbytes
    own = {"xxh3": " ".join(map(_checksum, parts)), "meta": json.dumps(meta, sort_keys=True)}
    own["header"] = _digest_header(entries, own["xxh3"], own["meta"])
    header = json.dumps({_OWN: own, **entries}).encode()
    header += b" " * (-len(header) % 8)
    with atomic(path) as temporary, open(temporary, "wb") as stream:
        stream.write(len(header).to_bytes(8, "little") + header)
        stream.writelines(chain.from_iterable(map(byte_pieces, parts)))


class ArrayWriter:
    """A file of arrays that grow row by row, equal to what ``write_arrays`` writes of them. Until the block ends, each
    lies in a file of its own beside it.
    """

    def __init__(self, path: Path, meta: Any = None):
        self.path, self.meta = Path(path), meta
        self._grown: dict[str, tuple[IO[bytes], np.ndarray]] = {}

    def __enter__(self) -> "ArrayWriter":
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            arrays = {name: self._read(name) for name in self._grown}
        for stream, _ in self._grown.values():
            stream.close()
            Path(stream.name).unlink()  # what is mapped stays
        if kind is None:
            write_arrays(self.path, arrays, self.meta)

    def append(self, name: str, rows: np.ndarray | Ragged) -> None:
        """Write the next rows or lists of an array, all of one type and shape."""
        if isinstance(rows, Ragged):
            known = f"{name}.values" in self._grown
            written = len(self._read(f"{name}.values")) if known else 0
            self.append(f"{name}.values", rows.values)
            self.append(f"{name}.offsets", written + rows.offsets[known:])
            return
        if name not in self._grown:
            own = open(self.path.with_name(f"{self.path.name}.{name}"), "wb")  # noqa: SIM115
            self._grown[name] = own, rows[:0]
        stream, like = self._grown[name]
        if rows.dtype != like.dtype or rows.shape[1:] != like.shape[1:]:
            raise ValueError(f"{stream.name}: rows of {rows.dtype} {rows.shape} do not belong here")
        stream.write(np.ascontiguousarray(rows).data)

    def read(self, name: str) -> np.ndarray | Ragged:
        """The array or the lists as far as they are written, mapped."""
        if name in self._grown:
            return self._read(name)
        return Ragged(self._read(f"{name}.values"), self._read(f"{name}.offsets"))

    def _read(self, name: str) -> np.ndarray:
        stream, like = self._grown[name]
        stream.flush()
        if not Path(stream.name).stat().st_size:
            return like
        return np.asarray(np.memmap(stream.name, like.dtype, "r")).reshape(-1, *like.shape[1:])
