"""Which sentences are searched together: batches of similar length, of which shards take some."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from neural_smt.shards import Shard


@dataclass(frozen=True)
class SearchPlan:
    """same: for each sentence the first that equals it, whose search they share; batches: int64 arrays of sentences
    that are first of their kind and not empty, longest first; empty: the first empty sentence, or -1.
    """

    same: list[int]
    batches: list[np.ndarray]
    empty: int

    @classmethod
    def of(cls, sentences: Sequence[Sequence[str]], size: int) -> "SearchPlan":
        """Batches of ``size`` sentences (lists of tokens), the last one smaller."""
        first: dict[tuple[str, ...], int] = {}
        same = [first.setdefault(tuple(tokens), number) for number, tokens in enumerate(sentences)]
        distinct = np.array([number for tokens, number in first.items() if tokens], dtype=np.int64)
        lengths = np.array([len(tokens) for tokens in first if tokens], dtype=np.int64)
        order = distinct[np.argsort(-lengths, kind="stable")]  # longest first: threads end together
        batches = [order[start : start + size] for start in range(0, len(order), size)]
        return cls(same, batches, first.get((), -1))

    def members(self, shard: Shard) -> list[int]:
        """The sentences of a shard, in order; those of a plan of their own are in the same batches."""
        return shard.members(self.batches, [self.empty] if self.empty >= 0 else [])
