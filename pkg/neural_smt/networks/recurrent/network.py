"""The recurrent language model and the joint model (Auli et al. 2013, section 2), and their batches.

A batch is time-major and packed, so that there is no padding to mask. A token is a prediction: a word of a sentence or
its end.
"""

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from neural_smt.io.ragged import Ragged, offsets_of
from neural_smt.networks.device import table_rows
from neural_smt.networks.folder import SavedNetwork
from neural_smt.networks.packing import close, time_major
from neural_smt.networks.recurrence import kernels_of
from neural_smt.networks.recurrent.class_softmax import SoftmaxTargets, class_log_probabilities
from neural_smt.networks.recurrent.configuration import RecurrentConfig, WordClasses
from neural_smt.vocabulary import BOS


class Silence(NamedTuple):
    """What the units of each sentence are multiplied by in training with dropout, float32: ``[B, H]`` those of its
    embeddings and of its hidden states, ``[B, D]`` of its inputs.
    """

    embedding: Tensor
    hidden: Tensor
    inputs: Tensor


class SentenceBatch(NamedTuple):
    """reads: int64 ``[N]``, the word before each token; sizes: tokens of each step; starts: int64 ``[T + 1]``, how many
    there are before each step and in all; targets: what is predicted; inputs: int64 ``[N, slots]``, f of each token as
    rows of a table, of which ``table`` holds the vectors, float ``[R, dimensions]``, if the network has not learned
    them; tokens: int64 ``[N]``, the number of each token when they are counted sentence by sentence; order: int64
    ``[B]``, the sentence in each row; silence: of each row, None without dropout.
    """

    reads: Tensor
    sizes: list[int]
    starts: Tensor
    targets: SoftmaxTargets
    inputs: Tensor | None
    table: Tensor | None
    tokens: np.ndarray
    order: np.ndarray
    silence: Silence | None = None

    def silenced(self, part: str, units: Tensor) -> Tensor:
        """Units of all tokens, ``[N, units]``, without those that are silent; part: which of ``Silence``."""
        if self.silence is None:
            return units
        of_rows: Tensor = getattr(self.silence, part)
        return units * torch.cat([of_rows[:size] for size in self.sizes])


def pack_sentences(
    config: RecurrentConfig,
    classes: WordClasses,
    sentences: Ragged,
    rows: np.ndarray | None = None,
    table: Tensor | None = None,
) -> SentenceBatch:
    """Pack int32 sentences of word ids without boundaries, on the CPU.

    rows: int ``[tokens, slots]``, the rows of the table of inputs that make up f of each token, sentence by sentence;
    table: float ``[R, dimensions]``, or None where the network learns it; its vectors stay where it is.
    """
    if (rows is not None) != (config.inputs > 0):
        raise ValueError("rows of inputs are for models with auxiliary input, and these need them")
    order, alive, tokens = time_major(sentences)
    # the word of each token and those before it, latest first
    back, step = np.arange(max(config.direct_order, 2)), np.nonzero(alive)[0]
    words = np.where(back <= step[:, None], close(sentences)[np.maximum(tokens[:, None] - back, 0)], np.int32(BOS))
    inputs = None if rows is None else torch.from_numpy(rows[tokens].astype(np.int64))
    reads = torch.from_numpy(words[:, 1].astype(np.int64))
    targets = SoftmaxTargets.of(config, classes, words)
    sizes = alive.sum(axis=1)
    starts = torch.from_numpy(offsets_of(sizes))
    return SentenceBatch(reads, sizes.tolist(), starts, targets, inputs, table, tokens, order)


def _kernels(states: Tensor, weight: Tensor) -> Any:
    """The kernels for GPUs, if one of them has room for all steps of a recurrence, or None."""
    kernels = kernels_of(states)
    return kernels if kernels and kernels.keeps(len(weight)) else None


