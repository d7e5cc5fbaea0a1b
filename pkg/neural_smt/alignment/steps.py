"""Steps of the alignment stage, from files to files, and eflomal, which they run through its Python package.

eflomal (Bayesian word alignment by Gibbs sampling, Östling and Tiedemann 2016) draws its seed from the system and
offers no way to set it: two runs give slightly different links.
"""

import logging
import os
import tempfile
from itertools import accumulate, chain, pairwise
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from neural_smt.alignment.fast_align import FastAlign, train_fast_align
from neural_smt.alignment.lexical import LexicalTable, lexical_table
from neural_smt.alignment.pharaoh import count_pairs, read_aligned, read_alignments, write_alignments
from neural_smt.alignment.symmetrisation import symmetrise_alignments
from neural_smt.errors import UserError, check_as_many, required
from neural_smt.experiment.settings import Settings, section_settings
from neural_smt.io.files import check_as_long, read_parallel
from neural_smt.io.ragged import Ragged
from neural_smt.vocabulary import Vocabulary

log = logging.getLogger(__name__)

COUNTED_TOGETHER = 1 << 17
"""Sentence pairs in memory while linked words are counted."""

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
    ``fast_align``, and an optional section of that name holds its own settings. fast_align repeats itself exactly and
    runs on one thread; eflomal can't be seeded, so ``seed`` changes neither.
    """
    source, target, ends = _read_texts(sources, targets)
    section = section_settings("alignment", settings)
    if table is not None and (backward or section.aligner != "fast_align"):
        raise UserError(f"{table}: a table of words comes of fast_align, forwards; align so, or leave table out")
    if table is None:
        alignments = _align(source, target, section, backward, threads)
    else:
        model, *own = _train_fast_align(source, target, section)
        alignments = model.links()
        vocabularies = (Vocabulary.load(required(path)) for path in (source_vocabulary, target_vocabulary))
        _translations(model, own, *vocabularies).save(table)
    write_alignments(output, alignments.take(np.arange(ends[0])))
    if gold_output is not None:
        write_alignments(gold_output, alignments.take(np.arange(ends[0], len(source))))


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
    source, target, ends = _read_texts(sources, targets)
    section = section_settings("alignment", settings)
    forward, backward = (_align(source, target, section, reverse, threads) for reverse in (False, True))
    alignments = symmetrise_alignments(forward, backward, settings["heuristic"])
    for output, (first, last) in zip(outputs, pairwise(ends), strict=True):
        write_alignments(output, alignments.take(np.arange(first, last)))


def _read_texts(sources: list[Path], targets: list[Path]) -> tuple[list[str], list[str], list[int]]:
    """The lines of all pairs of files, one file after the other, and where each ends."""
    check_as_many(sources=sources, targets=targets)
    if not sources:
        raise UserError("no texts are given to align; name the sides of one at least")
    pairs = [read_parallel(source, target) for source, target in zip(sources, targets, strict=True)]
    if not any(line.strip() for line in pairs[0][0]):
        raise UserError(f"{sources[0]}: holds no words to align; check the corpus and its cleaning")
    source, target = (list(chain.from_iterable(side)) for side in zip(*pairs, strict=True))
    return source, target, list(accumulate(len(lines) for lines, _ in pairs))


def _align(source: list[str], target: list[str], section: Settings, backward: bool, threads: int) -> Ragged:
    log.info("aligning %d sentence pairs with %s", len(source), section.aligner)
    if section.aligner == "eflomal":
        return _eflomal(source, target, section.eflomal, backward, threads)
    texts = (target, source) if backward else (source, target)
    links = _train_fast_align(*texts, section)[0].links()
    return Ragged(np.ascontiguousarray(links.values[:, ::-1]), links.offsets) if backward else links


def _train_fast_align(
    source: list[str], target: list[str], section: Settings
) -> tuple[FastAlign, list[str], list[str]]:
    """The model, and the words of each side by their ids in it."""
    first, second = (Vocabulary.from_sentences(lines) for lines in (source, target))
    sides = first.encode(source), second.encode(target)
    model = train_fast_align(*sides, len(first), len(second), Settings(section.fast_align))
    return model, first.words, second.words


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
    directions = read_alignments(forward), read_alignments(backward)
    check_as_long(forward, backward, len(directions[0]), len(directions[1]), "align both directions of the same text")
    alignments = symmetrise_alignments(*directions, heuristic)
    log.info("%s: %d links", heuristic, len(alignments.values))
    write_alignments(output, alignments)


def build_lexical_tables(
    *, source: Path, target: Path, alignment: Path, source_vocabulary: Path, target_vocabulary: Path, output: Path
) -> None:
    """Estimate word translation probabilities in both directions from an aligned text."""
    vocabularies = Vocabulary.load(source_vocabulary), Vocabulary.load(target_vocabulary)
    pairs = count_pairs(source, target, alignment)
    parts = (range(first, min(first + COUNTED_TOGETHER, pairs)) for first in range(0, pairs, COUNTED_TOGETHER))
    texts = (read_aligned(source, target, alignment, vocabularies, part) for part in parts)
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
