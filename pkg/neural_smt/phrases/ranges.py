"""Work cut into ranges that threads take in turn; kernels release the GIL."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np

RANGES_PER_THREAD = 8
"""More ranges than threads, so that no thread waits long for the slowest one."""


def split_evenly(offsets: np.ndarray, threads: int) -> list[tuple[int, int]]:
    """Cut lists with these ``offsets`` (int64 ``[n + 1]``) into ranges (first, end) of lists about equal in size."""
    cuts = np.linspace(0, offsets[-1], RANGES_PER_THREAD * threads + 1)[1:-1]
    borders = [0, *np.searchsorted(offsets, cuts).tolist(), len(offsets) - 1]
    return [(first, end) for first, end in pairwise(borders) if first < end]


def run_ranges(function: Callable[..., None], ranges: list[tuple[int, int]], threads: int, *arguments: Any) -> None:
    """Call ``function(range, *arguments)`` for every range on ``threads`` threads; the first error is raised."""
    with ThreadPoolExecutor(threads) as pool:
        for job in [pool.submit(function, part, *arguments) for part in ranges]:
            job.result()
