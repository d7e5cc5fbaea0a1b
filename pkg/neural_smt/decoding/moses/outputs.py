"""Output of ``decode --moses-ini``, batch by batch: translations, n-best lists, word alignments and lattices.

A file appears only when it is complete.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from neural_smt.decoding.lattices.lattice import Lattice
from neural_smt.decoding.lattices.text_formats import search_graph_lines, slf_lines
from neural_smt.decoding.moses.ini import LARGEST
from neural_smt.decoding.nbest import nbest_lines
from neural_smt.decoding.search import Decoder
from neural_smt.decoding.translations import Translation, empty_translation, translate
from neural_smt.errors import UserError
from neural_smt.io.files import open_text
from neural_smt.io.streams import open_folder, open_output, write_batch

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
        sized = len(words) > 1 and words[1].isdecimal() and len(words[1]) < 10 and 0 < int(words[1]) <= LARGEST
        if not sized or words[2:] not in ([], ["distinct"]):
            wanted = f"FILE SIZE [distinct], SIZE up to {LARGEST:,}"
            raise UserError(f"--nbest takes {wanted}, not '{' '.join(words)}'; correct the option")
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
            slf = self.lattice_format == "slf"
            folder = open_folder(self.lattices, stack) if self.lattices and slf else None

            def write(first: int, translations: list[Translation], lattices: Lattices) -> None:
                for path, lines in self._lines(shown, first, translations, lattices):
                    write_batch(streams[path], lines)
                if folder:
                    for number, lattice in enumerate(lattices, start=first):
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
        traced = int(self.alignments is not None)
        if not self.lattices:
            return decoder.decode(sentences, size, distinct, traced), []
        nothing = empty_translation(decoder.feature_set.size, size)
        model, found = decoder.model, decoder.lattices(sentences)
        made = (one and translate(one, model, size, distinct, traced=traced)[0] for one in found)
        return [translation or nothing for translation in made], found


def alignment_line(translation: Translation) -> str:
    """Links as Moses writes them: phrase by phrase of the translation, a blank after each."""
    phrase_of = [i for i, (_, _, start, stop) in enumerate(translation.trace.segmentation) for _ in range(start, stop)]
    links = sorted(translation.trace.alignment, key=lambda link: (phrase_of[link[1]], link))
    return "".join(f"{i}-{j} " for i, j in links)
