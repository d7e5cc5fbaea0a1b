"""What a decoding writes: translations, n-best lists, alignments and lattices, batch by batch as they come."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from neural_smt.decoding.lattices.lattice import Lattice
from neural_smt.decoding.lattices.osg import search_graph_lines
from neural_smt.decoding.lattices.slf import slf_lines
from neural_smt.decoding.moses.streams import open_folder, open_output
from neural_smt.decoding.nbest import nbest_lines
from neural_smt.decoding.search import Decoder, Translation
from neural_smt.errors import UserError
from neural_smt.io.files import open_text
from neural_smt.vocabulary import Vocabulary

Lattices = list[Lattice | None]
Writer = Callable[[int, list[Translation], Lattices], None]
"""Takes the number of the first sentence of a batch, the translations, and the lattices."""


@dataclass(frozen=True)
class Listing:
    """What n-best lists are wanted."""

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
    """Where what goes; None for what is not wanted, but None as ``translations`` is standard output.

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
    def open(self, shown: dict[str, slice], vocabulary: Vocabulary) -> Iterator[Writer]:
        """Yield the writer; files get their names when the block ends well.

        shown: the features of n-best lists, printed name -> scores; vocabulary: the target vocabulary.
        """
        with ExitStack() as stack:
            writers = [_line_writer(stack, self.translations, lambda first, found: (" ".join(t.tokens) for t in found))]
            if self.listing:
                path = self.listing.path
                writers.append(_line_writer(stack, path, lambda first, found: nbest_lines(found, shown, first)))
            if self.alignments:
                writers.append(_line_writer(stack, self.alignments, lambda first, found: map(alignment_line, found)))
            if self.lattices and self.lattice_format == "slf":
                writers.append(_slf_writer(stack.enter_context(open_folder(self.lattices)), vocabulary))
            elif self.lattices:
                stream = stack.enter_context(open_output(self.lattices))
                writers.append(_graph_writer(stream, vocabulary, self.lattice_format == "osgx"))

            def write(first: int, translations: list[Translation], lattices: Lattices) -> None:
                for writer in writers:
                    writer(first, translations, lattices)

            yield write

    def decode(self, decoder: Decoder, sentences: list[list[str]]) -> tuple[list[Translation], Lattices]:
        """What the writer takes of some sentences; no lattices where none are wanted."""
        size, distinct = (self.listing.size, self.listing.distinct) if self.listing else (0, True)
        if not self.lattices:
            return decoder.decode(sentences, size, distinct), []
        lattices = decoder.lattices(sentences)
        return [decoder.translate(lattice, size, distinct) for lattice in lattices], lattices


def _line_writer(
    stack: ExitStack, path: Path | None, format_lines: Callable[[int, list[Translation]], Iterable[str]]
) -> Writer:
    stream = stack.enter_context(open_output(path))
    return lambda first, translations, lattices: _write(stream, format_lines(first, translations))


def _graph_writer(stream: IO[str], vocabulary: Vocabulary, extended: bool) -> Writer:
    return lambda first, translations, lattices: _write(
        stream, search_graph_lines(lattices, vocabulary, first, extended)
    )


def _slf_writer(folder: Path, vocabulary: Vocabulary) -> Writer:
    def write(first: int, translations: list[Translation], lattices: Lattices) -> None:
        for number, lattice in enumerate(lattices, start=first):
            with open_text(folder / f"{number}.slf", "w") as stream:
                stream.writelines(f"{line}\n" for line in slf_lines(number, lattice, vocabulary, features=True))

    return write


def _write(stream: IO[str], lines: Iterable[str]) -> None:
    stream.write("".join(f"{line}\n" for line in lines))
    stream.flush()


def alignment_line(translation: Translation) -> str:
    """Links as Moses writes them: phrase by phrase of the translation, a blank after each."""
    phrase_of = [i for i, (_, _, start, stop) in enumerate(translation.segmentation) for _ in range(start, stop)]
    links = sorted(translation.alignment, key=lambda link: (phrase_of[link[1]], link))
    return "".join(f"{i}-{j} " for i, j in links)
