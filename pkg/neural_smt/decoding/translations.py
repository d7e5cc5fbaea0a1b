"""Translations as words, feature values and alignments, read off the lattices of a batch at once."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from neural_smt.decoding.batches import Derivations
from neural_smt.decoding.lattices.flat import best_derivations
from neural_smt.decoding.lattices.lattice import Lattice
from neural_smt.decoding.model import TranslationModel
from neural_smt.decoding.options import UNKNOWN_ROW
from neural_smt.io.best import best_of_each
from neural_smt.io.ragged import Ragged, offsets_of
from neural_smt.jit import kernel

FINALISTS = 10
"""Where a feature is only estimated in the search, so many translations of a sentence are rescored exactly before the
best is chosen. The errors of estimates are small, but the translation that scores best is often one that they overrate.
"""


@dataclass(frozen=True)
class Trace:
    """How a translation was made of K phrases, in target order.

    alignment: (source, target) word positions; segmentation: (source start, source stop, target start, target stop) of
    each phrase, half open; features: float32 ``[K, F]``, what each phrase adds to the feature values (estimates
    of a feature that was only estimated in the search).
    """

    alignment: list[tuple[int, int]]
    segmentation: list[tuple[int, int, int, int]]
    features: np.ndarray


UNTRACED = Trace([], [], np.zeros((0, 0), dtype=np.float32))
"""Of a translation whose trace was not requested."""


@dataclass(frozen=True)
class Traces:
    """How n translations were made (``Trace``), in arrays, as the lists of a set hold millions of links.

    alignment: int32 ``Ragged`` of n lists, ``[.., 2]``; segmentation: the same, ``[.., 4]``; rows: int ``Ragged`` of n,
    of ``features``, float32 ``[.., F]``. A translation whose trace was not requested has nothing of them.
    """

    alignment: Ragged
    segmentation: Ragged
    rows: Ragged
    features: np.ndarray

    def part(self, begin: int, end: int) -> "Traces":
        """Those from ``begin`` up to ``end``."""
        alignment, segmentation = self.alignment.part(begin, end), self.segmentation.part(begin, end)
        return Traces(alignment, segmentation, self.rows.part(begin, end), self.features)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Trace]:
        return (self[index] for index in range(len(self)))

    def __getitem__(self, index: int) -> Trace:
        links, phrases = self.alignment[index].tolist(), self.segmentation[index].tolist()
        segmentation = [(i, j, k, m) for i, j, k, m in phrases]
        return Trace([(i, j) for i, j in links], segmentation, self.features[self.rows[index]])


@dataclass(frozen=True)
class NBestEntry:
    """One entry of an n-best list.

    features: float32 ``[F]``; score: their weighted sum; trace: how it was made, where that was requested.
    """

    tokens: list[str]
    features: np.ndarray
    score: float
    trace: Trace = UNTRACED


@dataclass(frozen=True)
class NBestList(Sequence[NBestEntry]):
    """An n-best list of n entries, best first, in arrays; entries are created when they are accessed.

    features: float32 ``[n, F]``; scores: float64 ``[n]``; words: int32 ``Ragged`` of n translations, target ids;
    spelling: the word of each target id; traces: how each was made, where that was requested.
    """

    features: np.ndarray
    scores: np.ndarray
    words: Ragged
    spelling: list[str]
    traces: Traces | None = None

    def __len__(self) -> int:
        return len(self.scores)

    def part(self, begin: int, end: int) -> "NBestList":
        """The entries from ``begin`` up to ``end``."""
        here = slice(begin, end)
        words, traces = self.words.part(begin, end), self.traces and self.traces.part(begin, end)
        return NBestList(self.features[here], self.scores[here], words, self.spelling, traces)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        i = range(len(self))[index]
        tokens = [self.spelling[word] for word in self.words[i].tolist()]
        return NBestEntry(tokens, self.features[i], float(self.scores[i]), self.traces[i] if self.traces else UNTRACED)


@dataclass(frozen=True)
class Translation(NBestEntry):
    """The best translation of a sentence; features: in the order of the decoder's feature set; nbest: as many entries
    as requested, or all there are.
    """

    nbest: Sequence[NBestEntry] = ()


def no_phrases(scores: int, alignment: Sequence[tuple[int, int]] = ()) -> Trace:
    """The trace of a translation of so many scores that is made of no phrases."""
    return Trace(list(alignment), [], np.zeros((0, scores), dtype=np.float32))


def empty_list(scores: int) -> NBestList:
    """The list of an empty sentence, of one entry, by a system of so many scores."""
    return NBestList(np.zeros((1, scores), np.float32), np.zeros(1), Ragged.from_lists([[]]), [])


def empty_translation(scores: int, nbest: int) -> Translation:
    """The translation of an empty sentence by a system of so many scores."""
    best = NBestEntry([], np.zeros(scores, np.float32), 0.0, no_phrases(scores))
    return Translation([], best.features, best.score, best.trace, [best] if nbest else ())


@kernel
def _sum_rows(rows: np.ndarray, numbers: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """float32 [D, F]: sums of the rows (float32 [n, F]) with these numbers, from ``offsets[d]`` (int64 [D + 1]) on."""
    sums, total = np.empty((len(offsets) - 1, rows.shape[1]), dtype=np.float32), np.empty(rows.shape[1])
    for d in range(len(sums)):
        total[:] = 0.0
        for i in range(offsets[d], offsets[d + 1]):
            for f in range(len(total)):
                total[f] += rows[numbers[i], f]
        for f in range(len(total)):
            sums[d, f] = total[f]
    return sums


def _features(lattice: Lattice, arcs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The features of distinct arcs (float32 ``[D, F]``) and the row of each of n arcs: derivations share most."""
    used = np.zeros(len(lattice.tails), dtype=bool)
    used[arcs] = True
    return lattice.features(np.flatnonzero(used)), (np.cumsum(used) - 1)[arcs]


