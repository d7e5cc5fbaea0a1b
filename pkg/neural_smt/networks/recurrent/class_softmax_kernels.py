"""Softmaxes of the class-factored output on the processor, with their direct features: rows of unequal length in one
array.
"""

import numpy as np

from neural_smt.jit import kernel

# Sums may be taken in any order, or several numbers at a time could not be; nothing else may be rearranged.
_ANY_ORDER = {"fastmath": {"reassoc", "contract", "nsz"}, "error_model": "numpy"}


@kernel(**_ANY_ORDER)
def normalise_rows(
    logits: np.ndarray,
    starts: np.ndarray,
    chosen: np.ndarray,
    direct: np.ndarray,
    places: np.ndarray,
    tokens: np.ndarray,
    scores: np.ndarray,
) -> None:
    """Add the direct features, turn logits into probabilities, and add the chosen one's log to the token's score.

    logits: float32 ``[L]``, row i is ``starts[i]:starts[i + 1]``; chosen: int64 ``[rows]``, places in a row; direct:
    float32, all weights; places, tokens: as in ``SoftmaxTargets``, ``tokens[i]`` is the token of row i; scores: float32
    ``[N]``.
    """
    for row in range(len(tokens)):
        token, first = tokens[row], starts[row]
        span = starts[row + 1] - first
        part = logits[first : first + span]
        for length in range(places.shape[1]):
            place = places[token, length]
            if place >= 0:
                weights = direct[place : place + span]
                for i in range(span):
                    part[i] += weights[i]
        largest = part[0]
        for i in range(span):
            largest = max(largest, part[i])
        logit = part[chosen[token]] - largest
        total = np.float32(0)
        for i in range(span):
            part[i] = np.exp(part[i] - largest)
            total += part[i]
        scores[token] += logit - np.log(total)
        scale = np.float32(1) / total
        for i in range(span):
            part[i] *= scale


@kernel(**_ANY_ORDER)
def differentiate_rows(
    probabilities: np.ndarray,
    starts: np.ndarray,
    chosen: np.ndarray,
    gradient: np.ndarray,
    places: np.ndarray,
    tokens: np.ndarray,
    errors: np.ndarray,
    slots: np.ndarray,
    values: np.ndarray,
    filled: int,
) -> int:
    """Write to ``errors`` (float32 ``[L]``) the gradient of the logits, one minus probability or minus probability.

    gradient: float32 ``[N]``, of the scores. The gradients of direct weights are appended to ``slots`` (int64) and
    ``values`` (float32) from ``filled`` on, slots more than once where several tokens use them; returns how many there
    are then.
    """
    for row in range(len(tokens)):
        token, first = tokens[row], starts[row]
        span = starts[row + 1] - first
        scale = gradient[token]
        part = errors[first : first + span]
        for i in range(span):
            part[i] = -scale * probabilities[first + i]
        part[chosen[token]] += scale
        for length in range(places.shape[1]):
            place = places[token, length]
            if place >= 0:
                for i in range(span):
                    slots[filled + i] = place + i
                    values[filled + i] = part[i]
                filled += span
    return filled
