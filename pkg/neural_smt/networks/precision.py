"""Matrix products that may round their factors to bfloat16 but always give float32 (or the factors' double)."""

import torch
from torch import Tensor


def product(left: Tensor, right: Tensor, dtype: torch.dtype) -> Tensor:
    """``left @ right`` with both factors rounded to ``dtype``, in the precision of ``left``."""
    if left.dtype == dtype:
        return left @ right
    return (left.to(dtype) @ right.to(dtype)).to(left.dtype)


def affine(offset: Tensor, factor: Tensor, weight: Tensor, out: Tensor | None = None) -> Tensor:
    """``offset + factor @ weight.T`` in the precision of ``factor``; the product is rounded like ``offset``."""
    if offset.dtype == factor.dtype:
        return torch.addmm(offset, factor, weight.t(), out=out)
    return torch.add(offset, product(factor, weight.t(), offset.dtype), out=out)
