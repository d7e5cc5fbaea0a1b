"""What prefixes of translations read of their sentences: the annotations and the target words."""

import numpy as np
import torch
from torch import Tensor

from neural_smt.decoding.attention.outputs import OutputWords
from neural_smt.io.ragged import Ragged
from neural_smt.networks.attention.batches import pack_sentences
from neural_smt.networks.attention.groups import Groups
from neural_smt.networks.attention.network import AttentionNetwork


class SentenceBatch:
    """``S`` source sentences (at least one) that are read once for all prefixes and steps.

    initial: s_0, ``[S, H]``; memory, output: of the sentences that ``groups`` was last asked about, and maybe others.
    """

    def __init__(self, network: AttentionNetwork, source: Ragged, output: OutputWords):
        self.device = network.output.weight.device
        packed, layout, order = pack_sentences(source, self.device)
        rows = self.tensor(np.argsort(order))
        initial, memory = network.encode(packed, layout)
        self.initial, self.memory, self.output = initial[rows], memory.take(rows), output
        self._present = np.arange(len(source))  # the sentence of each row of the memory and of the output

    def groups(self, owner: np.ndarray) -> Groups:
        """Which row of the memory and of the output each prefix needs, after leaving out those that none needs.

        owner: int64 ``[n]``, rising, the sentence of each; a sentence that is missing is never asked about again.
        """
        needed = np.unique(owner)
        if 2 * len(needed) <= len(self._present):  # not at every step: leaving out copies the rest
            rows = self.tensor(np.searchsorted(self._present, needed))
            self.memory, self.output, self._present = self.memory.take(rows), self.output.take(rows), needed
        return Groups.of(np.searchsorted(self._present, owner), len(self._present), self.device)

    def tensor(self, array: np.ndarray) -> Tensor:
        """int64, where the network is."""
        return torch.from_numpy(np.ascontiguousarray(array, dtype=np.int64)).to(self.device)
