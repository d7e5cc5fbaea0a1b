"""The softmax over a large vocabulary: log-probabilities of given words, normalisers, logits of single words.

All work on a few rows of logits at a time, so that the exponentials find them in the processor's cache: behind a small
rank a softmax spends as much time on its exponentials as on its matrix product when every step (bias, largest,
exponential, sum) passes over the logits by itself.
"""

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from neural_smt.jit import kernel, leaf
from neural_smt.networks.device import MULTIPLE, PackedLayer, affine, missing, product, table_rows
from neural_smt.networks.primitives import ANY_ORDER, exponential
from neural_smt.networks.recurrence import kernels_of

BLOCK = 4096
"""Exponentials that are added up in float32; the sums of blocks are added up in float64.

How a processor adds up 15,003 of them at once is its own affair: with few lanes the sum was off by 3e-6. In blocks it
is exact to 2e-7, and takes 2 % longer than in one piece; blocks of 256 took 40 % longer.
"""


# A block is a function of its own, or it is not worked on several numbers at a time, which takes four times as long.
@leaf(**ANY_ORDER)
def _sum_block(logits: np.ndarray, bias: np.ndarray) -> np.float32:
    total = np.float32(0)
    for i in range(len(logits)):
        total += exponential(logits[i] + bias[i])
    return total


@leaf(**ANY_ORDER)
def _exponentiate_block(logits: np.ndarray, shift: np.float32, exponentials: np.ndarray) -> np.float32:
    for i in range(len(logits)):
        exponentials[i] = exponential(logits[i] - shift)
    total = np.float32(0)
    for i in range(len(logits)):
        total += exponentials[i]
    return total


@kernel
def _sums(logits: np.ndarray, bias: np.ndarray, sums: np.ndarray) -> None:
    for row in range(len(logits)):
        total = 0.0
        for start in range(0, len(bias), BLOCK):
            total += _sum_block(logits[row, start : start + BLOCK], bias[start : start + BLOCK])
        sums[row] = total


@kernel
def _exponentiate(logits: np.ndarray, shifts: np.ndarray, exponentials: np.ndarray, sums: np.ndarray) -> None:
    for row in range(len(logits)):
        total = 0.0
        for start in range(0, logits.shape[1], BLOCK):
            part = slice(start, start + BLOCK)
            total += _exponentiate_block(logits[row, part], shifts[row], exponentials[row, part])
        sums[row] = total


def sum_exponentials(logits: Tensor, bias: Tensor, sums: Tensor) -> None:
    """``sums[i]`` = sum_v e^(logits[i, v] + bias[v]): ``[N, V]``, ``[V]`` -> ``[N]``, float32 on the CPU, contiguous.

    Exact to 1e-6 as long as every exponent that matters lies within [-87, 88]; the others count as those limits, so
    that a sum beyond e^88 comes out as at least that and one below e^-87 never as less. Not a number counts as 88.
    """
    _sums(logits.detach().numpy(), bias.detach().numpy(), sums.numpy())


def exponentiate(logits: Tensor, shifts: Tensor, exponentials: Tensor, sums: Tensor) -> None:
    """``exponentials[i, v]`` = e^(logits[i, v] - shifts[i]) and the sums of its rows; as above."""
    _exponentiate(logits.detach().numpy(), shifts.detach().numpy(), exponentials.numpy(), sums.numpy())


TILE = 1 << 20
"""Logits computed at a time on a CPU (4 MiB of float32)."""

SAFE = 60.0
"""Log normalisers of at most this absolute value come from sums far from overflow and underflow in float32."""