class Recurrence(torch.autograd.Function):
    """h_t = s(x_t + W h_{t-1}) over packed steps, with h_{-1} = 0; one product a step for W, one in all for its
    gradient.

    Backpropagation through time is truncated by cutting sentences into chunks of ``bptt`` steps: the state goes on from
    chunk to chunk, the gradient does not (0: sentences stay whole). So a sentence of up to ``bptt`` predictions is
    trained in full, and of a longer one each state sees errors of at least one and at most ``bptt`` steps. ``cutoff``
    limits every number of the error that reaches the sums of the hidden layer, as the RNNLM toolkit does (0: no limit).
    """

    @staticmethod
    def forward(ctx: Any, sums: Tensor, weight: Tensor, *rest: Any) -> Tensor:
        """sums: x, ``[N, H]``; weight: W, ``[H, H]``, outputs first; then rows of each step and those before it, see
        ``SentenceBatch``, and ``Backpropagation``. Returns ``[N, H]``.
        """
        sizes, starts, bptt, cutoff = rest
        states = torch.empty_like(sums)
        ctx.save_for_backward(states, weight, starts)
        ctx.sizes, ctx.bptt, ctx.cutoff = sizes, bptt, cutoff
        if kernels := _kernels(sums, weight):
            kernels.recur(sums.contiguous(), weight, starts, states, sizes[0])
            return states
        turned, start, before = weight.t(), 0, None
        for size in sizes:
            here = slice(start, start + size)
            if before is None:
                torch.sigmoid(sums[here], out=states[here])
            else:
                torch.addmm(sums[here], before[:size], turned, out=states[here]).sigmoid_()
            before, start = states[here], start + size
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        states, weight, starts = ctx.saved_tensors
        errors = torch.empty_like(states)
        if kernels := _kernels(states, weight):
            truncated = ctx.sizes[0], ctx.bptt, ctx.cutoff
            kernels.recur_back(gradient.contiguous(), states, weight, starts, errors, *truncated)
        else:
            _send_back(gradient.clone(), states, weight, errors, ctx)
        # row i of the later steps follows row i of the step before
        before = [states[sum(ctx.sizes[:step]) :][:size] for step, size in enumerate(ctx.sizes[1:])]
        d_weight = errors[ctx.sizes[0] :].t() @ torch.cat(before) if before else torch.zeros_like(weight)
        return errors, d_weight, None, None, None, None


def _send_back(gradient: Tensor, states: Tensor, weight: Tensor, errors: Tensor, ctx: Any) -> None:
    """Write the error of every state, ``[N, H]``, step by step; ``gradient`` is overwritten."""
    sizes, bptt, cutoff = ctx.sizes, ctx.bptt, ctx.cutoff
    later, start = None, len(states)
    for step in range(len(sizes) - 1, -1, -1):
        size = sizes[step]
        start -= size
        here = slice(start, start + size)
        if later is not None and not (bptt and (step + 1) % bptt == 0):
            gradient[start : start + len(later)].addmm_(later, weight)
        torch.ops.aten.sigmoid_backward.grad_input(gradient[here], states[here], grad_input=errors[here])
        if cutoff:
            errors[here].clamp_(-cutoff, cutoff)
        later = errors[here]


class Backpropagation(NamedTuple):
    """steps: of the chunks that errors stay in; cutoff: the largest error of a hidden unit (0: none of the kind); see
    ``Recurrence``.
    """

    steps: int = 0
    cutoff: float = 0.0


