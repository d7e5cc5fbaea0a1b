"""The network of the recurrent language model and the joint model (Auli et al. 2013, section 2)."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from neural_smt.networks.recurrent.class_softmax import class_log_probabilities
from neural_smt.networks.recurrent.configuration import RecurrentConfig, WordClasses
from neural_smt.networks.recurrent.packing import SentenceBatch
from neural_smt.networks.recurrent.recurrence import Recurrence
from neural_smt.networks.recurrent.weights import RecurrentWeights


class Backpropagation(NamedTuple):
    """steps: of the chunks that errors stay in; cutoff: the largest error of a hidden unit (0: none of the kind); see
    ``Recurrence``.
    """

    steps: int = 0
    cutoff: float = 0.0


class RecurrentNetwork(nn.Module):
    """h_t = s(U w_t + W h_{t-1} + F f_t);  p = p(class) p(word | class), softmaxes of V h_t + G f_t + direct features.

    Parameters, ``V`` words, ``H`` units, ``D`` inputs, ``C`` classes: embedding (U transposed) ``[V, H]``; recurrent
    (W) ``[H, H]``, outputs first; input_hidden (F) ``[H, D]``; class_output and word_output (V and G side by side)
    ``[C, H + D]`` and ``[V - 1, H + D]``, a row for each unit of ``classes``; direct ``[direct_size]``; input_table
    ``[input_rows, dimensions]``. Those that the configuration does without are missing. There are no biases: the direct
    feature of the empty history is one.

    Weights start as sums of three numbers uniform within 0.1 of 0, as in the RNNLM toolkit, those of direct features at
    0. Scores are always float32; a lower precision rounds only the products with F, V and G on a GPU.
    """

    def __init__(self, config: RecurrentConfig, classes: WordClasses, seed: int = 0):
        super().__init__()
        if len(classes) != config.classes or len(classes.units) != config.words - 1:
            raise ValueError("the classes are not those of the configuration")
        self.config = config
        self.classes = classes
        self.backpropagation = Backpropagation()
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
        self.register_buffer("offsets", torch.from_numpy(np.asarray(classes.offsets, dtype=np.int64)), False)
        self.register_buffer("no_direct", torch.zeros(0), False)

    def forward(self, batch: SentenceBatch) -> Tensor:
        """Natural log p of every token of the batch: ``[N]``."""
        sums = nn.functional.embedding(batch.reads, self.embedding, sparse=True)
        inputs = batch.inputs
        if inputs is not None:
            if self.config.input_rows:
                inputs = nn.functional.embedding(inputs, self.input_table, sparse=True).flatten(1)
            sums = sums + (inputs @ self.input_hidden.t()).to(sums.dtype)
        with torch.autocast(sums.device.type, enabled=False):
            hidden = Recurrence.apply(sums, self.recurrent, batch.sizes, *self.backpropagation)
        known = hidden if inputs is None else torch.cat([hidden, inputs.to(hidden.dtype)], 1)
        direct = self.direct if self.config.direct_size else self.no_direct
        outputs = self.class_output, self.word_output, direct
        return class_log_probabilities(known, *outputs, self.offsets, batch.targets)

    def arrays(self) -> RecurrentWeights:
        """The weights as plain arrays, on the CPU."""
        weights = {name: parameter.detach().cpu().numpy() for name, parameter in self.named_parameters()}
        return RecurrentWeights.of(self.config, self.classes, weights)
