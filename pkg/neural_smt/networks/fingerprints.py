"""What was computed for rows of ids, remembered by their fingerprints."""

import threading

import numpy as np

from neural_smt.jit import kernel, mix

WAYS = 4
"""Places where a row may stand, side by side in memory; which one gives way when all are taken follows from the row."""

PLACE = np.dtype([("fingerprint", np.uint64), ("value", np.float64)])


@kernel
def fingerprints(rows: np.ndarray) -> np.ndarray:
    """uint64 ``[N]``, never 0, of int32 ``[N, width]``.

    Each row's is a chain of bijections of 64 bits, so that two rows which differ share one with probability 2^-64: of a
    billion rows looked up among a million, one is mistaken for another with a probability of 5e-5 in all.
    """
    keys = np.empty(len(rows), dtype=np.uint64)
    for row in range(len(rows)):
        key = np.uint64(0)
        for column in range(rows.shape[1]):
            key = mix(key ^ np.uint64(rows[row, column] + 1))
        keys[row] = key if key != 0 else np.uint64(1)
    return keys


@kernel
def _look_up(places: np.ndarray, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Fill in the values (float64 [N]) that are known; int64, the rows of the others."""
    missing = np.empty(len(keys), dtype=np.int64)
    count = 0
    for row in range(len(keys)):
        first = (keys[row] & np.uint64(len(places) // WAYS - 1)) * np.uint64(WAYS)
        known = False
        for place in range(first, first + np.uint64(WAYS)):
            if places[place]["fingerprint"] == keys[row]:
                values[row] = places[place]["value"]
                known = True
                break
        if not known:
            missing[count] = row
            count += 1
    return missing[:count].copy()


@kernel
def _insert(places: np.ndarray, keys: np.ndarray, values: np.ndarray, rows: np.ndarray) -> None:
    """Remember the values of ``rows`` (int64), in free places or in the place of others."""
    for row in rows:
        first = (keys[row] & np.uint64(len(places) // WAYS - 1)) * np.uint64(WAYS)
        chosen = first + (keys[row] >> np.uint64(40)) % np.uint64(WAYS)
        for place in range(first, first + np.uint64(WAYS)):
            if places[place]["fingerprint"] == 0 or places[place]["fingerprint"] == keys[row]:
                chosen = place
                break
        places[chosen]["fingerprint"] = keys[row]
        places[chosen]["value"] = values[row]


class FingerprintCache:
    """Values (float64) of rows of ids by their ``fingerprints``.

    capacity: rows remembered, 16 bytes each, rounded up to a power of two (0: none). Threads share it.
    """

    def __init__(self, capacity: int):
        count = 1 << max(WAYS.bit_length() - 1, (capacity - 1).bit_length()) if capacity else 0
        self._places = np.zeros(count, dtype=PLACE)
        self._lock = threading.Lock()

    def look_up(self, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Fill in the values (float64 ``[N]``) of the fingerprints that are known; int64, the numbers of the others."""
        if not len(self._places):
            return np.arange(len(keys))
        with self._lock:
            return _look_up(self._places, keys, values)

    def insert(self, keys: np.ndarray, values: np.ndarray, rows: np.ndarray) -> None:
        """Remember the values of the fingerprints at ``rows`` (int64)."""
        if len(self._places):
            with self._lock:
                _insert(self._places, keys, values, rows)
