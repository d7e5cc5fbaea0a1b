"""The networks of Cho et al. (2014) and Mi et al. (2016) written down word by word from their equations, in float64.

Nothing is batched, shared, padded or stored in advance. ``xp`` is ``numpy`` or ``torch``: the same equations give
values with the one and, by its automatic differentiation, gradients with the other. Parameters are those of the
package's networks under their names, in float64; where they hold several matrices one above the other, the parts are
named below.
Equation numbers are those of Cho et al. (2014), letters those of its supplement A; the attention network's sources are
Bahdanau et al. (2015), appendix A.1 and A.2, in the conventions of GroundHog's ``prototype_search_state``, and Mi et
al. (2016), equations 1 to 4.
"""

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import nn

from neural_smt.networks.encoder_decoder import Conventions

END = 2
"""The id of the end symbol, which closes both sides."""

Array = Any


def in_numpy(network: nn.Module) -> dict[str, np.ndarray]:
    """The parameters as float64 NumPy arrays."""
    return {name: tensor.detach().double().numpy() for name, tensor in network.named_parameters()}


def in_torch(network: nn.Module) -> dict[str, torch.Tensor]:
    """The parameters as float64 tensors of their own that gather gradients."""
    return {name: tensor.detach().double().requires_grad_() for name, tensor in network.named_parameters()}


def sigmoid(x: Array, xp: ModuleType) -> Array:
    return 1 / (1 + xp.exp(-x))


def log_softmax(logits: Array, xp: ModuleType) -> Array:
    shifted = logits - logits.max()
    return shifted - xp.log(xp.exp(shifted).sum())


def concatenate(parts: Sequence[Array], xp: ModuleType) -> Array:
    return xp.concatenate(parts) if xp is np else xp.cat(parts)


def unit(
    p: dict[str, Array], name: str, e: Array, h: Array, context: Sequence[Array], xp: ModuleType, after: bool = False
) -> Array:
    """One step of the hidden units ``name`` (equations 5 to 8, A.1.1), or of plain ones where there are no gates.

    context: what is added to the candidate, the update and the reset gate; after: whether the reset gate is closed
    behind U, for the context too. The update gate of the released program keeps what the paper's lets through.
    """
    size, u = len(h), p[f"{name}.candidate_weight"]
    inputs = [row @ e for row in p[f"{name}.input_weight"].reshape(-1, size, len(e))]
    inputs[0] = inputs[0] + p[f"{name}.input_bias"]
    if len(inputs) == 1:
        return xp.tanh(inputs[0] + u @ h + context[0])
    u_update, u_reset = p[f"{name}.gates_weight"][:size], p[f"{name}.gates_weight"][size:]
    update = sigmoid(inputs[1] + u_update @ h + context[1], xp)
    reset = sigmoid(inputs[2] + u_reset @ h + context[2], xp)
    candidate = xp.tanh(inputs[0] + (reset * (u @ h + context[0]) if after else u @ (reset * h) + context[0]))
    return update * candidate + (1 - update) * h


def embedded(p: dict[str, Array], side: str, words: Sequence[int]) -> list[Array]:
    return [p[f"{side}_embedding.weight"][word] + p[f"{side}_embedding.bias"] for word in words]


def logits(p: dict[str, Array], h: Array, e: Array, c: Array, xp: ModuleType) -> Array:
    """s' = O_h h' + O_y y + O_c c; s_i = max(s'_2i, s'_2i+1); G_l G_r s."""
    pieces = p["hidden_readout.weight"] @ h + p["hidden_readout.bias"]
    pieces = pieces + p["word_readout.weight"] @ e + p["context_readout.weight"] @ c
    return p["output.weight"] @ (p["inner.weight"] @ xp.maximum(pieces[0::2], pieces[1::2])) + p["output.bias"]


def log_probability(
    p: dict[str, Array], source: Sequence[int], target: Sequence[int], xp: ModuleType, conventions: Conventions
) -> Array:
    """log p(target | source) of the encoder-decoder, end symbol included (equation 4)."""
    h = nothing = xp.zeros(len(p["encoder.candidate_weight"]), dtype=xp.float64)
    for e in embedded(p, "source", [*source, END]):
        h = unit(p, "encoder", e, h, [nothing] * 3, xp)
    # A.1: c = tanh(V h), h'_0 = tanh(V' c); C, C_z, C_r
    c = h if conventions.summary == "code" else xp.tanh(p["summary.weight"] @ h + p["summary.bias"])
    h = xp.tanh(p["initialiser.weight"] @ c + p["initialiser.bias"])
    context = (p["context.weight"] @ c).reshape(-1, len(h))
    total = 0.0
    e = xp.zeros(p["target_embedding.weight"].shape[1], dtype=xp.float64)
    for position, word in enumerate([*target, END]):
        if position > 0 or conventions.first_step == "paper":
            h = unit(p, "decoder", e, h, context, xp, conventions.reset == "paper")
        total = total + log_softmax(logits(p, h, e, c, xp), xp)[word]
        (e,) = embedded(p, "target", [word])
    return total


