"""The CSLM (Schwenk 2007) as Cho et al. (2014, section 4.1.2) built it: network, folder and scorer.

The scorer asks the network for the words of its shortlist; for all others a back-off n-gram model, or the network too.
"""

import copy
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from neural_smt.errors import UserError
from neural_smt.language_model.model import NgramModel, context_states, score_ngrams, word_mass
from neural_smt.networks.device import Linear, linear, pack, precision_context, table_rows, uploaded
from neural_smt.networks.distinct import number_rows
from neural_smt.networks.folder import DrawnNetwork, NetworkConfig, Trained
from neural_smt.networks.normalisers import FingerprintCache, NormaliserEstimate, Normalisers
from neural_smt.networks.softmax import choose_logits, word_log_probabilities
from neural_smt.shortlist import shortlist_ids
from neural_smt.vocabulary import BOS, EOS, UNK, Vocabulary

OUTSIDE = 0
"""The class of all words outside the shortlist."""

LEAST = 1e-9
"""What an n-gram model leaves the shortlist at least, should its probabilities of other words add up to more than 1."""


def word_classes(words: np.ndarray) -> np.ndarray:
    """The class that the softmax has for each shortlist id, same dtype: ids without ``BOS``, which is never predicted.

    0 (``OUTSIDE``) is the class of ``UNK``, 1 that of ``EOS``, then the words.
    """
    return np.maximum(words - BOS, OUTSIDE)


@dataclass(frozen=True)
class CslmConfig(NetworkConfig):
    """Sizes of a CSLM; the defaults are those of Cho et al. (2014, section 4.1.2).

    words: entries of the shortlist, reserved ones included; order: n, so that n - 1 words are read; projection:
    dimensions of a word; layers: units of the two rectified layers; initial_range: initial weights lie uniformly within
    this distance of 0.
    """

    kind, title, sides = "cslm", "a CSLM", ("target",)

    words: int
    order: int = 7
    projection: int = 512
    layers: tuple[int, int] = (1536, 1024)
    initial_range: float = 0.01

    @property
    def history(self) -> int:
        """n - 1: the words read."""
        return self.order - 1


class NgramBatch(NamedTuple):
    """contexts: int64 ``[N, n - 1]``, shortlist ids, oldest word first; classes: int64 ``[N]``, of the next words."""

    contexts: Tensor
    classes: Tensor


class CslmNetwork(DrawnNetwork, nn.Module):
    """One projection for all positions, two rectified layers, a softmax over the shortlist.

    For words w_1 ... w_{n-1}:  x = (P w_1, ..., P w_{n-1});  h_1 = max(0, W_1 x + b_1);  h_2 = max(0, W_2 h_1 + b_2);
    p = softmax(W_3 h_2 + b_3). ``D`` dimensions, ``H_1`` and ``H_2`` units, ``V`` shortlist entries; weights are stored
    as ``[outputs, inputs]``. The softmax has V - 1 classes (``word_classes``): every word of the shortlist, the end of
    the sentence, and, as in the CSLM toolkit, one more that stands for all words outside the shortlist. The paper does
    not say whether its network had that class. With it the probability of a word is the one it has in running text and
    not the one it has given that a word of the shortlist follows, so that scores of whole sentences can be compared.

    Weights start uniformly within ``initial_range`` of 0 (section 4.1.2), biases, which the paper does not name, at 0.
    """

    Config, tables = CslmConfig, ("projection",)

    def __init__(self, config: CslmConfig, seed: int | None = 0):
        super().__init__()
        self.config = config
        first, second = config.layers
        # P
        self.projection = nn.Parameter(torch.empty(config.words, config.projection))
        # W_1, W_2, W_3 and their biases
        self.first = Linear(config.history * config.projection, first)
        self.second, self.output = Linear(first, second), Linear(second, config.words - 1)
        if seed is not None:  # else weights will be loaded
            self._initialise(np.random.default_rng(seed))

    @torch.no_grad()
    def _initialise(self, random: np.random.Generator) -> None:
        width = self.config.initial_range
        for name, parameter in self.named_parameters():
            shape = tuple(parameter.shape)
            values = np.zeros(shape) if name.endswith("bias") else random.uniform(-width, width, shape)
            parameter.copy_(torch.from_numpy(values))

    def forward(self, batch: NgramBatch) -> Tensor:
        """Natural log p(class | context) of every n-gram: ``[N]``."""
        projected = table_rows(self.projection, batch.contexts)
        sums = self.first(projected.flatten(1))
        second = self.before_softmax(sums.relu())
        return word_log_probabilities(second, self.output.weight, self.output.bias, batch.classes, sums.dtype)

    def before_softmax(self, first: Tensor) -> Tensor:
        """h_2 of h_1: ``[N, H_1]`` -> ``[N, H_2]``, in the precision of the weights."""
        return self.second(first).relu().to(self.output.weight.dtype)


LN_10 = math.log(10)

