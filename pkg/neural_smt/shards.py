"""Parts of work: shards, which jobs of their own do, numbered as Snakemake's scatter names them; threads."""

import re
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

import numpy as np

from neural_smt.errors import UserError
from neural_smt.workflow.run_lock import end_with_parent

Part = TypeVar("Part")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Shard:
    """Shard ``number`` (from 1) of ``count``; the only one by default."""

    number: int = 1
    count: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.count:
            raise UserError(f"shard {self.number} of {self.count}: number shards from 1 to how many there are")

    @classmethod
    def parse(cls, name: str | None) -> "Shard":
        """The shard of a name such as ``2-of-4``; without one, all."""
        if name is None:
            return cls(1, 1)
        found = re.fullmatch(r"(\d{1,9})-of-(\d{1,9})", name)
        if not found:
            raise UserError(f"shard {name!r}: name shards as 2-of-4 does, by number and how many there are")
        return cls(int(found[1]), int(found[2]))

    def range(self, items: int) -> range:
        """Which of ``items`` are this shard's: all shards together have each once, in order, as equally as can be."""
        return range((self.number - 1) * items // self.count, self.number * items // self.count)

    def members(self, batches: Sequence[np.ndarray], rest: Iterable[int]) -> list[int]:
        """What every n-th batch has, in order; the first shard has the rest too, which is in no batch.

        Of batches that are ordered by length, each shard has long and short ones.
        """
        chosen = [number for batch in batches[self.number - 1 :: self.count] for number in batch.tolist()]
        return sorted([*chosen, *rest] if self.number == 1 else chosen)


def in_threads(work: Callable[[Part], Result], parts: Iterable[Part], threads: int) -> list[Result]:
    """``work`` of every part, in order.

    A single thread is this one: one of its own would have memory of its own, which costs a search 4 % of its time.
    """
    if threads == 1:
        return [work(part) for part in parts]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, parts))


ROUND = 4
"""Parts for each process that wait at once."""


def in_processes(work: Callable[[Part], Result], parts: Iterable[Part], processes: int) -> Iterator[Result]:
    """Yield ``work`` of every part, in order, a round of parts at a time; ``work`` and its results are pickled.

    joblib's own generator would go on reading while nobody takes its results. The processes are joblib's: they start
    afresh and do not import the caller's main script. By themselves they would wait for minutes when the caller is
    killed.
    """
    if processes == 1:
        yield from map(work, parts)
        return
    from joblib import Parallel, delayed

    waiting = iter(parts)
    with Parallel(n_jobs=processes, initializer=end_with_parent) as pool:
        while group := list(islice(waiting, ROUND * processes)):
            yield from pool(delayed(work)(part) for part in group)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold an interruption (Ctrl-C) back until the block ends: where Numba makes Python objects of what kernels return,
    it would end in a segmentation fault. Other threads than the main one are never interrupted.
    """
    held: list[int] = []
    main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, lambda number, _: held.append(number)) if main else None
    try:
        yield
    finally:
        if main:
            signal.signal(signal.SIGINT, before)
        for number in held[:1]:
            signal.raise_signal(number)
