"""Layers with weights that stay as they are, packed once for oneDNN's matrix product.

By default PyTorch calls MKL for float32, which takes more than twice as long on processors that are not Intel's.
"""

import torch
from torch import Tensor


class PackedLayer:
    """weight x + bias, rectified if asked for, without gradient: ``[N, inputs]`` -> ``[N, outputs]``.

    weight: ``[outputs, inputs]``; bias: ``[outputs]`` or none; rows: how many x are usual. ``None`` instead of a layer
    (``pack``) where PyTorch cannot pack: on a GPU, in other types than float32, or where it was built without oneDNN.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None, rows: int, rectified: bool = False):
        self.packed = torch.ops.mkldnn._reorder_linear_weight(weight.detach().contiguous(), rows)
        self.bias = None if bias is None else bias.detach()
        self.activation = "relu" if rectified else "none"

    def __call__(self, inputs: Tensor) -> Tensor:
        return torch.ops.mkldnn._linear_pointwise(inputs, self.packed, self.bias, self.activation, [], "")


def pack(weight: Tensor, bias: Tensor | None, rows: int, rectified: bool = False) -> PackedLayer | None:
    """The packed layer, or None where there is none (see ``PackedLayer``)."""
    # These functions are what PyTorch's compiler calls; they are not among its documented ones.
    offered = torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")
    if not offered or weight.device.type != "cpu" or weight.dtype != torch.float32:
        return None
    return PackedLayer(weight, bias, rows, rectified)
