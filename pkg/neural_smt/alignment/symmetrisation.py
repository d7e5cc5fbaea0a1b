"""Symmetrisation: one alignment out of the alignments of both directions (Och and Ney 2003; Koehn et al. 2003).

The order in which links are tried follows fast_align's ``atools``, so the results are the same link by link.
"""

import numpy as np

from neural_smt.errors import UserError
from neural_smt.io.ragged import Lists, Ragged
from neural_smt.jit import kernel

HEURISTICS = ("intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and")
"""Names of the heuristics; a kernel knows each by its position here."""

_INTERSECTION, _UNION, _GROW_DIAG, _FINAL, _FINAL_AND = range(5)

# What a cell of the grid knows about a link, one bit each.
_FORWARD, _BACKWARD, _CHOSEN = 1, 2, 4
_BOTH = _FORWARD | _BACKWARD


@kernel
def _has_neighbour(grid: np.ndarray, height: int, width: int, i: int, j: int) -> bool:
    """Whether one of the up to eight cells around (i, j) is chosen."""
    for row in range(max(i - 1, 0), min(i + 2, height)):
        for column in range(max(j - 1, 0), min(j + 2, width)):
            if grid[row, column] & _CHOSEN and (row != i or column != j):
                return True
    return False


@kernel
def _grow(grid: np.ndarray, height: int, width: int, rows: np.ndarray, columns: np.ndarray) -> None:
    """Add links of the union beside a chosen link while one of the two words is free, until nothing changes."""
    growing = True
    while growing:
        growing = False
        for i in range(height):
            for j in range(width):
                if grid[i, j] == 0 or grid[i, j] & _CHOSEN or (rows[i] and columns[j]):
                    continue
                if _has_neighbour(grid, height, width, i, j):
                    grid[i, j] |= _CHOSEN
                    rows[i] = columns[j] = True
                    growing = True


@kernel
def _finish(
    grid: np.ndarray, height: int, width: int, rows: np.ndarray, columns: np.ndarray, side: int, both_free: bool
) -> None:
    """Add the links of one direction (``side``) whose words are still free: both of them, or at least one."""
    for i in range(height):
        for j in range(width):
            if not grid[i, j] & side or grid[i, j] & _CHOSEN:
                continue
            free = not (rows[i] or columns[j]) if both_free else not (rows[i] and columns[j])
            if free:
                grid[i, j] |= _CHOSEN
                rows[i] = columns[j] = True


@kernel
def _symmetrise_all(
    directions: tuple[Lists, Lists], heuristic: int, largest: int, values: np.ndarray, offsets: np.ndarray
) -> int:
    """Write the chosen links of every pair, in order of (source, target); return how many there are."""
    grid = np.zeros((largest + 1, largest + 1), dtype=np.uint8)
    rows = np.zeros(largest + 1, dtype=np.bool_)
    columns = np.zeros(largest + 1, dtype=np.bool_)
    links = 0
    for sentence in range(len(offsets) - 1):
        height, width = 0, 0
        for side, (given, given_offsets) in zip((_FORWARD, _BACKWARD), directions):  # noqa: B905  (Numba's has no strict)
            for link in range(given_offsets[sentence], given_offsets[sentence + 1]):
                i, j = np.int64(given[link, 0]), np.int64(given[link, 1])
                grid[i, j] |= side
                height, width = max(height, i + 1), max(width, j + 1)
        for i in range(height):
            for j in range(width):
                if grid[i, j] == _BOTH or (heuristic == _UNION and grid[i, j] != 0):
                    grid[i, j] |= _CHOSEN
                    rows[i] = columns[j] = True
        if heuristic >= _GROW_DIAG:
            _grow(grid, height, width, rows, columns)
        if heuristic >= _FINAL:
            for side in (_FORWARD, _BACKWARD):
                _finish(grid, height, width, rows, columns, side, heuristic == _FINAL_AND)
        for i in range(height):
            for j in range(width):
                if grid[i, j] & _CHOSEN:
                    values[links, 0], values[links, 1] = i, j
                    links += 1
                grid[i, j] = 0
        rows[:height] = False
        columns[:width] = False
        offsets[sentence + 1] = links
    return links


def symmetrise_alignments(forward: Ragged, backward: Ragged, heuristic: str) -> Ragged:
    """Combine both directions of every sentence pair by one of ``HEURISTICS``.

    forward, backward: int16 ``[links, 2]`` per pair of one text, both as (source, target). The result has the same
    shape, each link once, sorted by source, then target position. ``grow-diag`` starts from the intersection and adds
    neighbouring links of the union (diagonals included) while one of the two words is still unaligned; ``final``
    then adds links of the forward, then of the backward direction with at least one, ``final-and`` with both words
    unaligned. Raises ``UserError`` for an unknown heuristic.
    """
    if heuristic not in HEURISTICS:
        raise UserError(f"alignment heuristic {heuristic!r} is unknown; use one of {', '.join(HEURISTICS)}")
    if len(forward) != len(backward):
        raise ValueError(f"alignments of {len(forward)} and of {len(backward)} sentence pairs")
    largest = int(max(forward.values.max(initial=0), backward.values.max(initial=0)))
    values = np.empty((len(forward.values) + len(backward.values), 2), dtype=np.int16)
    offsets = np.zeros(len(forward) + 1, dtype=np.int64)
    directions = forward.arrays, backward.arrays
    links = _symmetrise_all(directions, HEURISTICS.index(heuristic), largest, values, offsets)
    return Ragged(values[:links].copy(), offsets)
