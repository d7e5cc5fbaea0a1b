"""Steps of the alignment stage, from files to files, and eflomal, which they run through its Python package.

eflomal (Bayesian word alignment by Gibbs sampling, Östling and Tiedemann 2016) draws its seed from the system and
offers no way to set it: two runs give slightly different links.
"""

import logging
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from neural_smt.alignment.fast_align import CELLS, FastAlign, TextPiece, train_fast_align
from neural_smt.alignment.lexical import LexicalTable, lexical_table
from neural_smt.alignment.pharaoh import read_alignments, stream_aligned, stream_alignments, write_alignments
from neural_smt.alignment.symmetrisation import symmetrise_alignments
from neural_smt.errors import UserError, check_as_many, required
from neural_smt.experiment.settings import Settings, section_settings
from neural_smt.io.files import check_as_long
from neural_smt.io.ragged import Ragged
from neural_smt.io.streams import count_lines, count_parallel, stream_lines, stream_texts
from neural_smt.io.temporaries import scratch_folder
from neural_smt.vocabulary import Vocabulary

log = logging.getLogger(__name__)

READ_TOGETHER = 1 << 17
"""Sentence pairs that are read at a time."""

TRANSLATIONS = 1000
"""Translations of a source word that are kept of fast_align's table, as Jean et al. (2015) do."""


def align(
    *,
    sources: list[Path],
    targets: list[Path],
    settings: dict[str, Any],
    backward: bool,
    seed: int,
    output: Path,
    gold_output: Path | None = None,
    table: Path | None = None,
    source_vocabulary: Path | None = None,
    target_vocabulary: Path | None = None,
    threads: int = 1,
) -> None:
    """Align words in one direction, writing links as source-target positions.

    The texts are aligned as one: links of the first pair of files go to ``output``, those of the others (sets with
    gold alignments) to ``gold_output``. ``table`` is for the word translation table p(target | source) that fast_align
    ends with, forwards, in the ids of both vocabularies (``LexicalTable``). ``settings``: ``aligner`` is ``eflomal`` or
    ``fast_align``, and an optional section of that name holds its own settings. fast_align repeats itself exactly, with
    any number of threads, and keeps of a long text little in memory; eflomal can't be seeded, so ``seed`` changes
    neither.
    """
    texts = _Texts(sources, targets)
    section = section_settings("alignment", settings)
    if table is not None and (backward or section.aligner != "fast_align"):
        raise UserError(f"{table}: a table of words comes of fast_align, forwards; align so, or leave table out")
    with scratch_folder(output) as folder:
        if table is None:
            links = _align(texts, section, backward, threads, folder)
        else:
            model, words = _train_fast_align(texts, section, backward, threads, folder)
            links = model.links()
            vocabularies = (Vocabulary.load(required(path)) for path in (source_vocabulary, target_vocabulary))
            _translations(model, words, *vocabularies).save(table)
        rest: list[Ragged] = []
        write_alignments(output, _first_lines(links, texts.ends[0], rest))
        if gold_output is not None:
            write_alignments(gold_output, rest)


def align_sets(
    *,
    sources: list[Path],
    targets: list[Path],
    settings: dict[str, Any],
    seed: int,
    outputs: list[Path],
    threads: int = 1,
) -> None:
    """Align the words of further texts along with the training text, in both directions, and symmetrise.

    The first pair of files is the training text, whose own links are not written; ``outputs`` has a file for each of
    the others. settings: as for ``align``, and ``heuristic``. The seed changes nothing, as there.
    """
    check_as_many(targets=targets[1:], outputs=outputs)
    texts = _Texts(sources, targets)
    section = section_settings("alignment", settings)
    forward: list[Ragged] = []
    backward: list[Ragged] = []
    for rest in (forward, backward):
        with scratch_folder(outputs[0]) as folder:
            for _ in _first_lines(_align(texts, section, rest is backward, threads, folder), texts.ends[0], rest):
                pass
    alignments = symmetrise_alignments(Ragged.concatenate(forward), Ragged.concatenate(backward), settings["heuristic"])
    for output, (first, last) in zip(outputs, pairwise(np.subtract(texts.ends, texts.ends[0])), strict=True):
        write_alignments(output, [alignments.part(first, last)])


class _Texts:
    """The lines of all pairs of files, one file after the other. ``ends``: where each ends."""

    def __init__(self, sources: list[Path], targets: list[Path]):
        check_as_many(sources=sources, targets=targets)
        if not sources:
            raise UserError("no texts are given to align; name the sides of one at least")
        self.files = list(zip(sources, targets, strict=True))
        self.ends = list(accumulate(count_parallel(*pair) for pair in self.files))
        if not any(line.strip() for line in stream_lines(sources[0])):
            raise UserError(f"{sources[0]}: holds no words to align; check the corpus and its cleaning")

    def side(self, number: int) -> Iterator[str]:
        """The lines of the source (0) or of the target (1)."""
        return stream_texts(pair[number] for pair in self.files)

    def pieces(self, vocabularies: Sequence[Vocabulary], numbers: Sequence[int]) -> Iterator[TextPiece]:
        """Word ids of two sides, in pieces of about ``CELLS`` cells."""
        sides = zip(vocabularies, map(self.side, numbers), strict=True)
        batches = [words.encode_pieces(lines, READ_TOGETHER) for words, lines in sides]
        waiting: list[TextPiece] = []
        cells = 0
        for source, target in zip(*batches, strict=True):
            waiting.append((source, target))
            cells += int(source.lengths @ target.lengths)
            if cells >= CELLS:
                yield _joined(waiting)
                waiting, cells = [], 0
        if waiting:
            yield _joined(waiting)


