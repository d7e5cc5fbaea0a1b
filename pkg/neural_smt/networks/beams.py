"""What beam searches over the words of a network have in common: the best words of a row, the best of a beam."""

import numpy as np
import torch
from torch import Tensor

BLOCK = 128
"""Words that are looked through together for the best of a row."""


def top_values(rows: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The ``count`` largest values of each row and their columns, ``[n, count]`` each, largest first.

    The largest values lie in the blocks with the largest maxima, so only those blocks are looked through.
    """
    blocks = rows.shape[1] // BLOCK
    if blocks <= 2 * count:
        return rows.topk(count, 1)
    whole, rest = rows[:, : blocks * BLOCK].view(len(rows), blocks, BLOCK), rows[:, blocks * BLOCK :]
    chosen = whole.amax(2).topk(count, 1).indices
    candidates = whole.gather(1, chosen[:, :, None].expand(-1, -1, BLOCK)).flatten(1)
    columns = (chosen[:, :, None] * BLOCK + torch.arange(BLOCK, device=rows.device)).flatten(1)
    tail = torch.arange(blocks * BLOCK, rows.shape[1], device=rows.device).expand(len(rows), -1)
    values, places = torch.cat((candidates, rest), 1).topk(count, 1)
    return values, torch.cat((columns, tail), 1).gather(1, places)


def best_continuations(
    owner: np.ndarray, totals: np.ndarray, values: np.ndarray, words: np.ndarray, places: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each source the best of its prefixes' continuations, as many as it has ``places``.

    owner: int64 ``[n]``, ascending, the source of each prefix; totals: float64 ``[n]``, log p of each prefix; values,
    words: float64 and int64 ``[n, k]``, the best next words of each prefix. Returns the prefix (ascending), the word
    and the total of each continuation that is kept.
    """
    scores, owners = (totals[:, None] + values).ravel(), np.repeat(owner, values.shape[1])
    order = np.lexsort((-scores, owners))
    rank = places_within(owners)  # owners are ascending, before and after sorting
    kept = np.sort(order[(rank < places[owners]) & (scores[order] > -np.inf)])
    return kept // values.shape[1], words.ravel()[kept], scores[kept]


def places_within(owner: np.ndarray) -> np.ndarray:
    """int64 ``[n]``: the place of each row among those of the same owner (``owner`` ascending), from 0."""
    return np.arange(len(owner)) - np.searchsorted(owner, owner)
