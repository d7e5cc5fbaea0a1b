"""What a search is reported with, and what shards of it keep until they are put together."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Self

import numpy as np

from neural_smt.errors import UserError
from neural_smt.experiment.settings import read_described
from neural_smt.io.files import write_json

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class ShardStatistics:
    """What a shard keeps: values that JSON has, single ones and lists with an entry for each sentence.

    members: numbers of the sentences in the text; scores: of the model, or natural log p; unknown: words that the model
    does not know; seconds: of the search for all of them.
    """

    members: list[int]
    scores: list[float]
    unknown: list[int]
    seconds: float

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read it; ``UserError`` when it is something else."""
        try:
            found = cls(**read_described(path, "statistics"))
            if len({len(values) for values in vars(found).values() if isinstance(values, list)}) > 1:
                raise TypeError
            return found
        except TypeError:
            raise UserError(f"{path}: not the statistics of a shard; decode the shards again") from None

    @classmethod
    def join(cls, parts: Sequence[Self]) -> Self:
        """Those of all sentences of all parts, in order. Seconds and counts are added up; threads are those of one
        part.
        """
        order = np.argsort([member for part in parts for member in part.members])
        joined: dict[str, Any] = {}
        for name, first in vars(parts[0]).items():
            values = [getattr(part, name) for part in parts]
            if isinstance(first, list):
                whole = list(chain.from_iterable(values))
                joined[name] = [whole[place] for place in order]
            elif name == "threads":
                joined[name] = first
            else:
                joined[name] = sum_counts(values) if isinstance(first, dict) else sum(values)
        return cls(**joined)

    def summarise(self) -> dict[str, Any]:
        """What is reported of a whole text: sentences, seconds of search, sentences per second, mean score, unknown
        words.
        """
        count = len(self.members)
        return {
            "sentences": count,
            "seconds": round(self.seconds, 3),
            "sentences_per_second": round(count / max(self.seconds, 1e-9), 2),
            "mean_score": float(np.mean(self.scores)) if count else 0.0,
            "unknown_words": sum(self.unknown),
        }

    def save(self, path: Path, shard: str | None) -> None:
        """Write what a shard keeps, or of a whole text (None) what is reported, as JSON."""
        write_json(path, vars(self) if shard else self.join([self]).summarise())

    def log_result(self) -> None:
        """Log a line about the search."""
        mean = self.summarise()["mean_score"]
        log.info("translated %d sentences in %.1f s, mean score %.4f", len(self.members), self.seconds, mean)


@dataclass(frozen=True, kw_only=True)
class PartStatistics(ShardStatistics):
    """A search of sentences; counts: what a network computed."""

    threads: int
    counts: dict[str, Any]

    def summarise(self) -> dict[str, Any]:
        """Threads, and what a network computed, besides."""
        return super().summarise() | {"threads": self.threads, **self.counts}


def sum_counts(counts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The counts of several searches together: sums, and rates of these."""
    total: dict[str, Any] = {}
    for key, value in (item for count in counts for item in count.items()):
        total[key] = (
            sum_counts([total.get(key, {}), value]) if isinstance(value, Mapping) else total.get(key, 0) + value
        )
    if "cache_hit_rate" in total:
        sent = total["ngrams"] - total["cache_hits"]
        total["cache_hit_rate"] = round(total["cache_hits"] / max(total["ngrams"], 1), 4)
        total["ngrams_per_second"] = round(sent / max(total["seconds"], 1e-9), 1)
    if "seconds" in total:
        total["seconds"] = round(total["seconds"], 3)
    return total