def _joined(batches: list[TextPiece]) -> TextPiece:
    source, target = (Ragged.concatenate(parts) for parts in zip(*batches, strict=True))
    return source, target


def _first_lines(links: Iterable[Ragged], lines: int, rest: list[Ragged]) -> Iterator[Ragged]:
    """The links of so many lines; when they have been gone through, those of the other lines are in ``rest``."""
    for part in links:
        own = min(lines, len(part))
        yield part.part(0, own)
        rest.append(part.part(own, len(part)))
        lines -= own


def _align(texts: _Texts, section: Settings, backward: bool, threads: int, folder: Path) -> Iterable[Ragged]:
    """Links as (source, target), of parts of the texts one after the other; ``folder`` is for what lies on disk."""
    log.info("aligning %d sentence pairs with %s", texts.ends[-1], section.aligner)
    if section.aligner == "eflomal":
        return [_eflomal([*texts.side(0)], [*texts.side(1)], section.eflomal, backward, threads)]
    links = _train_fast_align(texts, section, backward, threads, folder)[0].links()
    return _turned(links) if backward else links


def _turned(links: Iterable[Ragged]) -> Iterator[Ragged]:
    """Links the other way round."""
    return (Ragged(np.ascontiguousarray(part.values[:, ::-1]), part.offsets) for part in links)


def _train_fast_align(
    texts: _Texts, section: Settings, backward: bool, threads: int, folder: Path
) -> tuple[FastAlign, list[list[str]]]:
    """The model, and the words of its source and its target by their ids in it."""
    numbers = (1, 0) if backward else (0, 1)
    vocabularies = [Vocabulary.from_sentences(texts.side(number)) for number in numbers]
    source, target = map(len, vocabularies)
    pieces = texts.pieces(vocabularies, numbers)
    model = train_fast_align(pieces, source, target, Settings(section.fast_align), folder, threads)
    return model, [vocabulary.words for vocabulary in vocabularies]


def _translations(model: FastAlign, words: list[list[str]], source: Vocabulary, target: Vocabulary) -> LexicalTable:
    """The model's table in the ids of the vocabularies; words: those of the model. Others than theirs are left out."""
    first, second, probabilities = model.translations(TRANSLATIONS)
    sources = source.encode(words[0], unknown=-1).values[first]
    targets = target.encode(words[1], unknown=-1).values[second]
    known = (sources >= 0) & (targets >= 0)
    log.info("%d word pairs", known.sum())
    found = sources[known], targets[known], probabilities[known]
    return LexicalTable.from_translations(*found, len(source), len(target))


def symmetrise(*, forward: Path, backward: Path, heuristic: str, output: Path) -> None:
    """Combine the alignments of both directions by a heuristic."""
    lines = count_lines(forward), count_lines(backward)
    check_as_long(forward, backward, *lines, "align both directions of the same text")
    parts = zip(*(stream_alignments(path, READ_TOGETHER) for path in (forward, backward)), strict=True)
    links = write_alignments(output, (symmetrise_alignments(first, second, heuristic) for first, second in parts))
    log.info("%s: %d links", heuristic, links)


def build_lexical_tables(
    *, source: Path, target: Path, alignment: Path, source_vocabulary: Path, target_vocabulary: Path, output: Path
) -> None:
    """Estimate word translation probabilities in both directions from an aligned text."""
    vocabularies = Vocabulary.load(source_vocabulary), Vocabulary.load(target_vocabulary)
    texts = stream_aligned(source, target, alignment, vocabularies, READ_TOGETHER)
    table = lexical_table(texts, len(vocabularies[0]), len(vocabularies[1]))
    log.info("%d word pairs", len(table.targets))
    table.save(output)


def _eflomal(source: list[str], target: list[str], settings: dict[str, Any], backward: bool, threads: int) -> Ragged:
    """Align tokenised sentences in one direction; int16 ``[links, 2]`` (source, target) per pair.

    Forward, every target word has at most one link; with ``backward`` every source word. The package lowercases
    words and leaves sentences of 1,024 words or more unaligned. Raises ``UserError`` when eflomal is missing or fails.
    """
    try:
        import eflomal
    except ImportError:
        raise UserError("eflomal is not installed; pip install eflomal, or set aligner: fast_align") from None
    names = {"samplers": "n_samplers", "length": "rel_iterations"}
    aligner = eflomal.Aligner(**{names.get(name, name): value for name, value in settings.items()})
    with tempfile.TemporaryDirectory(prefix="eflomal.") as folder:
        path = Path(folder) / "links"
        # the program that the package runs goes by the environment
        with mock.patch.dict(os.environ, OMP_NUM_THREADS=str(threads)):
            try:
                aligner.align(source, target, **{"links_filename_rev" if backward else "links_filename_fwd": str(path)})
            except SystemExit:
                raise UserError("the program of the package eflomal is missing; install eflomal again") from None
        # The package ignores the exit status of its program, so a crash shows only in what was written.
        links = read_alignments(path) if path.exists() else None
    if links is None or len(links) != len(source):
        raise UserError(
            f"eflomal aligned {0 if links is None else len(links)} of {len(source)} sentence pairs and stopped; "
            "install it again on this machine (it is compiled for the processor it was installed on)"
        )
    return links