class RecurrentNetwork(SavedNetwork, nn.Module):
    """h_t = s(U w_t + W h_{t-1} + F f_t);  p = p(class) p(word | class), softmaxes of V h_t + G f_t + direct features.

    Parameters, ``V`` words, ``H`` units, ``D`` inputs, ``C`` classes: embedding (U transposed) ``[V, H]``; recurrent
    (W) ``[H, H]``, outputs first; input_hidden (F) ``[H, D]``; class_output and word_output (V and G side by side)
    ``[C, H + D]`` and ``[V - 1, H + D]``, a row for each unit of ``classes``; direct ``[direct_size]``; input_table
    ``[input_rows, dimensions]``. Those that the configuration does without are missing. There are no biases: the direct
    feature of the empty history is one.

    Weights start as sums of three numbers uniform within 0.1 of 0, as in the RNNLM toolkit, those of direct features at
    0. Scores are always float32; a lower precision rounds the products with F, and on a GPU those with the classes' V
    and G.
    """

    Config, tables = RecurrentConfig, ("embedding", "input_table", "direct")
    embedding: Tensor
    recurrent: Tensor
    input_hidden: Tensor
    class_output: Tensor
    word_output: Tensor
    input_table: Tensor
    direct: Tensor

    def __init__(self, config: RecurrentConfig, classes: WordClasses, seed: int = 0):
        super().__init__()
        if len(classes) != config.classes or len(classes.units) != config.words - 1:
            raise ValueError("the classes are not those of the configuration")
        self.config, self.classes, self.backpropagation = config, classes, Backpropagation()
        size = config.hidden + config.inputs
        shapes = {
            "embedding": (config.words, config.hidden),
            "recurrent": (config.hidden, config.hidden),
            "input_hidden": (config.hidden, config.inputs),
            "class_output": (config.classes, size),
            "word_output": (config.words - 1, size),
            "input_table": (config.input_rows, config.dimensions),
            "direct": (config.direct_size,),
        }
        random = np.random.default_rng(seed)
        for name, shape in shapes.items():
            if 0 not in shape:
                values = np.zeros(shape) if name == "direct" else random.uniform(-0.1, 0.1, (3, *shape)).sum(axis=0)
                self.register_parameter(name, nn.Parameter(torch.from_numpy(values.astype(np.float32))))
        self.offsets = nn.Buffer(torch.from_numpy(np.asarray(classes.offsets, dtype=np.int64)), persistent=False)
        self.no_direct = nn.Buffer(torch.zeros(0), persistent=False)

    def other_tensors(self) -> dict[str, Tensor]:
        """See ``SavedNetwork``: the word classes."""
        return {f"classes.{name}": torch.from_numpy(getattr(self.classes, name)) for name in ("units", "offsets")}

    @classmethod
    def build(cls, config: RecurrentConfig, tensors: dict[str, Tensor]) -> "RecurrentNetwork":
        """See ``SavedNetwork``."""
        units, offsets = (tensors.pop(f"classes.{name}").numpy() for name in ("units", "offsets"))
        return cls(config, WordClasses(units.astype(np.int32), offsets.astype(np.int64)))

    def forward(self, batch: SentenceBatch) -> Tensor:
        """Natural log p of every token of the batch: ``[N]``."""
        sums = batch.silenced("embedding", table_rows(self.embedding, batch.reads))
        inputs = batch.inputs
        if inputs is not None:
            table = self.input_table if batch.table is None else batch.table
            inputs = batch.silenced("inputs", table_rows(table, inputs).flatten(1))
            sums = sums + (inputs @ self.input_hidden.t()).to(sums.dtype)
        with torch.autocast(sums.device.type, enabled=False):
            states = Recurrence.apply(sums, self.recurrent, batch.sizes, batch.starts, *self.backpropagation)
        hidden = batch.silenced("hidden", states)
        known = hidden if inputs is None else torch.cat([hidden, inputs.to(hidden.dtype)], 1)
        direct = self.direct if self.config.direct_size else self.no_direct
        outputs = self.class_output, self.word_output, direct
        return class_log_probabilities(known, *outputs, self.offsets, batch.targets)

    def arrays(self) -> dict[str, np.ndarray]:
        """The weights as plain arrays, on the CPU."""
        return {name: parameter.detach().cpu().numpy() for name, parameter in self.named_parameters()}
