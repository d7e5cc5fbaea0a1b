"""The networks of Cho et al. (2014) written down word by word from their equations, in float64.

Nothing is batched, shared or stored in advance, and no code of the package is used. ``xp`` is ``numpy`` or ``torch``:
the same equations give values with the one and, by its automatic differentiation, gradients with the other. Parameters
are those of the package's networks under their names, in float64; where they hold several matrices one above the
other, the parts are named below. Equation numbers are those of the paper, letters those of its supplement A.
"""

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np
import torch

END = 2
"""The id of the end symbol, which closes both phrases."""

Array = Any


def in_numpy(network: torch.nn.Module) -> dict[str, np.ndarray]:
    """The parameters as float64 NumPy arrays."""
    return {name: tensor.detach().double().numpy() for name, tensor in network.named_parameters()}


def in_torch(network: torch.nn.Module) -> dict[str, torch.Tensor]:
    """The parameters as float64 tensors of their own that gather gradients."""
    return {name: tensor.detach().double().requires_grad_() for name, tensor in network.named_parameters()}


def log_probability(
    p: dict[str, Array], source: Sequence[int], target: Sequence[int], xp: ModuleType, follow: str = "code"
) -> Array:
    """log p(target | source), end symbol included (equation 4); ``follow`` as in ``Conventions``, all of them alike."""
    size = len(p["encoder.candidate_weight"])
    nothing = xp.zeros(size, dtype=xp.float64)

    def sigmoid(x: Array) -> Array:
        return 1 / (1 + xp.exp(-x))

    # Encoder. Its input matrix holds W, W_z, W_r, its gate matrix U_z, U_r. Equations 5 to 8.
    w, w_z, w_r = (p["encoder.input_weight"][k * size : (k + 1) * size] for k in range(3))
    u_z, u_r = (p["encoder.gates_weight"][k * size : (k + 1) * size] for k in range(2))
    h = nothing
    for word in [*source, END]:
        e = p["source_embedding.weight"][word] + p["source_embedding.bias"]
        r = sigmoid(w_r @ e + u_r @ h)
        z = sigmoid(w_z @ e + u_z @ h)
        candidate = xp.tanh(w @ e + p["encoder.input_bias"] + p["encoder.candidate_weight"] @ (r * h))
        # The gate of the released program keeps what the paper's lets through.
        h = z * candidate + (1 - z) * h

    # A.1: c = tanh(V h), h'_0 = tanh(V' c).
    c = h if follow == "code" else xp.tanh(p["summary.weight"] @ h + p["summary.bias"])
    h = xp.tanh(p["initialiser.weight"] @ c + p["initialiser.bias"])

    # Decoder, A.1.1. W', W'_z, W'_r; U'_z, U'_r; C, C_z, C_r.
    w, w_z, w_r = (p["decoder.input_weight"][k * size : (k + 1) * size] for k in range(3))
    u_z, u_r = (p["decoder.gates_weight"][k * size : (k + 1) * size] for k in range(2))
    c_h, c_z, c_r = (p["context.weight"][k * size : (k + 1) * size] @ c for k in range(3))
    u = p["decoder.candidate_weight"]

    def transition(h: Array, e: Array) -> Array:
        z = sigmoid(w_z @ e + u_z @ h + c_z)
        r = sigmoid(w_r @ e + u_r @ h + c_r)
        inside = u @ (r * h) + c_h if follow == "code" else r * (u @ h + c_h)
        return z * xp.tanh(w @ e + p["decoder.input_bias"] + inside) + (1 - z) * h

    total = 0.0
    e = xp.zeros(p["target_embedding.weight"].shape[1], dtype=xp.float64)
    for position, word in enumerate([*target, END]):
        if position > 0 or follow == "paper":
            h = transition(h, e)
        # s' = O_h h' + O_y y + O_c c; s_i = max(s'_2i, s'_2i+1); p = softmax(G_l G_r s).
        pieces = p["hidden_readout.weight"] @ h + p["hidden_readout.bias"]
        pieces = pieces + p["word_readout.weight"] @ e + p["context_readout.weight"] @ c
        s = xp.maximum(pieces[0::2], pieces[1::2])
        total = total + _log_softmax(p["output.weight"] @ (p["inner.weight"] @ s) + p["output.bias"], xp)[word]
        e = p["target_embedding.weight"][word] + p["target_embedding.bias"]
    return total


def cslm_log_probability(p: dict[str, Array], context: Sequence[int], following: int, xp: ModuleType) -> Array:
    """log p of the class ``following`` after the words ``context``: two rectified layers (section 4.1.2)."""
    stack = xp.concatenate if xp is np else xp.cat
    x = stack([p["projection"][word] for word in context])
    first = p["first.weight"] @ x + p["first.bias"]
    first = first * (first > 0)
    second = p["second.weight"] @ first + p["second.bias"]
    second = second * (second > 0)
    return _log_softmax(p["output.weight"] @ second + p["output.bias"], xp)[following]


def _log_softmax(logits: Array, xp: ModuleType) -> Array:
    shifted = logits - logits.max()
    return shifted - xp.log(xp.exp(shifted).sum())


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