TABLE_BYTES = 1 << 30
"""Memory that the table of first-layer terms may take; larger ones are not made."""

CONTEXT_ROWS = {"cpu": 2048, "cuda": 32768}
"""Distinct contexts that go through the network together."""


class FirstLayer:
    """W_1 (P w_1, ..., P w_{n-1}) + b_1 of a network, without gradient, as fast as memory allows.

    Each position of the context has its own slice of W_1, so the layer is a sum of one row per position out of a table
    of all words' products with all slices, ``[(n - 1) V, H_1]``: n - 1 rows are read where ``2 (n - 1) D H_1``
    operations would be needed. The table is made once, in the type to which matrix products are rounded, unless it
    would take more than ``TABLE_BYTES``; then the product is computed as it stands.
    """

    def __init__(self, network: CslmNetwork, dtype: torch.dtype):
        config = network.config
        self.projection, self.weight = network.projection.detach(), network.first.weight.detach()
        self.offsets = torch.arange(config.history, device=network.projection.device) * config.words
        self.bias = network.first.bias.detach()
        self.table: Tensor | None = None
        if config.history * config.words * config.layers[0] * dtype.itemsize <= TABLE_BYTES:
            slices = self.weight.view(config.layers[0], config.history, config.projection)
            projection = self.projection.to(dtype)
            products = [projection @ slices[:, position].t().to(dtype) for position in range(config.history)]
            self.table = torch.cat(products)

    def __call__(self, contexts: Tensor) -> Tensor:
        """h_1 of shortlist ids, int64 ``[N, words read]``: ``[N, H_1]``."""
        if self.table is None:
            projected = torch.nn.functional.embedding(contexts, self.projection).flatten(1)
            return linear(projected, self.weight, self.bias).relu_()
        sums = torch.nn.functional.embedding_bag(contexts + self.offsets, self.table, mode="sum")
        return sums.to(self.bias.dtype).add_(self.bias).relu_()

    def reading(self, words: int, contexts: Tensor) -> "FirstLayer":
        """This layer of the last ``words`` words alone, with the mean of those before, over ``contexts`` (int64
        ``[N, n - 1]``), in their place.
        """
        other = copy.copy(self)
        before = contexts.shape[1] - words
        if before > 0:
            size = before * self.projection.shape[1]
            mean = torch.nn.functional.embedding(contexts[:, :before], self.projection).mean(0).flatten()
            other.bias = self.bias + self.weight[:, :size] @ mean
            other.weight, other.offsets = self.weight[:, size:], self.offsets[before:]
        return other


