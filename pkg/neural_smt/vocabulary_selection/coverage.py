"""How much of the reference the sets hold and how large they are (Tables 1 and 2 of Mi et al. 2016)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from neural_smt.io.ragged import Ragged
from neural_smt.jit import kernel
from neural_smt.vocabulary import UNK
from neural_smt.vocabulary_selection.building import build_pieces
from neural_smt.vocabulary_selection.candidates import CandidateSets
from neural_smt.vocabulary_selection.settings import PIECE, VocabularySettings
from neural_smt.vocabulary_selection.sources import Sources

TRAINING = "V^P + V^D + V^T + V^R"
"""The sets that a network is trained with."""


@dataclass(frozen=True)
class Coverage:
    """What sets hold of the reference, and their sizes, UNK and EOS counted.

    words: running words of the reference; known: of these, words that the network knows; covered: of these, words in
    their sentence's set; sentences; complete: sentences with all their words covered; sentence_size, batch_size: mean
    number of ids of a sentence, and of the union of a batch.
    """

    words: int
    known: int
    covered: int
    sentences: int
    complete: int
    sentence_size: float
    batch_size: float


@kernel
def _covered(
    values: np.ndarray, offsets: np.ndarray, common: np.ndarray, words: np.ndarray, word_offsets: np.ndarray
) -> np.ndarray:
    """int64 ``[n]``: how many words of each list are in ``common`` or in the same list of values, both rising."""
    counts = np.zeros(len(word_offsets) - 1, dtype=np.int64)
    for sentence in range(len(counts)):
        own = values[offsets[sentence] : offsets[sentence + 1]]
        for word in words[word_offsets[sentence] : word_offsets[sentence + 1]]:
            place = np.searchsorted(own, word)
            found = place < len(own) and own[place] == word
            if not found:
                place = np.searchsorted(common, word)
                found = place < len(common) and common[place] == word
            counts[sentence] += found and word != UNK
    return counts


def measure(sets: CandidateSets, references: Ragged, batch: int, seed: int) -> Coverage:
    """Compare sets with references (int32 network ids, ``Sources.encode_reference``); unknown words are not covered.

    batch: sentences of a batch; these are drawn at random, each sentence once, and the last may be smaller.
    """
    if len(sets) != len(references):
        raise ValueError(f"{len(sets)} sets but {len(references)} references")
    rows = shuffled(len(sets), seed)
    return measure_pieces([(sets.take(rows), references.take(rows))], batch)


def shuffled(sentences: int, seed: int) -> np.ndarray:
    """int64 ``[sentences]``: the order in which sentences come into batches."""
    return np.random.default_rng(seed).permutation(sentences)


def measure_pieces(pieces: Iterable[tuple[CandidateSets, Ragged]], batch: int) -> Coverage:
    """Compare sets with references as ``measure`` does, piece by piece, in the order of the batches.

    Each piece but the last is of whole batches.
    """
    counts, unions = np.zeros(6, dtype=np.int64), []
    for sets, references in pieces:
        own, known = sets.own, references.values != UNK
        covered = _covered(own.values, own.offsets, np.array(sets.common), references.values, references.offsets)
        complete = np.count_nonzero(covered == references.lengths)
        counts += [len(known), np.count_nonzero(known), covered.sum(), len(sets), complete, sets.sizes.sum()]
        rows = np.arange(len(sets))
        unions += [len(sets.union(rows[start : start + batch])) for start in range(0, len(rows), batch)]
    *counted, ids = counts.tolist()
    sentences = counted[3]
    return Coverage(*counted, ids / sentences if sentences else 0.0, float(np.mean(unions)) if unions else 0.0)


def combinations(settings: VocabularySettings, tops: list[int]) -> Iterator[tuple[str, int | None, VocabularySettings]]:
    """The columns of Table 1 of the paper: name of the parts, top n of V^D or None where there is no V^D, settings.

    tops: sizes n of V^D; the sizes of the other parts are those of ``settings``.
    """
    yield "V^P", None, replace(settings, dictionary=0, frequent=0)
    for name, phrases, frequent in (
        ("V^D", 0, 0),
        ("V^P + V^D", settings.phrases, 0),
        ("V^P + V^D + V^T", settings.phrases, settings.frequent),
    ):
        for top in tops:
            yield name, top, replace(settings, dictionary=top, phrases=phrases, frequent=frequent)


def measure_combinations(
    sources: Sources,
    settings: VocabularySettings,
    tops: list[int],
    lines: list[str],
    references: list[str],
    batch: int,
    seed: int,
    training: bool,
) -> Iterator[tuple[str, int | None, Coverage]]:
    """Coverage and sizes of a text with every combination, and for ``training`` of the sets with V^R besides.

    Sets are built in the order of the batches and forgotten once they are counted.
    """
    rows = shuffled(len(lines), seed)
    lines, references = ([text[row] for row in rows] for text in (lines, references))
    size = max(PIECE // batch, 1) * batch

    def measured(chosen: VocabularySettings, known: list[str] | None = None) -> Coverage:
        built = build_pieces(sources, chosen, lines, known, size)
        starts = range(0, max(len(lines), 1), size)
        encoded = (sources.encode_reference(references[start : start + size]) for start in starts)
        return measure_pieces(((piece.sets, words) for piece, words in zip(built, encoded, strict=True)), batch)

    for name, top, chosen in combinations(settings, tops):
        yield name, top, measured(chosen)
    if training:
        yield TRAINING, settings.dictionary, measured(settings, references)
