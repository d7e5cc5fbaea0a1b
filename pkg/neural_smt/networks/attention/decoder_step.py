"""One step of the decoder that looks at the source (Bahdanau et al. 2015, appendix A.1.2), without gradient."""

from typing import NamedTuple

import torch
from torch import Tensor

from neural_smt.networks.attention.groups import Groups
from neural_smt.networks.attention.scorer import energies
from neural_smt.networks.compiling import compilable
from neural_smt.networks.precision import affine


class Memory(NamedTuple):
    """What the decoder looks at, a row for each target row.

    annotations: h_j, ``[B, L, 2H]``; keys: A h_j, ``[B, L, K]``; padding: bool ``[B, L]``.
    """

    annotations: Tensor
    keys: Tensor
    padding: Tensor

    def take(self, rows: Tensor) -> "Memory":
        """Those of ``rows`` (int64), in that order."""
        return Memory(*(part.index_select(0, rows) for part in self))


class DecoderWeights(NamedTuple):
    """query: B, ``[K, H]``; energy: v, ``[K]``; context: C of the candidate, update and reset gates, ``[3H, 2H]``;
    gates: U of the update gate, then of the reset gate, ``[2H, H]``; candidate: U, ``[H, H]``.
    """

    query: Tensor
    energy: Tensor
    context: Tensor
    gates: Tensor
    candidate: Tensor

    def rounded(self, dtype: torch.dtype) -> "DecoderWeights":
        """The matrices as factors of ``dtype``, rounded once for all steps."""
        query, energy, *matrices = self
        return DecoderWeights(query.to(dtype), energy, *(matrix.to(dtype) for matrix in matrices))


def attend(queries: Tensor, memory: Memory, energy: Tensor, groups: Groups | None = None) -> tuple[Tensor, Tensor]:
    """alpha ``[n, L]`` (0 on padding) and c = sum_j alpha_j h_j ``[n, 2H]`` of the first ``n`` rows of the memory.

    queries: B s + C y*, ``[n, K]``; energy: v; e_j = v . tanh(keys_j + query). Without gradient, nothing rounded.
    groups: which row of the memory each looks at, in place of its own: a row is then not copied for each.
    """
    owner = None if groups is None else groups.owner
    weights = energies(queries, memory.keys, memory.padding, energy, owner).softmax(1)
    with torch.autocast(queries.device.type, enabled=False):
        if groups is not None:
            return weights, groups.times(weights, memory.annotations)
        return weights, torch.bmm(weights[:, None], memory.annotations[: len(queries)])[:, 0]


@compilable
def transition(inputs: Tensor, state: Tensor, weights: DecoderWeights) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The next state ``[n, H]`` of the gated unit, its gates ``[n, 2H]``, candidate, and r * h; without gradient."""
    hidden = state.shape[1]
    gates = affine(inputs[:, hidden:], state, weights.gates).sigmoid_()
    update, reset = gates[:, :hidden], gates[:, hidden:]
    gated = reset * state
    candidate = affine(inputs[:, :hidden], gated, weights.candidate).tanh_()
    return torch.lerp(state, candidate, update), gates, candidate, gated
