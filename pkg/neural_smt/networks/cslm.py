"""The CSLM as a scorer of n-grams: a network for the words of its shortlist, a back-off n-gram model for all others.

Of all that a network's n-gram costs, the sum over the whole shortlist, the softmax's normaliser, is nearly everything.
Searches that look at many contexts estimate it: the sum over a few frequent words, together with the layer before the
softmax, tells most of it; a linear function of both is fitted once, by ridge regression, to exact normalisers of
contexts like those of the search.
"""

import copy
import math
import threading
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from neural_smt.errors import UserError
from neural_smt.language_model.continuations import context_states, score_ngrams, word_mass
from neural_smt.language_model.model import NgramModel
from neural_smt.networks.cslm_network import OUTSIDE, CslmNetwork, load_cslm, word_classes
from neural_smt.networks.device import pack, precision_context, select_device
from neural_smt.networks.distinct import number_rows
from neural_smt.networks.fingerprints import FingerprintCache, fingerprints
from neural_smt.networks.softmax import SAFE, choose_logits, log_normalisers, sum_exponentials
from neural_smt.shortlist import shortlist_ids
from neural_smt.vocabulary import BOS, EOS, UNK, Vocabulary

LOGITS = {"cpu": 3 << 18, "cuda": 1 << 27}
"""Logits computed at a time: on a CPU few enough to stay in its cache."""


