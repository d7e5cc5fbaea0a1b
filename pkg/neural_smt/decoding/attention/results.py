"""What a beam search with an attention network finds, and what it is reported with."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from neural_smt.decoding.statistics import ShardStatistics
from neural_smt.vocabulary import UNK

log = logging.getLogger(__name__)

SHOWN = 10
"""Sentences without a finished translation that are named in the log."""


@dataclass(frozen=True)
class Hypothesis:
    """A translation of a sentence of ``n`` source words.

    words: int32 ``[t]``, target ids; score: natural log p of the words, and of the end symbol where it is complete;
    looked_at: int64 ``[t]``, the source position with the largest attention of each word, ``n`` for the end symbol;
    aligned: the same without the end symbol, -1 if n is 0; complete: whether it ended before the limit of its length.
    """

    words: np.ndarray
    score: float
    looked_at: np.ndarray
    aligned: np.ndarray
    complete: bool

    @classmethod
    def nothing(cls, complete: bool) -> "Hypothesis":
        """No words at all: of a sentence without words, or where the network finds none."""
        none = np.zeros(0, dtype=np.int64)
        return cls(none.astype(np.int32), 0.0, none, none, complete)

    def ranked_by(self, normalise: bool) -> float:
        """log p, or with ``normalise`` log p over the words that were predicted, end symbol included."""
        return self.score / max(len(self.words) + self.complete, 1) if normalise else self.score

    def links(self, length: int) -> list[tuple[int, int]]:
        """Word alignment (source, target); words that looked at the end symbol have no link. length: n."""
        return [(int(i), j) for j, i in enumerate(self.looked_at) if i < length]


class Found(NamedTuple):
    """What was found for n sentences. hypotheses: best first, 1 or more of each; words: int64 ``[n]``, how many words
    the translations of each were predicted from; expanded: bool ``[n]``, whether these are more than its candidates.
    """

    hypotheses: list[list[Hypothesis]]
    words: np.ndarray
    expanded: np.ndarray


def strongest(alphas: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """int64 ``[n, 2]``: the largest of each row of attention, over all positions and over the words alone.

    alphas: float ``[n, L]``; lengths: int64 ``[n]``, words of the sentence of each row, after which the end symbol
    stands; a sentence without words has -1 for its words.
    """
    positions = np.arange(alphas.shape[1])
    outside = np.where(positions < lengths[:, None], alphas, -1.0)
    return np.stack([alphas.argmax(1), np.where(lengths > 0, outside.argmax(1), -1)], axis=1)


@dataclass(frozen=True, kw_only=True)
class AttentionStatistics(ShardStatistics):
    """The best translations of sentences.

    words: of the translation; complete: whether it was finished; vocabulary: the number of words it was predicted from;
    expanded: whether these had to be more than its candidates. ``unknown`` counts words of the translation.
    """

    words: list[int]
    complete: list[bool]
    vocabulary: list[int]
    expanded: list[bool]

    @classmethod
    def of(cls, found: Found, members: Sequence[int], seconds: float) -> Self:
        """Those of what was found."""
        best = [hypotheses[0] for hypotheses in found.hypotheses]
        return cls(
            members=list(members),
            scores=[hypothesis.score for hypothesis in best],
            unknown=[int((hypothesis.words == UNK).sum()) for hypothesis in best],
            seconds=seconds,
            words=[len(hypothesis.words) for hypothesis in best],
            complete=[hypothesis.complete for hypothesis in best],
            vocabulary=found.words.tolist(),
            expanded=found.expanded.tolist(),
        )

    def summarise(self) -> dict[str, Any]:
        """Words, sentences without a finished translation, the mean number of words that one was predicted from, and
        those whose candidates were expanded, besides.
        """
        return super().summarise() | {
            "words": sum(self.words),
            "unfinished": len(self.members) - sum(self.complete),
            "mean_vocabulary": round(float(np.mean(self.vocabulary)), 2) if self.members else 0.0,
            "expanded": sum(self.expanded),
        }

    def log_result(self) -> None:
        """Tell of the search, and which sentences it did not finish."""
        lines = [number + 1 for number, ended in zip(self.members, self.complete, strict=True) if not ended]
        if lines:
            named = ", ".join(map(str, lines[:SHOWN])) + (", ..." if len(lines) > SHOWN else "")
            log.warning(
                "%d sentences have no finished translation, the best unfinished is given: %s", len(lines), named
            )
        super().log_result()
