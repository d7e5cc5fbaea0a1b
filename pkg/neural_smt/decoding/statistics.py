"""What a search is reported with, and what shards of it keep until they are put together."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from neural_smt.errors import UserError
from neural_smt.io.files import read_json


def summarise(
    scores: Sequence[float], unknown: Sequence[int], seconds: float, threads: int, asked: Mapping[str, Any]
) -> dict[str, Any]:
    """Sentences, seconds of search, sentences per second, mean model score, unknown words, what a network was asked.

    scores, unknown: the model score and the unknown words of each sentence.
    """
    return {
        "sentences": len(scores),
        "seconds": round(seconds, 3),
        "sentences_per_second": round(len(scores) / max(seconds, 1e-9), 2),
        "mean_score": float(np.mean(scores)) if len(scores) else 0.0,
        "unknown_words": sum(unknown),
        "threads": threads,
        **asked,
    }


class ShardStatistics:
    """What a shard keeps, a dataclass of values that JSON has."""

    def content(self) -> dict[str, Any]:
        """What is written as JSON."""
        return asdict(self)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read it; ``UserError`` when it is something else."""
        try:
            return cls(**read_json(path))
        except TypeError:
            raise UserError(f"{path}: not the statistics of a shard; decode the shards again") from None


@dataclass(frozen=True)
class PartStatistics(ShardStatistics):
    """The statistics of a shard: its sentences (numbers in the text), as ``summarise`` takes them."""

    members: list[int]
    scores: list[float]
    unknown: list[int]
    seconds: float
    threads: int
    asked: dict[str, Any]


def sum_asked(counts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The counts of several searches together: sums, and rates of these."""
    total: dict[str, Any] = {}
    for key, value in (item for count in counts for item in count.items()):
        total[key] = sum_asked([total.get(key, {}), value]) if isinstance(value, Mapping) else total.get(key, 0) + value
    if "seconds" in total:
        total["seconds"] = round(total["seconds"], 3)
    if "cache_hit_rate" in total:
        sent = total["ngrams"] - total["cache_hits"]
        total["cache_hit_rate"] = round(total["cache_hits"] / max(total["ngrams"], 1), 4)
        total["ngrams_per_second"] = round(sent / max(total["seconds"], 1e-9), 1)
    return total
