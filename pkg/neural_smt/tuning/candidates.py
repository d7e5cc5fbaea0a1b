"""What tuning has found over all its decoding passes: candidate translations, or the lattices that hold them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from neural_smt.bleu import SIZE
from neural_smt.bleu_primitives import count_translations
from neural_smt.decoding.lattices.flat import FlatLattices
from neural_smt.io.lookup_primitives import hash_words
from neural_smt.io.ragged import Ragged, offsets_of
from neural_smt.io.records import Record
from neural_smt.io.sorting import sort_numbers
from neural_smt.jit import kernel, mix

RESOLUTION = 1e-4
"""Feature values closer than this (natural log) count as equal when duplicates are looked for."""


@dataclass(frozen=True)
class Candidates(Record):
    """Distinct candidates of S sentences, ordered by sentence; within a sentence in the order they were found.

    statistics: of BLEU; digests: of sentence, words and features; offsets: the candidates of sentence s are rows
    ``offsets[s]:offsets[s + 1]``.
    """

    features: Annotated[np.ndarray, "float32 [N, F]"]
    statistics: Annotated[np.ndarray, "int32 [N, 9] < *"]
    digests: Annotated[np.ndarray, "uint64 [N]"]
    offsets: Annotated[np.ndarray, "int64 [S+1] to N"]

    def __len__(self) -> int:
        return len(self.digests)

    @property
    def size(self) -> int:
        """The number of sentences."""
        return len(self.offsets) - 1

    @property
    def sentences(self) -> np.ndarray:
        """int32 ``[N]``: the sentence each candidate belongs to."""
        return np.repeat(np.arange(self.size, dtype=np.int32), np.diff(self.offsets))

    def take(self, rows: np.ndarray) -> "Candidates":
        """Those of ``rows`` (int, ascending), of as many sentences."""
        parts = self.features[rows], self.statistics[rows], self.digests[rows]
        return Candidates(*parts, np.searchsorted(rows, self.offsets))

    @classmethod
    def empty(cls, size: int, features: int) -> "Candidates":
        """No candidates yet, for ``size`` sentences and ``features`` feature values."""
        digests, offsets = np.zeros(0, dtype=np.uint64), np.zeros(size + 1, dtype=np.int64)
        return cls(np.zeros((0, features), np.float32), np.zeros((0, SIZE), np.int32), digests, offsets)

    def extended(
        self, sentences: np.ndarray, words: np.ndarray, features: np.ndarray, statistics: np.ndarray
    ) -> "Candidates":
        """These candidates and those of the new ones that are not among them.

        sentences: int ``[n]``; words: uint64 ``[n]``, a digest of each candidate's words;
        features ``[n, F]``; statistics ``[n, 9]``. Two candidates of a sentence are the same when words and
        features are: another derivation with other feature values is another line for the search.
        """
        features = np.asarray(features, dtype=np.float32)
        sentences = np.asarray(sentences, dtype=np.int32)
        digests = _digests(sentences, np.asarray(words, dtype=np.uint64), features)
        _, first = np.unique(digests, return_index=True)
        first.sort()
        first = first[~np.isin(digests[first], self.digests)]
        order, offsets = sort_numbers(np.concatenate([self.sentences, sentences[first]]), self.size)
        return Candidates(
            np.concatenate([self.features, features[first]])[order],
            np.concatenate([self.statistics, np.asarray(statistics, dtype=np.int32)[first]])[order],
            np.concatenate([self.digests, digests[first]])[order],
            offsets,
        )

    def with_ids(self, sentences: np.ndarray, words: Ragged, features: np.ndarray, references: Ragged) -> "Candidates":
        """See ``extended``; words: int32 ``Ragged`` of n translations; references: in the same ids, one for each
        sentence.
        """
        statistics = count_translations(words.arrays, sentences, references.arrays)
        return self.extended(sentences, _hash_lists(*words.arrays), features, statistics)

    def with_translations(
        self, listed: Sequence[tuple[int, Sequence[str]]], features: np.ndarray, references: Sequence[Sequence[str]]
    ) -> "Candidates":
        """See ``extended``; listed: the sentence and the tokens of each; references: tokens, one for each sentence."""
        index: dict[str, int] = {}
        words, others = (
            Ragged.from_lists([index.setdefault(word, len(index)) for word in tokens] for tokens in texts)
            for texts in ([words for _, words in listed], references)
        )
        return self.with_ids(np.array([number for number, _ in listed], dtype=np.int32), words, features, others)


@kernel
def _hash_lists(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    result = np.empty(len(offsets) - 1, dtype=np.uint64)
    for i in range(len(result)):
        result[i] = hash_words(values, offsets[i], offsets[i + 1])
    return result


@kernel
def _digests(sentences: np.ndarray, words: np.ndarray, features: np.ndarray) -> np.ndarray:
    result = np.empty(len(sentences), dtype=np.uint64)
    for row in range(len(sentences)):
        digest = mix(words[row] ^ mix(np.uint64(sentences[row] + 1)))
        for value in features[row]:
            digest = mix(digest + np.uint64(np.int64(np.rint(value / RESOLUTION))))
        result[row] = digest
    return result


@dataclass(frozen=True)
class LatticePool(Record):
    """Every sentence's lattices of all passes as one lattice, and those derivations that were listed to tune on.

    Its length is the number of arcs.
    """

    lattices: FlatLattices
    candidates: Candidates

    def fault(self) -> str | None:
        """What is wrong with the lattices as they were read."""
        return self.lattices.fault()

    def __len__(self) -> int:
        return len(self.lattices.tails)

    @classmethod
    def empty(cls, size: int, features: int) -> "LatticePool":
        """No lattices yet, for ``size`` sentences and ``features`` feature values."""
        return cls(FlatLattices.of([None] * size, features), Candidates.empty(size, features))


def join(first: FlatLattices, second: FlatLattices) -> FlatLattices:
    """Both lattices of every sentence side by side, with one start and one end: the derivations of either.

    The upper envelope of a union is that of both envelopes, so this is all that several passes need. A sentence may be
    empty (without nodes) in either.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} lattices cannot be joined with {len(second)}")
    sizes = [np.diff(part.node_offsets) for part in (first, second)]
    inner = [np.maximum(size - 2, 0) for size in sizes]
    node_offsets = offsets_of(inner[0] + inner[1] + 2 * ((sizes[0] > 0) | (sizes[1] > 0)))
    places = [_places(first, node_offsets, 0 * inner[0]), _places(second, node_offsets, inner[0])]
    parts = list(zip((first, second), places, strict=True))
    heads = np.concatenate([np.repeat(place, np.diff(part.arc_offsets)) for part, place in parts])
    order, arc_offsets = sort_numbers(heads, node_offsets[-1])
    return FlatLattices(
        node_offsets,
        arc_offsets,
        np.concatenate([place[part.tails] for part, place in parts])[order].astype(np.int32),
        np.ascontiguousarray(np.concatenate([first.features, second.features], axis=1)[:, order]),
        Ragged.concatenate([first.words, second.words]).take(order),
    )


def _places(part: FlatLattices, node_offsets: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """Where each node goes: starts and ends onto those of ``node_offsets``, inner nodes ``shift`` nodes further on."""
    sizes, old = np.diff(part.node_offsets), np.arange(part.node_offsets[-1])
    places = old + np.repeat(node_offsets[:-1] + shift - part.node_offsets[:-1], sizes)
    filled = sizes > 0
    places[part.node_offsets[:-1][filled]] = node_offsets[:-1][filled]
    places[part.node_offsets[1:][filled] - 1] = node_offsets[1:][filled] - 1
    return places