Rescore = Callable[[Ragged, Derivations], np.ndarray]
"""Where the network feature of a search only estimated: its exact values for n translations, of their words (int32
``Ragged``) and derivations, float ``[n]``.
"""


def list_best(
    lattice: Lattice, nbest: int, distinct: bool, rescore: Rescore | None = None
) -> tuple[NBestList, np.ndarray, Ragged]:
    """The ``nbest`` best translations of every sentence of a lattice, distinct ones or not, one list after the other.

    rescore: lists are in the order of the scores with what it gives. Returns the entries, without traces, int64 ``[S +
    1]``, where the list of each sentence begins, and int ``Ragged``, the arcs of each entry. With ``rescore`` a list is
    as long as what was rescored.
    """
    weighted = lattice.weighted
    paths, scores, first = best_derivations(lattice, max(nbest, FINALISTS if rescore else 1), distinct)
    chosen = lattice.options[paths.values]
    features = _sum_rows(*_features(lattice, paths.values), paths.offsets)
    words = weighted.options.targets.take(chosen).joined(paths.offsets)
    if rescore:
        sentences, column = np.repeat(lattice.sentences, np.diff(first)), weighted.feature_column
        options, starts = (Ragged(part, paths.offsets) for part in (chosen, lattice.starts[paths.values]))
        exact = rescore(words, Derivations(weighted, sentences, options, starts))
        scores += weighted.vector[column] * (exact - features[:, column])
        features[:, column] = exact
        order = best_of_each(scores, first)[0]
        features, scores, words, paths = features[order], scores[order], words.take(order), paths.take(order)
    return NBestList(features, scores, words, weighted.prepared.spelling), first, paths


def cut(entries: NBestList, first: np.ndarray, most: int) -> list[NBestList]:
    """The lists that begin at ``first``, of at most so many entries each."""
    return [entries.part(begin, min(end, begin + most)) for begin, end in pairwise(first.tolist())]


def translate(
    lattice: Lattice,
    model: TranslationModel,
    nbest: int,
    distinct: bool,
    rescore: Rescore | None = None,
    traced: int = 0,
) -> list[Translation]:
    """The best translation of every sentence of a lattice, with lists of ``nbest`` entries: see ``list_best``; traced:
    how many of them have their ``Trace``.
    """
    entries, first, paths = list_best(lattice, nbest, distinct, rescore)
    if traced:
        chosen = np.arange(len(entries)) < np.repeat(first[:-1] + traced, np.diff(first))
        arcs = paths.take(np.flatnonzero(chosen)).values
        entries = replace(entries, traces=trace(lattice, Ragged(arcs, offsets_of(paths.lengths * chosen)), model))
    bests = [entries[begin] for begin in first[:-1].tolist()]
    lists = cut(entries, first, nbest) if nbest else [()] * len(bests)
    return [
        Translation(best.tokens, best.features, best.score, best.trace, listed)
        for best, listed in zip(bests, lists, strict=True)
    ]


def trace(lattice: Lattice, paths: Ragged, model: TranslationModel) -> Traces:
    """How derivations were made; paths: int ``Ragged`` of their arcs, of none where that is not wanted."""
    weighted = lattice.weighted
    chosen, starts = lattice.options[paths.values], lattice.starts[paths.values]
    stops = starts + weighted.options.source_length[chosen]
    offsets = offsets_of(weighted.options.word_offsets[chosen + 1] - weighted.options.word_offsets[chosen])
    before = np.repeat(offsets[paths.offsets[:-1]], paths.lengths)
    segments = np.column_stack([starts, stops, offsets[:-1] - before, offsets[1:] - before]).astype(np.int32)

    links = phrase_links(weighted.prepared.rows[weighted.rows[chosen]], model)
    pairs = Ragged(links.values + np.repeat(segments[:, [0, 2]], links.lengths, axis=0), links.offsets)
    features, rows = _features(lattice, paths.values)
    phrases, rows_of_each = (Ragged(values, paths.offsets) for values in (segments, rows.astype(np.int32)))
    return Traces(pairs.joined(paths.offsets), phrases, rows_of_each, features)


def phrase_links(rows: np.ndarray, model: TranslationModel) -> Ragged:
    """int32 ``Ragged`` of (source, target) word positions within n phrase pairs; rows: int ``[n]``, of the table.

    A copied word is linked to the one that it copies.
    """
    found = rows != UNKNOWN_ROW
    links, lengths = model.phrase_table.links(rows[found]), np.ones(len(rows), dtype=np.int64)
    lengths[found] = links.lengths
    pairs = np.zeros((lengths.sum(), 2), dtype=np.int32)
    pairs[np.repeat(found, lengths)] = links.values.reshape(-1, 2)
    return Ragged(pairs, offsets_of(lengths))
