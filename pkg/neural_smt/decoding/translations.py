"""Translations as words, feature values and alignments, read off the lattices of a batch at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from neural_smt.decoding.batches import Derivations
from neural_smt.decoding.lattices.kbest import best_derivations
from neural_smt.decoding.lattices.lattice import Lattice
from neural_smt.decoding.model import TranslationModel
from neural_smt.decoding.options import UNKNOWN_ROW
from neural_smt.decoding.primitives import Options
from neural_smt.io.ragged import Ragged
from neural_smt.jit import kernel


@dataclass(frozen=True)
class Trace:
    """How a translation was made of K phrases, in target order.

    alignment: (source, target) word positions; segmentation: (source start, source stop, target start, target stop) of
    each phrase, half open; features: float32 ``[K, F]``, what each phrase adds to the feature values (a hook that only
    estimated in the search: its estimates).
    """

    alignment: list[tuple[int, int]]
    segmentation: list[tuple[int, int, int, int]]
    features: np.ndarray


@dataclass(frozen=True)
class NBestEntry:
    """One entry of an n-best list.

    features: float32 ``[F]``; score: their weighted sum; trace: how it was made, where that was requested.
    """

    tokens: list[str]
    features: np.ndarray
    score: float
    trace: Trace | None = None


@dataclass(frozen=True)
class Spelling:
    """How target ids are spelled: words of the vocabulary, then unknown words that were copied."""

    known: list[str]
    copied: list[str]

    def __call__(self, ids: np.ndarray) -> list[str]:
        known, copied = self.known, self.copied
        return [known[i] if i < len(known) else copied[i - len(known)] for i in ids.tolist()]


@dataclass(frozen=True)
class NBestList(Sequence[NBestEntry]):
    """An n-best list of n entries, best first, in arrays; entries are created when they are accessed.

    features: float32 ``[n, F]``; scores: float64 ``[n]``; words: int32 ``Ragged`` of n translations, target ids;
    traces: how each was made, where that was requested.
    """

    features: np.ndarray
    scores: np.ndarray
    words: Ragged
    spelling: Spelling
    traces: Sequence[Trace] = ()

    def head(self, count: int) -> NBestList:
        """The first ``count`` entries."""
        words = self.words.take(np.arange(min(count, len(self))))
        return NBestList(self.features[:count], self.scores[:count], words, self.spelling, self.traces[:count])

    def __len__(self) -> int:
        return len(self.scores)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        i = range(len(self))[index]
        trace = self.traces[i] if self.traces else None
        return NBestEntry(self.spelling(self.words[i]), self.features[i], float(self.scores[i]), trace)

    def __iter__(self) -> Iterator[NBestEntry]:
        return map(self.__getitem__, range(len(self)))


@dataclass(frozen=True)
class Translation:
    """The best translation of a sentence.

    features: float32 ``[F]``, in the order of the decoder's feature set; score: their weighted sum; alignment: (source,
    target) word positions; segmentation: (source start, source stop, target start, target stop) of each phrase in
    target order, half open; nbest: as many entries as requested, or all there are.
    """

    tokens: list[str]
    score: float
    features: np.ndarray
    alignment: list[tuple[int, int]] = field(default_factory=list)
    segmentation: list[tuple[int, int, int, int]] = field(default_factory=list)
    nbest: Sequence[NBestEntry] = ()

    def with_best(self, count: int) -> Translation:
        """This translation with the first ``count`` entries of its list."""
        return replace(self, nbest=self.nbest.head(count) if count and isinstance(self.nbest, NBestList) else ())


def empty_translation(scores: int, nbest: int) -> Translation:
    """The translation of an empty sentence by a system of so many scores."""
    features = np.zeros((1, scores), dtype=np.float32)
    entries = NBestList(features, np.zeros(1), Ragged.from_lists([[]]), Spelling([], []))
    return Translation([], 0.0, features[0], nbest=entries if nbest else ())


@kernel
def _number_arcs(arcs: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """The distinct ones among ``arcs`` (below ``most``) in the order they come (int64), and which each is (int32)."""
    number = np.full(most, -1, dtype=np.int32)
    distinct, numbers = np.empty(len(arcs), dtype=np.int64), np.empty(len(arcs), dtype=np.int32)
    count = 0
    for i in range(len(arcs)):
        if number[arcs[i]] < 0:
            number[arcs[i]] = count
            distinct[count] = arcs[i]
            count += 1
        numbers[i] = number[arcs[i]]
    return distinct[:count].copy(), numbers


@kernel
def _assemble(
    rows: np.ndarray, numbers: np.ndarray, chosen: np.ndarray, offsets: np.ndarray, options: Options
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Feature values (float32 [D, F]) and words (values and offsets) of derivations.

    rows: float32 [n, F], features of the distinct arcs; numbers, chosen: int32, the distinct arc and the option of each
    step of the derivations; offsets: int64 [D + 1].
    """
    derivations, scores = len(offsets) - 1, rows.shape[1]
    word_offsets = np.zeros(derivations + 1, dtype=np.int64)
    for d in range(derivations):
        word_offsets[d + 1] = word_offsets[d]
        for i in range(offsets[d], offsets[d + 1]):
            word_offsets[d + 1] += options.word_offsets[chosen[i] + 1] - options.word_offsets[chosen[i]]
    words = np.empty(word_offsets[-1], dtype=np.int32)
    features = np.empty((derivations, scores), dtype=np.float32)
    total = np.empty(scores)
    place = 0
    for d in range(derivations):
        total[:] = 0.0
        for i in range(offsets[d], offsets[d + 1]):
            for f in range(scores):
                total[f] += rows[numbers[i], f]
            for position in range(options.word_offsets[chosen[i]], options.word_offsets[chosen[i] + 1]):
                words[place] = options.words[position]
                place += 1
        for f in range(scores):
            features[d, f] = total[f]
    return features, words, word_offsets