class Normalisers:
    """A function from z, ``[N, R]``, to the logs of the normalisers, ``[N]``, without gradient.

    weight: ``[V, R]``, in the type that the factors of products are rounded to; bias: ``[V]``. Threads may call it at
    the same time.
    """

    def __init__(self, weight: Tensor, bias: Tensor):
        self.weight = weight
        self.bias = bias
        self.rows = max(1, LOGITS[bias.device.type] // len(bias))
        self.products = pack(weight, None, self.rows) if bias.dtype == torch.float32 else None
        self._buffers = threading.local()

    def __call__(self, inner: Tensor) -> Tensor:
        if self.products is None:
            return log_normalisers(inner, self.weight, self.bias, self.weight.dtype, self._buffer())
        sums = inner.new_empty(len(inner))
        for start in range(0, len(inner), self.rows):
            here = slice(start, start + self.rows)
            sum_exponentials(self.products(inner[here]), self.bias, sums[here])
        sums.log_()
        # The kernel's exponents are limited; these rows are computed again with the largest logit subtracted first.
        for row in torch.nonzero(~(sums.abs() < SAFE))[:, 0].tolist():
            sums[row] = (self.products(inner[row : row + 1]) + self.bias).logsumexp(1)[0]
        return sums

    def _buffer(self) -> Tensor:
        """The logits of this thread: making room for them anew would cost as much as filling it."""
        if not hasattr(self._buffers, "logits"):
            self._buffers.logits = self.bias.new_empty(self.rows, len(self.bias))
        return self._buffers.logits


FREQUENT = 64
"""Words of the shortlist whose sum is computed; they come most frequent first."""

RIDGE = 1e-2


class NormaliserEstimate:
    """log sum_v exp(weight z + bias)_v, estimated.

    inner: z of N contexts, ``[N, R]``; normalisers: their exact values, ``[N]``; weight, bias: those of the softmax,
    most frequent words first. ``error``: standard deviation of the estimate on these contexts (natural log).
    """

    def __init__(self, inner: Tensor, normalisers: Tensor, weight: Tensor, bias: Tensor):
        self.sums = Normalisers(weight[:FREQUENT].to(inner.dtype), bias[:FREQUENT].clone())
        known = self._features(inner).double()
        known = torch.cat((known, known.new_ones(len(known), 1)), 1)
        gram = known.t() @ known + RIDGE * torch.eye(known.shape[1], dtype=known.dtype, device=known.device)
        solution = torch.linalg.solve(gram, known.t() @ normalisers.double())
        self.error = float((known @ solution - normalisers.double()).std())
        self.slope, self.offset = solution[:-1].to(inner.dtype), float(solution[-1])

    def _features(self, inner: Tensor) -> Tensor:
        return torch.cat((inner, self.sums(inner)[:, None]), 1)

    def __call__(self, inner: Tensor) -> Tensor:
        """The estimates for z, ``[N, R]``: ``[N]``."""
        return self._features(inner) @ self.slope + self.offset


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
            return torch.nn.functional.linear(projected, self.weight, self.bias).relu_()
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


class CslmScorer:
    """A trained CSLM with the n-gram model that scores words outside its shortlist, as a function of n-grams.

    Words of the shortlist, and the end of the sentence, get the network's probability as it is, of which the class of
    all other words has had its share: the toolkit's default. Words outside the shortlist, copied words too, get the
    n-gram model's, with all the context that it can use. With ``renormalise`` words of the shortlist get the formula of
    the toolkit's option instead, p(w) / (1 - p(outside)) times the sum of the n-gram model's probabilities of the
    shortlist in that context: then all words together have probability 1, as far as the n-gram model does.

    history: n - 1; cache: contexts whose exact normalisers are remembered. Threads may call it at the same time.
    """

    def __init__(
        self,
        network: CslmNetwork,
        shortlist: Vocabulary,
        language_model: NgramModel,
        vocabulary: Vocabulary,
        *,
        precision: str = "auto",
        renormalise: bool = False,
        cache: int = 0,
    ):
        if language_model.vocabulary_digest != vocabulary.digest:
            raise UserError("the language model was made for another vocabulary than the CSLM's text; build it again")
        self.network = network
        self.history = network.config.history
        self.language_model = language_model
        self.precision = precision
        self.device = network.projection.device
        # One entry more than the vocabulary: copied words lie beyond it.
        self.ids = np.append(shortlist_ids(vocabulary, shortlist), np.int32(UNK))
        self.ids[[BOS, EOS]] = BOS, EOS
        self.classes = word_classes(self.ids)
        with torch.no_grad(), precision_context(self.device, precision):
            # What autocast would round to, found out by asking it.
            self.dtype = network.second(network.first.bias[None]).dtype
            self.first_layer = FirstLayer(network, self.dtype)
        # The renormalised network knows nothing of the class of other words.
        self.skipped = 1 if renormalise else 0
        self.weight = network.output.weight.detach()[self.skipped :].to(self.dtype)
        self.bias = network.output.bias.detach()[self.skipped :]
        self.log_mass: np.ndarray | None = None
        if renormalise:
            inside = np.flatnonzero(self.classes[:-1] != OUTSIDE)
            self.log_mass = np.log(word_mass(language_model, inside))
        second = network.second
        fp32 = self.dtype == torch.float32
        self.second_layer = pack(second.weight, second.bias, CONTEXT_ROWS["cpu"], True) if fp32 else None
        self.normalisers: Normalisers | NormaliserEstimate = Normalisers(self.weight, self.bias)
        self.known = FingerprintCache(cache)

    @classmethod
    def load(
        cls,
        folder: Path,
        language_model: NgramModel,
        vocabulary: Vocabulary,
        *,
        device: str = "cpu",
        precision: str = "auto",
        renormalise: bool = False,
        cache: int = 0,
    ) -> "CslmScorer":
        """The CSLM in a model folder, over the ids of ``vocabulary``, the target vocabulary of the experiment.

        device: auto, cpu or cuda; precision: auto (bf16 on CUDA, else fp32), fp32 or bf16; cache: see the class. Raises
        ``UserError`` for a folder that is broken or of another network, and for a language model of another vocabulary.
        """
        trained = load_cslm(folder, select_device(device))
        options = {"precision": precision, "renormalise": renormalise, "cache": cache}
        return cls(trained.network, trained.target, language_model, vocabulary, **options)

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
        inside = classes != OUTSIDE
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
            chunk = contexts[first[start : start + rows]]
            scores[order[begin:end]] = self._chunk_scores(
                chunk, self._tensor(numbers[begin:end] - start), self._tensor(classes[order[begin:end]])
            )
        return scores

    def _chunk_scores(self, contexts: np.ndarray, numbers: Tensor, classes: Tensor) -> np.ndarray:
        """contexts: int32 ``[C, history]``; numbers, classes: ``[Q]``, the context and the class of each n-gram."""
        # Gradient mode and autocast belong to a thread.
        with torch.no_grad(), precision_context(self.device, self.precision):
            inner = self._before_softmax(contexts)
            totals = self._normalisers(inner, contexts)
            logits = choose_logits(inner, self.weight, self.bias, numbers, classes)
            return (logits - totals[numbers]).double().cpu().numpy()

    def _before_softmax(self, contexts: np.ndarray) -> Tensor:
        """h_2 of shortlist ids, int32 ``[C, history]``: ``[C, H_2]``."""
        first = self.first_layer(self._tensor(contexts))
        return self.network.before_softmax(first) if self.second_layer is None else self.second_layer(first)

    def _normalisers(self, inner: Tensor, contexts: np.ndarray) -> Tensor:
        """``[C]`` of h_2 of these contexts. Exact ones are remembered, estimates are as soon made as found."""
        if isinstance(self.normalisers, NormaliserEstimate):
            return self.normalisers(inner)
        keys, totals = fingerprints(contexts), np.empty(len(contexts))
        missing = self.known.look_up(keys, totals)
        if len(missing):
            totals[missing] = self.normalisers(inner[self._tensor(missing)]).double().cpu().numpy()
            self.known.insert(keys, totals, missing)
        return torch.from_numpy(totals).to(inner)

    def estimating(self, contexts: np.ndarray, words: int | None = None) -> "CslmScorer":
        """This scorer with estimated normalisers, fitted to the exact ones of ``contexts``, int32 ``[N, history]``.

        words: last words of a context that it reads (all without), with the mean of those before in their place.
        """
        other = copy.copy(self)
        other.history = self.history if words is None else min(words, self.history)
        with torch.no_grad(), precision_context(self.device, self.precision):
            ids = self.ids[np.minimum(contexts, len(self.ids) - 1)]
            other.first_layer = self.first_layer.reading(other.history, self._tensor(ids))
            inner = other._before_softmax(ids[:, self.history - other.history :])
            other.normalisers = NormaliserEstimate(inner, self.normalisers(inner), self.weight, self.bias)
        return other

    def _tensor(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(array.astype(np.int64)).to(self.device)