class _WordLogProbabilities(torch.autograd.Function):
    """log softmax(weight z + bias)[word]; keeps the exponentials and leaves their division to the small factors."""

    @staticmethod
    def forward(ctx: Any, inner: Tensor, weight: Tensor, bias: Tensor, words: Tensor, *rest: Any) -> Tensor:
        dtype, chances = rest
        if chances is not None:
            bias = bias - chances.log()
        ctx.words, ctx.dtype = len(weight), dtype
        if further := missing(weight, len(weight)):
            # words of probability 0
            weight = nn.functional.pad(weight, (0, 0, 0, further))
            bias = nn.functional.pad(bias, (0, further), value=-torch.inf)
        filled = -len(inner) % MULTIPLE if _in_one_pass(inner) else 0
        # as many rows as other batches have, of which the last count nothing
        exponentials = inner.new_empty(len(inner) + filled, len(weight))
        exponentials[len(inner) :] = 0
        normalisers = inner.new_empty(len(inner))
        chosen = inner.new_empty(len(inner))
        tile = len(inner) if inner.is_cuda else max(TILE // len(weight), 16)
        for start in range(0, len(inner), tile):
            here = slice(start, min(start + tile, len(inner)))
            logits = affine(bias, inner[here], weight, dtype=dtype)
            largest = logits.amax(1)
            chosen[here] = logits.gather(1, words[here, None])[:, 0] - largest
            if _in_one_pass(logits):
                exponentiate(logits, largest, exponentials[here], normalisers[here])
            else:
                torch.exp(logits.sub_(largest[:, None]), out=exponentials[here])
                torch.sum(exponentials[here], 1, out=normalisers[here])
        if chances is not None:
            # a row's own word counts once, as it is among the words of its batch for certain
            own, rows = words[:, None], exponentials[: len(inner)]
            sampled = rows.gather(1, own)
            once = sampled * chances[own]
            rows.scatter_(1, own, once)
            normalisers += (once - sampled)[:, 0]
            chosen += chances.log()[words]
        ctx.save_for_backward(inner, weight, words, exponentials, normalisers)
        return chosen - normalisers.log()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_output: Tensor) -> tuple[Tensor | None, ...]:
        inner, weight, words, exponentials, normalisers = ctx.saved_tensors
        share = (d_output / normalisers)[:, None]
        d_inner = product(exponentials, weight, ctx.dtype)[: len(inner)].mul_(-share)
        d_inner.addcmul_(weight.index_select(0, words), d_output[:, None])
        scaled = torch.cat((inner, torch.ones_like(share)), 1)
        width = scaled.shape[1]
        further = missing(scaled, width), len(exponentials) - len(inner)
        filled = nn.functional.pad(scaled * -share, (0, further[0], 0, further[1]))
        d_weight = product(exponentials.t(), filled, ctx.dtype)[: ctx.words, :width]
        d_weight.index_add_(0, words, scaled * d_output[:, None])
        return d_inner, d_weight[:, :-1], d_weight[:, -1], None, None, None


class _ByKernels(torch.autograd.Function):
    """The same on a GPU, in float32: of the logits, which are kept, a kernel makes what is asked for, and another one
    their gradient, rounded to ``dtype``.
    """

    @staticmethod
    def forward(ctx: Any, inner: Tensor, weight: Tensor, bias: Tensor, words: Tensor, *rest: Any) -> Tensor:
        dtype, chances = rest
        factors = [inner.to(dtype), weight.to(dtype)]
        if further := missing(weight, len(weight)):
            factors[1] = nn.functional.pad(factors[1], (0, 0, 0, further))
        logits = product(factors[0], factors[1].t(), dtype, inner.dtype)
        scores, normalisers = (inner.new_empty(len(inner)) for _ in range(2))
        kernels_of(inner).softmax(logits, bias, chances, words, normalisers, scores)
        ctx.save_for_backward(logits, bias, words, normalisers, *factors)
        ctx.chances = chances
        return scores

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_output: Tensor) -> tuple[Tensor | None, ...]:
        logits, bias, words, normalisers, inner, weight = ctx.saved_tensors
        d_logits = inner.new_empty(logits.shape)
        arguments = words, normalisers, d_output.contiguous(), d_logits
        kernels_of(logits).softmax_back(logits, bias, ctx.chances, *arguments)
        d_inner = product(d_logits, weight, inner.dtype, logits.dtype)
        d_weight = product(d_logits.t(), inner, inner.dtype, logits.dtype)[: len(bias)]
        return d_inner, d_weight, d_logits.sum(0, dtype=bias.dtype)[: len(bias)], None, None, None


def _in_one_pass(logits: Tensor) -> bool:
    """Whether there is a kernel for these logits: one thread of it beats several of PyTorch's."""
    return logits.dtype == torch.float32 and logits.device.type == "cpu"


def word_log_probabilities(
    inner: Tensor, weight: Tensor, bias: Tensor, words: Tensor, dtype: torch.dtype, chances: Tensor | None = None
) -> Tensor:
    """Natural log of softmax(weight z + bias) at one word per row, differentiable: ``[N]``.

    inner: z, ``[N, R]``; weight: ``[V, R]``; bias: ``[V]``; words: int64 ``[N]``; dtype: what the factors of matrix
    products are rounded to; chances: ``[V]`` where these are words drawn from a larger vocabulary, how likely each was
    to be among them. The sum over that vocabulary is then estimated, without bias: e to the logit of each word drawn is
    divided by its chance, but for the row's own word (importance sampling, Bengio and Senecal 2008).
    """
    function = _ByKernels if kernels_of(inner) else _WordLogProbabilities
    return function.apply(inner, weight, bias, words, dtype, chances)


