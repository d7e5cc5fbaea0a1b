"""The attention network written down word by word from its equations, in float64.

Sources: Bahdanau et al. (2015), appendix A.1 and A.2, in the conventions of GroundHog's ``prototype_search_state``, and
Mi et al. (2016), equations 1 to 4. Nothing is batched or padded and no code of the package is used. ``xp`` is ``numpy``
or ``torch``; parameters are those of the package's network under their names, in float64.
"""

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

END = 2

Array = Any


def sigmoid(x: Array, xp: ModuleType) -> Array:
    return 1 / (1 + xp.exp(-x))


def unit(p: dict[str, Array], name: str, e: Array, h: Array, context: Sequence[Array], xp: ModuleType) -> Array:
    """One step of the gated unit ``name``; context: what is added to the candidate, the update and the reset gate."""
    size = len(h)
    w, w_update, w_reset = (p[f"{name}.input_weight"][k * size : (k + 1) * size] for k in range(3))
    u_update, u_reset = p[f"{name}.gates_weight"][:size], p[f"{name}.gates_weight"][size:]
    update = sigmoid(w_update @ e + u_update @ h + context[1], xp)
    reset = sigmoid(w_reset @ e + u_reset @ h + context[2], xp)
    candidate = xp.tanh(w @ e + p[f"{name}.input_bias"] + p[f"{name}.candidate_weight"] @ (reset * h) + context[0])
    return update * candidate + (1 - update) * h


def translate(
    p: dict[str, Array],
    source: Sequence[int],
    target: Sequence[int],
    xp: ModuleType,
    allowed: Sequence[int] | None = None,
) -> tuple[Array, Array]:
    """log p(target | source), end symbol included, and alpha ``[target words + 1, source words + 1]``.

    allowed: ids that p is a distribution over, None for all; a word outside counts as the unknown word.
    """
    size = len(p["decoder.candidate_weight"])
    zero = xp.zeros(size, dtype=xp.float64)
    embedded = [p["source_embedding.weight"][w] + p["source_embedding.bias"] for w in [*source, END]]
    forward, backward = [], []
    h = zero
    for e in embedded:
        h = unit(p, "forward_encoder", e, h, [zero] * 3, xp)
        forward.append(h)
    h = zero
    for e in embedded[::-1]:
        h = unit(p, "backward_encoder", e, h, [zero] * 3, xp)
        backward.insert(0, h)
    stack = xp.concatenate if xp is np else xp.cat
    annotations = [stack([f, b]) for f, b in zip(forward, backward, strict=True)]
    s = xp.tanh(p["initialiser.weight"] @ backward[0] + p["initialiser.bias"])

    total, alphas = 0.0, []
    e = xp.zeros(p["target_embedding.weight"].shape[1], dtype=xp.float64)
    for word in [*target, END]:
        energies = []
        for annotation in annotations:
            inside = p["scorer_keys.weight"] @ annotation + p["scorer_state.weight"] @ s
            if "scorer_word.weight" in p:
                inside = inside + p["scorer_word.weight"] @ e
            energies.append(p["scorer_energy"] @ xp.tanh(inside))
        exponentials = xp.exp(xp.stack(energies))
        alpha = exponentials / exponentials.sum()
        alphas.append(alpha)
        c = sum(a * annotation for a, annotation in zip(alpha, annotations, strict=True))
        pieces = p["hidden_readout.weight"] @ s + p["hidden_readout.bias"]
        pieces = pieces + p["word_readout.weight"] @ e + p["context_readout.weight"] @ c
        z = p["inner.weight"] @ xp.maximum(pieces[0::2], pieces[1::2])
        logits = p["output.weight"] @ z + p["output.bias"]
        chosen = list(range(len(logits))) if allowed is None else list(allowed)
        predicted = word if word in chosen else 0
        total = total + logits[predicted] - xp.log(xp.exp(logits[chosen]).sum())
        e = p["target_embedding.weight"][word] + p["target_embedding.bias"]
        context = p["context.weight"] @ c
        s = unit(p, "decoder", e, s, [context[k * size : (k + 1) * size] for k in range(3)], xp)
    return total, xp.stack(alphas)
