"""Rows that share something: the hypotheses of a beam, which look at the same source sentence."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from neural_smt.networks.beams import places_within


class Groups(NamedTuple):
    """``n`` rows of ``S`` sentences, at most ``B`` of each.

    owner: int64 ``[n]``, rising, the sentence of each row; place: int64 ``[n]``, its place among those of its sentence;
    sentences: S; largest: B.
    """

    owner: Tensor
    place: Tensor
    sentences: int
    largest: int

    @classmethod
    def of(cls, owner: np.ndarray, sentences: int, device: torch.device) -> "Groups":
        """Those of int64 ``[n]``, n of at least 1, rising, below ``sentences``."""
        place = places_within(owner)
        tensors = (torch.from_numpy(np.ascontiguousarray(part)).to(device) for part in (owner, place))
        return cls(*tensors, sentences, int(place.max()) + 1)

    def times(self, rows: Tensor, matrices: Tensor) -> Tensor:
        """Each row ``[n, X]`` times the matrix of its sentence, ``[S, X, Y]``: ``[n, Y]``.

        A matrix is read once for all rows of its sentence, and none is copied.
        """
        spread = rows.new_zeros(self.sentences, self.largest, rows.shape[1])
        spread[self.owner, self.place] = rows
        return torch.bmm(spread, matrices)[self.owner, self.place]