def translate(
    lattice: Lattice,
    model: TranslationModel,
    nbest: int,
    distinct: bool,
    rescore: Callable[[Ragged, Derivations], np.ndarray] | None = None,
    traced: bool = False,
) -> list[Translation]:
    """The best translation of every sentence of a lattice, with lists of ``nbest`` entries, distinct ones or not.

    rescore: where a hook of the search only estimated, gives the exact values of its feature for n translations (their
    words, int32 ``Ragged``, and derivations -> float ``[n]``); the lists are in the order of the scores with these.
    traced: whether the entries of the lists have their ``Trace``.
    """
    weighted = lattice.weighted
    paths, scores, first = best_derivations(lattice, max(1, nbest), distinct)
    arcs, numbers = _number_arcs(paths.values, len(lattice.tails))
    rows = lattice.features(arcs)
    features, words, offsets = _assemble(rows, numbers, lattice.options[paths.values], paths.offsets, weighted.options)
    words = Ragged(words, offsets)
    if rescore:
        sentences = np.repeat(lattice.sentences, np.diff(first))
        options, starts = (Ragged(part[paths.values], paths.offsets) for part in (lattice.options, lattice.starts))
        exact = rescore(words, Derivations(weighted, sentences, words, options, starts))
        scores += weighted.vector[weighted.hook_column] * (exact - features[:, weighted.hook_column])
        features[:, weighted.hook_column] = exact
        order = np.lexsort((-scores, np.repeat(np.arange(len(first) - 1), np.diff(first))))
        features, scores, words, paths = features[order], scores[order], words.take(order), paths.take(order)
        offsets = words.offsets
    spelling = Spelling(model.target_vocabulary.words, weighted.prepared.unknown_words)
    best = first[:-1]
    details = trace(lattice, paths, model) if traced else []
    of_best = [] if traced else _follow(lattice, paths.take(best), model)
    result = []
    for i, (begin, end) in enumerate(pairwise(first.tolist())):
        entries: Sequence[NBestEntry] = ()
        if nbest:
            part = offsets[begin : end + 1]
            listed = Ragged(words.values[part[0] : part[-1]], part - part[0])
            entries = NBestList(features[begin:end], scores[begin:end], listed, spelling, details[begin:end])
        alignment, segmentation = (details[begin].alignment, details[begin].segmentation) if traced else of_best[i]
        score = float(scores[begin])
        result.append(Translation(spelling(words[begin]), score, features[begin], alignment, segmentation, entries))
    return result


def trace(lattice: Lattice, paths: Ragged, model: TranslationModel) -> list[Trace]:
    """How derivations were made; paths: int ``Ragged`` of their arcs, one or more each."""
    steps = Ragged(lattice.features(paths.values), paths.offsets)
    return [
        Trace(*followed, features) for followed, features in zip(_follow(lattice, paths, model), steps, strict=True)
    ]


def _follow(
    lattice: Lattice, paths: Ragged, model: TranslationModel
) -> list[tuple[list[tuple[int, int]], list[tuple[int, int, int, int]]]]:
    """Word alignment and segmentation of derivations."""
    weighted = lattice.weighted
    chosen, starts = lattice.options[paths.values], lattice.starts[paths.values]
    stops = starts + weighted.options.source_length[chosen]
    ends = np.cumsum(weighted.options.word_offsets[chosen + 1] - weighted.options.word_offsets[chosen])
    before = np.concatenate([[0], ends[paths.offsets[1:-1] - 1]])  # target words of the sentences before
    ends -= np.repeat(before, paths.lengths)
    begins = np.zeros_like(ends)
    begins[1:] = ends[:-1]
    begins[paths.offsets[:-1]] = 0
    segments = list(zip(starts.tolist(), stops.tolist(), begins.tolist(), ends.tolist(), strict=True))

    rows = weighted.prepared.rows[weighted.rows[chosen]]
    copied = np.flatnonzero(rows == UNKNOWN_ROW)
    found = np.flatnonzero(rows != UNKNOWN_ROW)
    links = model.phrase_table.alignment.take(rows[found])
    step = np.concatenate([np.repeat(found, links.lengths), copied])
    order = np.argsort(step, kind="stable")
    positions = np.concatenate([links.values, np.zeros((len(copied), 2), dtype=links.values.dtype)])[order]
    step = step[order]
    pairs = list(zip((starts[step] + positions[:, 0]).tolist(), (begins[step] + positions[:, 1]).tolist(), strict=True))
    pair_offsets = np.searchsorted(step, paths.offsets).tolist()
    return [
        (pairs[pair_offsets[i] : pair_offsets[i + 1]], segments[begin:end])
        for i, (begin, end) in enumerate(pairwise(paths.offsets.tolist()))
    ]
