"""What kernels of several modules call: exponentials in float32, several numbers at a time, and the places of direct
features (``direct_places``).
"""

import numpy as np

from neural_smt.jit import leaf, mix
from neural_smt.vocabulary import UNK

# Sums may be taken in any order, or several numbers at a time could not be; nothing else may be rearranged, and nothing
# is assumed of numbers that are not finite.
EXACT = {"fastmath": {"contract"}, "error_model": "numpy"}
ANY_ORDER = {"fastmath": {"reassoc", "contract", "nsz"}, "error_model": "numpy"}

_SMALLEST, _LARGEST = np.float32(-87.0), np.float32(88.0)
_LOG2_E = np.float32(1.4426950408889634)
# ln 2 in two parts: the first has so few digits that its multiples are exact.
_LN_2_HIGH, _LN_2_LOW = np.float32(0.693359375), np.float32(-2.12194440054690582e-4)
# (e^y - 1 - y) / y^2 for |y| <= ln(2) / 2, by least squares at Chebyshev nodes: wrong by 1e-8 of e^y.
_C0, _C1, _C2 = np.float32(0.5000000013), np.float32(0.1666657697), np.float32(0.0416664649)
_C3, _C4 = np.float32(0.008363181545), np.float32(0.001393365249)
_ONE, _TWO, _BIAS, _DIGITS = np.float32(1), np.float32(2), np.int32(127), np.int32(23)


@leaf(**EXACT)
def exponential(value: np.float32) -> np.float32:
    """e^value to 2e-7 of itself within [-87, 88]; what lies outside counts as that limit, and nan as 88."""
    value = value if value < _LARGEST else _LARGEST
    value = value if value > _SMALLEST else _SMALLEST
    power = np.int32(np.rint(value * _LOG2_E))
    whole = np.float32(power)
    y = (value - whole * _LN_2_HIGH) - whole * _LN_2_LOW
    series = (((_C4 * y + _C3) * y + _C2) * y + _C1) * y + _C0
    # 2^power by its bits.
    scale = np.int32((power + _BIAS) << _DIGITS).view(np.float32)
    return (series * (y * y) + y + _ONE) * scale


@leaf(**EXACT)
def hyperbolic_tangent(value: np.float32) -> np.float32:
    """tanh(value) to 2e-7 (of 1, not of itself); nan counts as large."""
    return _ONE - _TWO / (exponential(_TWO * value) + _ONE)


CLASSES = -1
"""In the place of a class: the features of the classes themselves."""


@leaf
def direct_places(history: np.ndarray, order: int, number: int, span: int, size: int, places: np.ndarray) -> int:
    """Write where the outputs of each history length 0, 1, ... start (int64 ``[order]``); return how many there are.

    history: int32 ``[order - 1]``; number: the class whose words are predicted, or ``CLASSES``; span: how many outputs
    there are (the words of that class, or all classes); size: of the whole table.

    The weights of these maximum entropy features (Mikolov et al. 2011) lie in a hashed table without collision lists. A
    feature is an n-gram: some words of history and a predicted class, or a predicted word within its class. The outputs
    of one history lie side by side, so only the place of the first one is hashed. The first half of the table belongs
    to classes, the second to words. Histories are given most recent word first; ``BOS`` stands before the sentence; an
    unknown word ends a history, so longer ones that would hold it have no features.
    """
    half = size // 2
    key = mix(np.uint64(number + 2))
    for length in range(order):
        if length > 0:
            if history[length - 1] == UNK:
                return length
            key = mix(key ^ np.uint64(history[length - 1] + 1))
        places[length] = np.int64(key % np.uint64(half - span + 1)) + (0 if number == CLASSES else half)
    return order
