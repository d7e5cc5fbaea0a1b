"""Normalisers of a softmax over a large vocabulary, nearly all of what an n-gram of a network costs: exact, estimated,
and remembered by the fingerprints of their contexts.

Searches that look at many contexts estimate them: the sum over a few frequent words, together with the layer before the
softmax, tells most of it; a linear function of both is fitted once, by ridge regression, to exact normalisers of
contexts like those of the search.
"""

import threading
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from neural_smt.jit import kernel, mix
from neural_smt.networks.device import pack
from neural_smt.networks.softmax import log_normalisers

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
    """Values of rows of ids by their ``fingerprints``, which are computed where they are not known.

    capacity: rows remembered, 16 bytes each, rounded up to a power of two (0: none). Threads share it.
    """

    def __init__(self, capacity: int):
        count = 1 << max(WAYS.bit_length() - 1, (capacity - 1).bit_length()) if capacity else 0
        self._places, self._lock = np.zeros(count, dtype=PLACE), threading.Lock()

    def values(self, rows: np.ndarray, compute: Callable[[np.ndarray], np.ndarray]) -> tuple[np.ndarray, int]:
        """float64 ``[N]``, the values of rows of ids (int32 ``[N, width]``), and how many of them are new.

        compute: of some rows (int64, their numbers); it runs outside the lock.
        """
        if not len(self._places):
            return compute(np.arange(len(rows))), len(rows)
        keys, values = fingerprints(rows), np.empty(len(rows))
        with self._lock:
            missing = _look_up(self._places, keys, values)
        if len(missing):
            values[missing] = compute(missing)
            with self._lock:
                _insert(self._places, keys, values, missing)
        return values, len(missing)


LOGITS = {"cpu": 3 << 18, "cuda": 1 << 27}
"""Logits computed at a time at most: on a CPU few enough to stay in its cache."""


class Normalisers:
    """A function from z, ``[N, R]``, to the logs of the normalisers, ``[N]``, without gradient.

    weight: ``[V, R]``, in the type that the factors of products are rounded to; bias: ``[V]``. Threads may call it at
    the same time. error: none, beside ``NormaliserEstimate``.
    """

    error = 0.0

    def __init__(self, weight: Tensor, bias: Tensor):
        self.weight, self.bias = weight, bias
        self.rows = max(1, LOGITS[bias.device.type] // len(bias))
        self.products = pack(weight, None, self.rows) if bias.dtype == torch.float32 else None
        self._buffers = threading.local()

    def __call__(self, inner: Tensor) -> Tensor:
        return log_normalisers(inner, self.weight, self.bias, self._buffer(len(inner)), self.products)

    def _buffer(self, count: int) -> Tensor:
        """Room for logits: on a GPU, where it costs nothing, of so many rows at most; else what this thread has, as
        making it anew would cost as much as filling it.
        """
        if self.bias.is_cuda:
            return self.bias.new_empty(max(min(self.rows, count), 1), len(self.bias))
        if not hasattr(self._buffers, "logits"):
            self._buffers.logits = self.bias.new_empty(self.rows, len(self.bias))
        return self._buffers.logits


FREQUENT = 64
"""Words of the shortlist whose sum is computed; they come most frequent first."""

RIDGE = 1e-2


class NormaliserEstimate:
    """log sum_v exp(weight z + bias)_v, estimated.

    inner: z of N contexts, ``[N, R]``; normalisers: their exact values, ``[N]``; weight, bias: those of the softmax,
    most frequent words first. ``error``: standard deviation of the estimate on these contexts (natural log).
    """

    def __init__(self, inner: Tensor, normalisers: Tensor, weight: Tensor, bias: Tensor):
        self.sums = Normalisers(weight[:FREQUENT].to(inner.dtype), bias[:FREQUENT].clone())
        known = self._features(inner).double()
        known = torch.cat((known, known.new_ones(len(known), 1)), 1)
        gram = known.t() @ known + RIDGE * torch.eye(known.shape[1], dtype=known.dtype, device=known.device)
        solution = torch.linalg.solve(gram, known.t() @ normalisers.double())
        self.error = float((known @ solution - normalisers.double()).std())
        self.slope, self.offset = solution[:-1].to(inner.dtype), float(solution[-1])

    def _features(self, inner: Tensor) -> Tensor:
        return torch.cat((inner, self.sums(inner)[:, None]), 1)

    def __call__(self, inner: Tensor) -> Tensor:
        """The estimates for z, ``[N, R]``: ``[N]``."""
        return self._features(inner) @ self.slope + self.offset
