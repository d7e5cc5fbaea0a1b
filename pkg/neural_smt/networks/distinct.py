"""The distinct rows of a matrix of ids: what is equal is computed once."""

import numpy as np

from neural_smt.jit import kernel, mix


@kernel
def number_rows(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number the rows of int32 ``[N, width]``, equal rows alike, as they first come.

    Returns int64 ``[N]``, the number of each row, and int64 ``[distinct]``, where the row of each number first stands.
    """
    count, width = rows.shape
    slots = 64
    while slots < 2 * count:
        slots *= 2
    mask = np.uint64(slots - 1)
    table = np.full(slots, -1, dtype=np.int64)
    numbers = np.empty(count, dtype=np.int64)
    first = np.empty(count, dtype=np.int64)
    found = 0
    for row in range(count):
        key = np.uint64(0)
        for column in range(width):
            key = mix(key ^ np.uint64(rows[row, column] + 1))
        slot = key & mask
        while table[slot] >= 0:
            other = first[table[slot]]
            same = True
            for column in range(width):
                same = same and rows[other, column] == rows[row, column]
            if same:
                break
            slot = (slot + np.uint64(1)) & mask
        if table[slot] < 0:
            table[slot] = found
            first[found] = row
            found += 1
        numbers[row] = table[slot]
    return numbers, first[:found].copy()
