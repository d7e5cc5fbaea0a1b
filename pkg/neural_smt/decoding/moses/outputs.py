"""Input and output of ``decode --moses-ini``, batch by batch: lines are translated as they arrive.

Outputs are translations, n-best lists, word alignments and lattices. A file appears only when it is complete.
"""

import io
import os
import select
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from neural_smt.decoding.lattices.lattice import Lattice
from neural_smt.decoding.lattices.text_formats import search_graph_lines, slf_lines
from neural_smt.decoding.nbest import nbest_lines
from neural_smt.decoding.search import Decoder, Translation
from neural_smt.errors import UserError
from neural_smt.io.files import atomic, decode_lines, named_errors, open_text, read_lines

STANDARD = Path("-")
"""Stands for standard input or output."""

_BLOCK = 1 << 16

Lattices = list[Lattice | None]


@dataclass(frozen=True)
class Listing:
    """The n-best lists to write."""

    path: Path
    size: int
    distinct: bool

    @classmethod
    def parse(cls, words: list[str] | None) -> "Listing | None":
        """``FILE SIZE [distinct]``; ``UserError`` for anything else."""
        if words is None:
            return None
        sized = len(words) > 1 and words[1].isdecimal() and int(words[1]) > 0
        if not sized or words[2:] not in ([], ["distinct"]):
            raise UserError(f"--nbest takes FILE SIZE [distinct], not '{' '.join(words)}'; correct the option")
        return cls(Path(words[0]), int(words[1]), len(words) == 3)


@dataclass(frozen=True)
class Outputs:
    """Paths of the outputs; None for those not wanted, but None as ``translations`` is standard output.

    lattice_format: ``osg`` and ``osgx`` (Moses' search graph, without and with feature values; lattices is a file) or
    ``slf`` (HTK; lattices is a folder). ``UserError`` when two outputs would go to one place.
    """

    translations: Path | None = None
    listing: Listing | None = None
    alignments: Path | None = None
    lattices: Path | None = None
    lattice_format: str = "osg"

    def __post_init__(self) -> None:
        others = [self.listing and self.listing.path, self.alignments, self.lattices]
        names = [str(path or "-") for path in [self.translations, *filter(None, others)]]
        for name in names:
            if names.count(name) > 1:
                raise UserError(f"two outputs go to {'standard output' if name == '-' else name}; name another file")

    @contextmanager
    def open(self, shown: dict[str, slice]) -> Iterator[Callable[[int, list[Translation], Lattices], None]]:
        """Yield what writes a batch: the number of its first sentence, the translations, and the lattices.

        Files get their names when the block ends well. shown: the features of n-best lists, printed name -> scores.
        """
        with ExitStack() as stack:
            streams = {path: open_output(path, stack) for path, _ in self._lines(shown, 0, [], [])}
            slf = self.lattices and self.lattice_format == "slf"
            folder = open_folder(self.lattices, stack) if slf else None

            def write(first: int, translations: list[Translation], lattices: Lattices) -> None:
                for path, lines in self._lines(shown, first, translations, lattices):
                    write_batch(streams[path], lines)
                for number, lattice in enumerate(lattices if folder else [], start=first):
                    with open_text(folder / f"{number}.slf", "w") as stream:
                        write_batch(stream, slf_lines(number, lattice))

            yield write

    def _lines(
        self, shown: dict[str, slice], first: int, translations: list[Translation], lattices: Lattices
    ) -> Iterator[tuple[Path | None, Iterable[str]]]:
        """What a batch adds to each file."""
        yield self.translations, (" ".join(translation.tokens) for translation in translations)
        if self.listing:
            yield self.listing.path, nbest_lines(translations, shown, first)
        if self.alignments:
            yield self.alignments, map(alignment_line, translations)
        if self.lattices and self.lattice_format != "slf":
            yield self.lattices, search_graph_lines(lattices, first, self.lattice_format == "osgx")

    def decode(self, decoder: Decoder, sentences: list[list[str]]) -> tuple[list[Translation], Lattices]:
        """Translations of some sentences, and their lattices where lattices are to be written."""
        size, distinct = (self.listing.size, self.listing.distinct) if self.listing else (0, True)
        if not self.lattices:
            return decoder.decode(sentences, size, distinct), []
        lattices = decoder.lattices(sentences)
        return [decoder.translate(lattice, size, distinct) for lattice in lattices], lattices


def write_batch(stream: IO[str], lines: Iterable[str]) -> None:
    """Write lines at once, so that whoever reads them need not wait."""
    stream.write("".join(f"{line}\n" for line in lines))
    stream.flush()


def alignment_line(translation: Translation) -> str:
    """Links as Moses writes them: phrase by phrase of the translation, a blank after each."""
    phrase_of = [i for i, (_, _, start, stop) in enumerate(translation.segmentation) for _ in range(start, stop)]
    links = sorted(translation.alignment, key=lambda link: (phrase_of[link[1]], link))
    return "".join(f"{i}-{j} " for i, j in links)


def read_batches(path: Path | None, size: int) -> Iterator[list[str]]:
    """Yield the lines of a text (None or ``-``: standard input; ``.gz`` is unpacked), at most ``size`` at once.

    A batch ends early where the next line has not been written yet, so that a program that writes a line and waits gets
    its answer. Lines come without ends. Raises ``UserError`` naming the line that is not UTF-8.
    """
    if path is not None and path.suffix == ".gz":
        lines = read_lines(path)
        yield from (lines[start : start + size] for start in range(0, len(lines), size))
        return
    with ExitStack() as stack:
        name, descriptor = "standard input", 0
        if path not in (None, STANDARD):
            with named_errors(path):
                name, descriptor = str(path), stack.enter_context(open(path, "rb", buffering=0)).fileno()
        number = 0
        for batch in _batches(descriptor, size):
            yield decode_lines(Path(name), b"".join(line + b"\n" for line in batch), number)
            number += len(batch)


def _batches(descriptor: int, size: int) -> Iterator[list[bytes]]:
    """Lines without their ``\\n``, as many as can be read without waiting, but at least one and at most ``size``."""
    waiting: list[bytes] = []
    tail, ended = b"", False
    while not ended or waiting:
        while not ended and len(waiting) < size and (not waiting or select.select([descriptor], [], [], 0)[0]):
            block = os.read(descriptor, _BLOCK)
            *lines, tail = (tail + block).split(b"\n")
            waiting += lines
            if not block:
                ended = True
                waiting += [tail] if tail else []
        if waiting:
            yield waiting[:size]
            del waiting[:size]


def open_output(path: Path | None, stack: ExitStack) -> IO[str]:
    """A stream of UTF-8 text: standard output for None or ``-``; a file gets its name when ``stack`` ends well.

    Devices and pipes are written as they are. ``UserError`` when the path cannot be written.
    """
    if path is None or path == STANDARD:
        sys.stdout.flush()
        stream = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8", newline="\n", write_through=True)
        stack.callback(stream.detach)
        return stream
    with _named_errors(path):
        if path.is_dir():
            raise UserError(f"{path}: is a folder; name a file")
        special = path.exists() and not path.is_file()
        return stack.enter_context(open_text(path if special else stack.enter_context(atomic(path)), "w"))


def open_folder(path: Path, stack: ExitStack) -> Path:
    """A new folder, which gets its name when ``stack`` ends well; ``UserError`` where something is there already."""
    with _named_errors(path):
        if path.exists() and not (path.is_dir() and not any(path.iterdir())):
            raise UserError(f"{path}: exists already; name a new folder, or remove it")
        return stack.enter_context(atomic(path, directory=True))


@contextmanager
def _named_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror}); name another file") from None
