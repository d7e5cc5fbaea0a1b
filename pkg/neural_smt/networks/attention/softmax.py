"""The softmax over the target vocabulary of a batch: only its rows of the output weights are read and get gradients."""

import torch
from torch import Tensor, nn

from neural_smt.networks.attention.batches import BatchVocabulary
from neural_smt.networks.softmax import word_log_probabilities


class LimitedOutput(nn.Module):
    """The output layer of ``V`` target words: weight ``[V, R]``, bias ``[V]``.

    What is asked of a few words costs time and memory in proportion to these, not to ``V``: their rows are gathered,
    and the gradients of both parameters are sparse. Of all words they are dense.
    """

    def __init__(self, rank: int, words: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(words, rank))
        self.bias = nn.Parameter(torch.zeros(words))

    def rows(self, ids: Tensor | None) -> tuple[Tensor, Tensor]:
        """Weight ``[n, R]`` and bias ``[n]`` of the words ``ids`` (int64 ``[n]``), or of all."""
        if ids is None:
            return self.weight, self.bias
        weight = nn.functional.embedding(ids, self.weight, sparse=True)
        return weight, torch.gather(self.bias, 0, ids, sparse_grad=True)

    def forward(
        self, inner: Tensor, words: Tensor, rows: Tensor, vocabulary: BatchVocabulary | None, dtype: torch.dtype
    ) -> Tensor:
        """Natural log p of one word per row: ``[N]``.

        inner: z, ``[N, R]``; words: int64 ``[N]``, ids; rows: int64 ``[N]``, the sentence of each (for
        ``BatchVocabulary.allowed``); dtype: what the factors of matrix products are rounded to.
        """
        if vocabulary is None:
            return word_log_probabilities(inner, self.weight, self.bias, words, dtype)
        weight, bias = self.rows(vocabulary.ids)
        if vocabulary.allowed is None:
            return word_log_probabilities(inner, weight, bias, vocabulary.words, dtype)
        logits = (nn.functional.linear(inner, weight) + bias).to(inner.dtype)
        logits = logits.masked_fill(~vocabulary.allowed[rows], -torch.inf)
        return logits.gather(1, vocabulary.words[:, None])[:, 0] - logits.logsumexp(1)