@dataclass(eq=False)
class CslmScorer:
    """A trained CSLM with the n-gram model that scores words outside its shortlist, as a function of n-grams.

    Words of the shortlist, and the end of the sentence, get the network's probability as it is, of which the class of
    all other words has had its share: the toolkit's default. ``out_of_shortlist`` says what words outside the shortlist
    get, copied words too:

    - backoff: the n-gram model's probability, with all the context that it can use;
    - renormalise: the same, and words of the shortlist get the formula of the toolkit's option, p(w) / (1 - p(outside))
      times what the n-gram model leaves them of 1 in that context: all words together have probability 1;
    - penalty: the network's probability of the class of all such words, p([UNK]), which overestimates that of each; the
      feature ``unknown_penalty`` counteracts it (Cho et al. 2014, footnote 3).

    history: n - 1; vocabulary: the target vocabulary of the experiment, whose ids it takes, and of which the n-gram
    model must be (``UserError``); precision: auto (bf16 on CUDA, else fp32), fp32 or bf16; cache: contexts whose exact
    normalisers are remembered. Threads may call it at the same time.
    """

    trained: Trained[CslmNetwork]
    language_model: NgramModel
    vocabulary: Vocabulary
    precision: str = "auto"
    out_of_shortlist: str = "backoff"
    cache: int = 0

    def __post_init__(self) -> None:
        if self.language_model.vocabulary_digest != self.vocabulary.digest:
            raise UserError("the language model was made for another vocabulary than the CSLM's text; build it again")
        self.network = network = self.trained.network
        self.history, self.device = network.config.history, network.projection.device
        # One entry more than the vocabulary: copied words lie beyond it.
        self.ids = np.append(shortlist_ids(self.vocabulary, self.trained.target), np.int32(UNK))
        self.ids[[BOS, EOS]] = BOS, EOS
        self.classes = word_classes(self.ids)
        with torch.no_grad(), precision_context(self.device, self.precision):
            # What autocast would round to, found out by asking it.
            self.dtype = network.second(network.first.bias[None]).dtype
            self.first_layer = FirstLayer(network, self.dtype)
        renormalise = self.out_of_shortlist == "renormalise"
        # The renormalised network knows nothing of the class of other words.
        self.skipped = 1 if renormalise else 0
        self.weight = network.output.weight.detach()[self.skipped :].to(self.dtype)
        self.bias = network.output.bias.detach()[self.skipped :]
        self.log_mass: np.ndarray | None = None
        if renormalise:
            outside = np.unique(self.language_model.arrays.lexicon[self.classes[:-1] == OUTSIDE])
            self.log_mass = np.log(np.maximum(1 - word_mass(self.language_model, outside), LEAST))
        second, fp32 = network.second, self.dtype == torch.float32
        self.second_layer = pack(second.weight, second.bias, CONTEXT_ROWS["cpu"], True) if fp32 else None
        self.normalisers: Normalisers | NormaliserEstimate = Normalisers(self.weight, self.bias)
        self.known = FingerprintCache(self.cache)

    def __call__(self, contexts: np.ndarray, words: np.ndarray) -> np.ndarray:
        """float64 ``[Q]``: natural log p(word | context).

        contexts: int32 ``[Q, history]``, ids of the vocabulary, oldest word first, ``BOS`` at the start of a sentence
        and before it; words: int32 ``[Q]``, ``EOS`` for the end; copied words are ids beyond the vocabulary.
        """
        contexts, words = (np.asarray(array, dtype=np.int32) for array in (contexts, words))
        if contexts.shape != (len(words), self.history):
            raise ValueError(f"{len(words)} words need contexts of {self.history} words, not of shape {contexts.shape}")
        last = len(self.ids) - 1
        classes = self.classes[np.minimum(words, last)]
        inside = (classes != OUTSIDE) | (self.out_of_shortlist == "penalty")
        scores = np.empty(len(words))
        scores[~inside] = LN_10 * score_ngrams(self.language_model, contexts[~inside], words[~inside])
        if inside.any():
            contexts = contexts[inside]
            scores[inside] = self._network_scores(self.ids[np.minimum(contexts, last)], classes[inside] - self.skipped)
            if self.log_mass is not None:
                scores[inside] += self.log_mass[context_states(self.language_model, contexts)]
        return scores

    def _network_scores(self, contexts: np.ndarray, classes: np.ndarray) -> np.ndarray:
        """float64 ``[Q]``: the network's log-probabilities; each distinct context goes through it once."""
        numbers, first = number_rows(contexts)
        # The n-grams of a chunk of contexts stand together.
        order = np.argsort(numbers, kind="stable")
        numbers = numbers[order]
        scores = np.empty(len(numbers))
        rows = CONTEXT_ROWS[self.device.type]
        for start in range(0, len(first), rows):
            begin, end = np.searchsorted(numbers, (start, start + rows))
            chunk, ngrams = contexts[first[start : start + rows]], order[begin:end]
            owner, chosen, ids = self._tensors(numbers[begin:end] - start, classes[ngrams], chunk)
            # Gradient mode and autocast belong to a thread.
            with torch.no_grad(), precision_context(self.device, self.precision):
                inner = self._before_softmax(ids)
                totals = self._normalisers(inner, chunk)
                logits = choose_logits(inner, self.weight, self.bias, owner, chosen)
                scores[ngrams] = (logits - totals[owner]).double().cpu().numpy()
        return scores

    def _before_softmax(self, contexts: Tensor) -> Tensor:
        """h_2 of shortlist ids, int64 ``[C, history]``: ``[C, H_2]``."""
        first = self.first_layer(contexts)
        return self.network.before_softmax(first) if self.second_layer is None else self.second_layer(first)

    def _normalisers(self, inner: Tensor, contexts: np.ndarray) -> Tensor:
        """``[C]`` of h_2 of these contexts. Exact ones are remembered; estimates, and all on a GPU, are as soon made as
        found.
        """
        if isinstance(self.normalisers, NormaliserEstimate) or inner.is_cuda:
            return self.normalisers(inner)

        def compute(rows: np.ndarray) -> np.ndarray:
            return self.normalisers(inner[torch.from_numpy(rows)]).double().numpy()

        return torch.from_numpy(self.known.values(contexts, compute)[0]).to(inner)

    def estimating(self, contexts: np.ndarray, words: int | None = None) -> "CslmScorer":
        """This scorer with estimated normalisers, fitted to the exact ones of ``contexts``, int32 ``[N, history]``.

        words: last words of a context that it reads (all without), with the mean of those before in their place.
        """
        other = copy.copy(self)
        other.history = self.history if words is None else min(words, self.history)
        with torch.no_grad(), precision_context(self.device, self.precision):
            (ids,) = self._tensors(self.ids[np.minimum(contexts, len(self.ids) - 1)])
            other.first_layer = self.first_layer.reading(other.history, ids)
            inner = other._before_softmax(ids[:, self.history - other.history :])
            other.normalisers = NormaliserEstimate(inner, self.normalisers(inner), self.weight, self.bias)
        return other

    def _tensors(self, *arrays: np.ndarray) -> tuple[Tensor, ...]:
        return uploaded(tuple(torch.from_numpy(array.astype(np.int64)) for array in arrays), self.device)