def cslm_log_probability(p: dict[str, Array], context: Sequence[int], following: int, xp: ModuleType) -> Array:
    """log p of the class ``following`` after the words ``context``."""
    return cslm_distribution(p, context, xp)[following]


def cslm_distribution(p: dict[str, Array], context: Sequence[int], xp: ModuleType) -> Array:
    """log p of every class after the words ``context``: two rectified layers (section 4.1.2)."""
    first = p["first.weight"] @ concatenate([p["projection"][word] for word in context], xp) + p["first.bias"]
    second = p["second.weight"] @ (first * (first > 0)) + p["second.bias"]
    return log_softmax(p["output.weight"] @ (second * (second > 0)) + p["output.bias"], xp)


def translate(
    p: dict[str, Array],
    source: Sequence[int],
    target: Sequence[int],
    xp: ModuleType,
    allowed: Sequence[int] | None = None,
    current: bool = True,
) -> tuple[Array, Array]:
    """log p(target | source) of the attention network, end symbol included, and alpha ``[target words + 1, source words
    + 1]``.

    allowed: ids that p is a distribution over, None for all; a word outside counts as the unknown word; current: s_t
    predicts y_t (Mi et al. 2016, equations 1 and 2), not s_{t-1}.
    """
    zero = xp.zeros(len(p["decoder.candidate_weight"]), dtype=xp.float64)
    words = embedded(p, "source", [*source, END])
    sides = []
    for name, order in (("forward_encoder", words), ("backward_encoder", words[::-1])):
        h, states = zero, []
        for e in order:
            h = unit(p, name, e, h, [zero] * 3, xp)
            states.append(h)
        sides.append(states)
    annotations = [concatenate([f, b], xp) for f, b in zip(sides[0], sides[1][::-1], strict=True)]
    s = xp.tanh(p["initialiser.weight"] @ sides[1][-1] + p["initialiser.bias"])
    total, alphas = 0.0, []
    e = xp.zeros(p["target_embedding.weight"].shape[1], dtype=xp.float64)
    for word in [*target, END]:
        energies = []
        for annotation in annotations:
            inside = p["scorer_keys.weight"] @ annotation + p["scorer_state.weight"] @ s
            if "scorer_word.weight" in p:
                inside = inside + p["scorer_word.weight"] @ e
            energies.append(p["scorer_energy"] @ xp.tanh(inside))
        alpha = xp.exp(log_softmax(xp.stack(energies), xp))
        alphas.append(alpha)
        c = sum(a * annotation for a, annotation in zip(alpha, annotations, strict=True))
        context = (p["context.weight"] @ c).reshape(-1, len(s))
        if current:
            s = unit(p, "decoder", e, s, context, xp)
        found = logits(p, s, e, c, xp)
        chosen = list(range(len(found))) if allowed is None else list(allowed)
        total = total + log_softmax(found[chosen], xp)[chosen.index(word if word in chosen else 0)]
        (e,) = embedded(p, "target", [word])
        if not current:
            s = unit(p, "decoder", e, s, context, xp)
    return total, xp.stack(alphas)


def adadelta_steps(
    gradients: dict[str, np.ndarray], limit: float, rho: float = 0.95, epsilon: float = 1e-6
) -> dict[str, np.ndarray]:
    """What the first update subtracts from each parameter: gradients clipped to a global norm, then AdaDelta.

    E[g^2] = (1 - rho) g^2 and E[d^2] = 0, so d = sqrt(epsilon) / sqrt((1 - rho) g^2 + epsilon) g.
    """
    norm = np.sqrt(sum((gradient**2).sum() for gradient in gradients.values()))
    scale = min(1.0, limit / norm)
    steps = {}
    for name, gradient in gradients.items():
        g = scale * gradient
        steps[name] = np.sqrt(epsilon) / np.sqrt((1 - rho) * g**2 + epsilon) * g
    return steps
