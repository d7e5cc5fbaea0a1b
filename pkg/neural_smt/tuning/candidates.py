"""The candidate translations that tuning has seen so far, over all its decoding passes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from neural_smt.bleu import SIZE
from neural_smt.io.files import atomic, load_array, save_arrays
from neural_smt.jit import kernel, mix

RESOLUTION = 1e-4
"""Feature values closer than this (natural log) count as equal when duplicates are looked for."""


@dataclass(frozen=True)
class Candidates:
    """Distinct candidates, ordered by sentence; within a sentence in the order they were found.

    features: float32 ``[N, F]``; statistics: int32 ``[N, 9]`` of BLEU; sentences: int32 ``[N]``, the sentence each
    belongs to; digests: uint64 ``[N]``, of sentence, words and features; size: the number of sentences.
    """

    features: np.ndarray
    statistics: np.ndarray
    sentences: np.ndarray
    digests: np.ndarray
    size: int

    def __len__(self) -> int:
        return len(self.sentences)

    @property
    def offsets(self) -> np.ndarray:
        """int64 ``[S + 1]``: the candidates of sentence s are rows ``offsets[s]:offsets[s + 1]``."""
        return np.searchsorted(self.sentences, np.arange(self.size + 1)).astype(np.int64)

    @classmethod
    def empty(cls, size: int, features: int) -> Candidates:
        """No candidates yet, for ``size`` sentences and ``features`` feature values."""
        return cls(
            np.zeros((0, features), dtype=np.float32),
            np.zeros((0, SIZE), dtype=np.int32),
            np.zeros(0, dtype=np.int32),
            np.zeros(0, dtype=np.uint64),
            size,
        )

    def extended(
        self, sentences: np.ndarray, words: np.ndarray, features: np.ndarray, statistics: np.ndarray
    ) -> Candidates:
        """These candidates and those of the new ones that are not among them.

        sentences: int ``[n]``; words: uint64 ``[n]``, a digest of each candidate's words (``digest_words``);
        features ``[n, F]``; statistics ``[n, 9]``. Two candidates of a sentence are the same when words and
        features are: another derivation with other feature values is another line for the search.
        """
        features = np.asarray(features, dtype=np.float32)
        sentences = np.asarray(sentences, dtype=np.int32)
        digests = _digests(sentences, np.asarray(words, dtype=np.uint64), features)
        _, first = np.unique(digests, return_index=True)
        first.sort()
        first = first[~np.isin(digests[first], self.digests)]
        joined = np.concatenate([self.sentences, sentences[first]])
        order = np.argsort(joined, kind="stable")
        return Candidates(
            np.concatenate([self.features, features[first]])[order],
            np.concatenate([self.statistics, np.asarray(statistics, dtype=np.int32)[first]])[order],
            joined[order],
            np.concatenate([self.digests, digests[first]])[order],
            self.size,
        )

    def save(self, folder: Path) -> None:
        """Write the arrays as ``.npy`` into ``folder``, replacing an older one atomically."""
        with atomic(folder, directory=True) as temporary:
            save_arrays(
                temporary,
                features=self.features,
                statistics=self.statistics,
                sentences=self.sentences,
                digests=self.digests,
                size=np.array(self.size),
            )

    @classmethod
    def load(cls, folder: Path) -> Candidates:
        """Read what ``save`` wrote."""
        names = ("features", "statistics", "sentences", "digests", "size")
        *arrays, size = (load_array(Path(folder) / f"{name}.npy", mapped=False) for name in names)
        return cls(*arrays, int(size))


def digest_words(tokens: Sequence[str]) -> int:
    """A 64-bit digest of a candidate's words."""
    return int.from_bytes(hashlib.blake2b(" ".join(tokens).encode(), digest_size=8).digest(), "little")


@kernel
def _digests(sentences: np.ndarray, words: np.ndarray, features: np.ndarray) -> np.ndarray:
    result = np.empty(len(sentences), dtype=np.uint64)
    for row in range(len(sentences)):
        digest = mix(words[row] ^ mix(np.uint64(sentences[row] + 1)))
        for value in features[row]:
            digest = mix(digest + np.uint64(np.int64(np.rint(value / RESOLUTION))))
        result[row] = digest
    return result