def smoothed(
    scores: Tensor, inner: Tensor, weight: Tensor, bias: Tensor, words: Tensor, share: float,
    offsets: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """What label smoothing makes of log-probabilities: (1 - share) log p(word) + share times the mean of log p over the
    ``V`` words that it was predicted from; arguments as above. offsets: ``[V]``, 0, of padding minus infinity.
    """
    own = (inner * weight[words]).sum(1) + bias[words]
    shares = torch.ones_like(bias) if offsets is None else offsets.exp()
    shares = shares / shares.sum()
    mean = inner @ (shares[:, None] * weight).sum(0) + (shares * bias).sum()
    return scores + share * (mean - own)


class Sample(NamedTuple):
    """Words of the vocabulary that a batch is predicted from in place of all.

    ids: int64 ``[n]``, distinct and rising; words: int64 ``[N]``, where the word of each row stands among them;
    chances: float32 ``[n]``, how likely each was to be among them.
    """

    ids: Tensor
    words: Tensor
    chances: Tensor


class OutputLayer(nn.Module):
    """The output layer of ``V`` target words: weight ``[V, R]``, bias ``[V]``.

    What is asked of a few words costs time and memory in proportion to these, not to ``V``: their rows are gathered,
    and the gradients of both parameters are those of ``table_rows``. Of all words they are dense.
    """

    def __init__(self, rank: int, words: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(words, rank))
        self.bias = nn.Parameter(torch.zeros(words))

    def rows(self, ids: Tensor | None) -> tuple[Tensor, Tensor]:
        """Weight ``[n, R]`` and bias ``[n]`` of the words ``ids`` (int64 ``[n]``), or of all."""
        if ids is None:
            return self.weight, self.bias
        return table_rows(self.weight, ids), table_rows(self.bias, ids)

    def scores(
        self, inner: Tensor, ids: Tensor | None, places: Tensor, dtype: torch.dtype, chances: Tensor | None = None,
        smoothing: float = 0.0, offsets: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        """Natural log p of one word per row, ``[N]``, with smoothing what label smoothing makes of it.

        inner: z, ``[N, R]``; ids: as for ``rows``; places: int64 ``[N]``, where the word stands among these; dtype,
        chances: as for ``word_log_probabilities``; offsets: see ``BatchVocabulary``.
        """
        weight, bias = self.rows(ids)
        arguments = weight, bias if offsets is None else bias + offsets, places
        scores = word_log_probabilities(inner, *arguments, dtype, chances)
        return smoothed(scores, inner, weight, bias, places, smoothing, offsets) if smoothing else scores


def log_normalisers(
    inner: Tensor, weight: Tensor, bias: Tensor, buffer: Tensor, packed: PackedLayer | None = None
) -> Tensor:
    """log sum_v exp(weight z + bias)_v of every row of ``inner``: ``[N]``, without gradient.

    weight: in the type that the factors of products are rounded to; buffer: ``[rows, V]``, overwritten; it sets how
    many rows are computed at a time; packed: the product with the weight, where it is packed. The exponentials are
    summed as they are: in floating point that is as exact as subtracting the largest logit first, unless the sum
    overflows or nearly vanishes. Rows where it does are computed again the careful way, as all are on a GPU, which the
    processor would have to wait for to learn which rows.
    """
    if inner.is_cuda:
        parts = [(rows, buffer[: len(rows)]) for rows in inner.split(len(buffer))]
        return torch.cat([affine(bias, rows, weight, logits, weight.dtype).logsumexp(1) for rows, logits in parts])
    output = inner.new_empty(len(inner))
    for start in range(0, len(inner), len(buffer)):
        rows, sums = inner[start : start + len(buffer)], output[start : start + len(buffer)]
        logits = buffer[: len(rows)]
        if packed is not None:
            sum_exponentials(packed(rows), bias, sums)
        elif not _in_one_pass(logits):
            torch.sum(affine(bias, rows, weight, logits, weight.dtype).exp_(), 1, out=sums)
        else:
            sum_exponentials(product(rows, weight.t(), weight.dtype), bias, sums)
    output.log_()
    for numbers in torch.nonzero(~(output.abs() < SAFE))[:, 0].split(len(buffer)):
        rows, logits = inner[numbers], buffer[: len(numbers)]
        logits = affine(bias, rows, weight, logits, weight.dtype) if packed is None else packed(rows).add_(bias)
        output[numbers] = logits.logsumexp(1)
    return output


@kernel(fastmath={"contract", "reassoc", "nsz"})
def _choose(
    inner: np.ndarray, weight: np.ndarray, bias: np.ndarray, numbers: np.ndarray, classes: np.ndarray
) -> np.ndarray:
    logits = np.empty(len(numbers), dtype=np.float32)
    for i in range(len(numbers)):
        z, row = inner[numbers[i]], weight[classes[i]]
        total = np.float32(0)
        for r in range(len(z)):
            total += z[r] * row[r]
        logits[i] = total + bias[classes[i]]
    return logits


def choose_logits(inner: Tensor, weight: Tensor, bias: Tensor, numbers: Tensor, classes: Tensor) -> Tensor:
    """(weight z + bias) of one class per n-gram, ``[Q]``, without gradient.

    inner: z of each context, ``[C, R]``; weight, bias: ``[V, R]``, ``[V]``; numbers, classes: int64 ``[Q]``, the
    context and the class of each n-gram.
    """
    if inner.device.type == "cpu" and inner.dtype == weight.dtype == torch.float32:
        arrays = (tensor.detach().contiguous().numpy() for tensor in (inner, weight, bias, numbers, classes))
        return torch.from_numpy(_choose(*arrays))
    return (inner[numbers] * weight[classes]).sum(1) + bias[classes]
