"""The class-factored softmax with direct features: p(word) = p(class) p(word | class) (Goodman 2001).

Both factors are softmaxes of  V h + G f + direct features  over the classes and over the words of the class; only those
words' rows of the output matrix take part. A processor groups tokens by class, one matrix product for each class, with
kernels for the rest; other devices and types go through all pairs of a token and a word of its class at once.
"""

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from neural_smt.io.ragged import offsets_of
from neural_smt.jit import kernel
from neural_smt.networks.device import exact_linear
from neural_smt.networks.primitives import ANY_ORDER, CLASSES, direct_places
from neural_smt.networks.recurrent.configuration import RecurrentConfig, WordClasses


class ClassGroup(NamedTuple):
    """The tokens ``start:stop``, sorted by class, of one class; its units ``first:last``; where its logits begin."""

    start: int
    stop: int
    first: int
    last: int
    logits: int

    def rows(self, logits: Tensor) -> Tensor:
        """Its part of the logits of all words within their classes, a row per token."""
        shape = self.stop - self.start, self.last - self.first
        return logits[self.logits : self.logits + shape[0] * shape[1]].view(shape)


class SoftmaxTargets(NamedTuple):
    """What the N tokens of a batch predict.

    classes, within: int64 ``[N]``, the class of each token's word, and which of its words it is; pairs: how many there
    are of a token and a word of its class; by_class: int64 ``[N]``, tokens sorted by class, without those whose class
    has one word (they cost nothing); groups: those of a class; logits: ``pairs`` without those left out of
    ``by_class``; class_places, word_places: int64 ``[N, direct_order]`` (nothing without direct features), where the
    features of each history length begin (``direct_places``), -1 where there are none.
    """

    classes: Tensor
    within: Tensor
    pairs: int
    by_class: Tensor
    groups: list[ClassGroup]
    logits: int
    class_places: Tensor
    word_places: Tensor

    @classmethod
    def of(cls, config: RecurrentConfig, classes: WordClasses, words: np.ndarray) -> "SoftmaxTargets":
        """words: int32 ``[N, >= direct_order]``, the word of each token and those before it, latest first."""
        numbers, spans = classes.class_of_word[words[:, 0]], np.diff(classes.offsets)
        within = classes.unit_of_word[words[:, 0]] - classes.offsets[numbers]
        order = np.argsort(numbers, kind="stable")
        order = order[spans[numbers[order]] > 1]
        found, starts = np.unique(numbers[order], return_index=True)
        stops = np.append(starts, len(order))[1:]
        sizes = offsets_of((stops - starts) * spans[found])
        columns = starts, stops, classes.offsets[found], classes.offsets[found + 1], sizes[:-1]
        groups = [ClassGroup(*row) for row in np.stack(columns, axis=1).tolist()]
        places = feature_places(config, classes, numbers, np.ascontiguousarray(words[:, 1 : config.direct_order]))
        chosen, inside, by_class, *begins = map(torch.from_numpy, (numbers.astype(np.int64), within, order, *places))
        return cls(chosen, inside, int(spans[numbers].sum()), by_class, groups, int(sizes[-1]), *begins)


def feature_places(
    config: RecurrentConfig, classes: WordClasses, numbers: np.ndarray, histories: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """``direct_places`` of every token, of classes and of the words within theirs: int64 ``[N, direct_order]`` each.

    numbers: int32 ``[N]``, the class of each token; histories: int32 ``[N, direct_order - 1]``, latest word first.
    Nothing (``[N, 0]``) without direct features.
    """
    order = config.direct_order if config.direct_size else 0
    spans = classes.offsets[numbers + 1] - classes.offsets[numbers]
    all_classes = np.full_like(numbers, CLASSES), np.full_like(spans, config.classes)
    return tuple(
        _find_places(histories, order, given, widths, config.direct_size)
        for given, widths in (all_classes, (numbers, spans))
    )


@kernel
def _find_places(histories: np.ndarray, order: int, numbers: np.ndarray, spans: np.ndarray, size: int) -> np.ndarray:
    """int64 ``[N, order]``: ``direct_places`` of every token, -1 where a history has no features of a length.

    histories: int32 ``[N, order - 1]``, latest word first; numbers: int32 ``[N]``; spans: int64 ``[N]``.
    """
    places = np.full((len(numbers), order), -1, dtype=np.int64)
    for token in range(len(numbers)):
        if order > 0:
            direct_places(histories[token], order, numbers[token], spans[token], size, places[token])
    return places


class Layer(NamedTuple):
    """The softmax over classes, or those over the words of a class.

    numbers: float32 ``[L]``, logits, then probabilities, row i is ``starts[i]:starts[i + 1]``; chosen: int64 ``[N]``,
    for each token the place in its row; places: as in ``SoftmaxTargets``; tokens: int64 ``[rows]``, of each row.
    """

    numbers: np.ndarray
    starts: np.ndarray
    chosen: np.ndarray
    places: np.ndarray
    tokens: np.ndarray


@kernel(**ANY_ORDER)
def normalise_rows(layer: Layer, direct: np.ndarray, scores: np.ndarray) -> None:
    """Add the direct features (float32, all weights), turn logits into probabilities, and add the log of the chosen one
    to the token's score (float32 ``[N]``).
    """
    logits, starts, chosen, places, tokens = layer
    for row in range(len(tokens)):
        token, first = tokens[row], starts[row]
        span = starts[row + 1] - first
        part = logits[first : first + span]
        for length in range(places.shape[1]):
            place = places[token, length]
            if place >= 0:
                weights = direct[place : place + span]
                for i in range(span):
                    part[i] += weights[i]
        largest = part[0]
        for i in range(span):
            largest = max(largest, part[i])
        logit = part[chosen[token]] - largest
        total = np.float32(0)
        for i in range(span):
            part[i] = np.exp(part[i] - largest)
            total += part[i]
        scores[token] += logit - np.log(total)
        scale = np.float32(1) / total
        for i in range(span):
            part[i] *= scale


@kernel(**ANY_ORDER)
def differentiate_rows(
    layer: Layer, gradient: np.ndarray, errors: np.ndarray, slots: np.ndarray, values: np.ndarray, filled: int
) -> int:
    """Write to ``errors`` (float32 ``[L]``) the gradient of the logits, one minus probability or minus probability.

    gradient: float32 ``[N]``, of the scores. The gradients of direct weights are appended to ``slots`` (int64) and
    ``values`` (float32) from ``filled`` on, slots more than once where several tokens use them; returns how many there
    are then.
    """
    probabilities, starts, chosen, places, tokens = layer
    for row in range(len(tokens)):
        token, first = tokens[row], starts[row]
        span = starts[row + 1] - first
        scale = gradient[token]
        part = errors[first : first + span]
        for i in range(span):
            part[i] = -scale * probabilities[first + i]
        part[chosen[token]] += scale
        for length in range(places.shape[1]):
            place = places[token, length]
            if place >= 0:
                for i in range(span):
                    slots[filled + i] = place + i
                    values[filled + i] = part[i]
                filled += span
    return filled


def class_log_probabilities(
    known: Tensor, class_output: Tensor, word_output: Tensor, direct: Tensor, offsets: Tensor, targets: SoftmaxTargets
) -> Tensor:
    """Natural log p of what every token predicts: ``[N]``, in the type of ``known``.

    known: [h; f], ``[N, H + D]``; class_output, word_output: ``[C, H + D]`` and ``[V - 1, H + D]``; direct:
    ``[direct_size]``, empty without direct features; offsets: int64 ``[C + 1]``. The gradient of ``direct`` is sparse,
    and not coalesced.
    """
    if known.device.type == "cpu" and known.dtype == torch.float32:
        with torch.autocast("cpu", enabled=False):
            return ClassSoftmax.apply(known, class_output, word_output, direct, targets)
    return pairwise_log_probabilities(known, class_output, word_output, direct, offsets, targets)


def pairwise_log_probabilities(
    known: Tensor, class_output: Tensor, word_output: Tensor, direct: Tensor, offsets: Tensor, targets: SoftmaxTargets
) -> Tensor:
    """``class_log_probabilities`` on any device and in any type."""
    count, class_logits = len(class_output), exact_linear(known, class_output)
    if len(direct):
        everything = torch.arange(count, device=known.device)[None]
        class_logits = class_logits + _direct(direct, targets.class_places, everything)
    class_scores = class_logits.log_softmax(1).gather(1, targets.classes[:, None])[:, 0]
    # the pairs: tokens in order, each with all the words of its class
    first = offsets[targets.classes]
    spans = offsets[targets.classes + 1] - first
    ends = spans.cumsum(0)
    tokens = torch.arange(len(known), device=known.device)
    token = torch.repeat_interleave(tokens, spans, output_size=targets.pairs)
    within = torch.arange(len(token), device=known.device) - (ends - spans)[token]
    logits = (known[token] * word_output[first[token] + within]).sum(1)
    if len(direct):
        logits = logits + _direct(direct, targets.word_places[token], within[:, None])[:, 0]
    largest = logits.new_full((len(known),), -torch.inf).scatter_reduce(0, token, logits.detach(), "amax")
    totals = torch.zeros_like(largest).index_add(0, token, (logits - largest[token]).exp())
    chosen = logits[ends - spans + targets.within]
    return class_scores + chosen - largest - totals.log()


class _Lookup(torch.autograd.Function):
    """Weights by slot (int64 of any shape), 0 where ``valid`` is false; the gradient is sparse on a CPU, and dense on a
    GPU, where the processor would wait to be told how many are valid.
    """

    @staticmethod
    def forward(ctx: Any, direct: Tensor, slots: Tensor, valid: Tensor) -> Tensor:
        ctx.save_for_backward(slots, valid)
        ctx.size = direct.shape
        return torch.where(valid, direct[slots.clamp(min=0)], 0)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        slots, valid = ctx.saved_tensors
        if gradient.is_cuda:
            numbers = gradient.new_zeros(ctx.size)
            numbers.index_add_(0, slots.clamp(min=0).flatten(), torch.where(valid, gradient, 0).flatten())
        else:
            numbers = torch.sparse_coo_tensor(slots[valid][None], gradient[valid], ctx.size, check_invariants=False)
        return numbers, None, None


def _direct(direct: Tensor, places: Tensor, within: Tensor) -> Tensor:
    """What features of all lengths, from ``places`` on (``[N, L]``), add to outputs: ``[N, outputs]``.

    within: int64 ``[N, outputs]``, or one row for all.
    """
    slots = places[:, :, None] + within[:, None]
    return _Lookup.apply(direct, slots, (places >= 0)[:, :, None].expand_as(slots)).sum(1)


class ClassSoftmax(torch.autograd.Function):
    """``class_log_probabilities`` on a processor in float32."""

    @staticmethod
    def forward(
        ctx: Any, known: Tensor, class_output: Tensor, word_output: Tensor, direct: Tensor, targets: SoftmaxTargets
    ) -> Tensor:
        scores = torch.zeros(len(known))
        grouped = known[targets.by_class]
        classes = known @ class_output.t()
        words = torch.empty(targets.logits)
        for group in targets.groups:
            units = word_output[group.first : group.last]
            torch.mm(grouped[group.start : group.stop], units.t(), out=group.rows(words))
        for layer in _layers(classes, words, targets):
            normalise_rows(layer, direct.numpy(), scores.numpy())
        ctx.save_for_backward(known, grouped, classes, words, class_output, word_output)
        ctx.targets, ctx.size = targets, direct.shape
        return scores

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        known, grouped, classes, words, class_output, word_output = ctx.saved_tensors
        targets = ctx.targets
        class_errors, word_errors = torch.empty_like(classes), torch.empty_like(words)
        room = (classes.numel() + words.numel()) * targets.class_places.shape[1]
        slots, values, filled = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.float32), 0
        gradients, errors = gradient.contiguous().numpy(), (class_errors.numpy().reshape(-1), word_errors.numpy())
        for layer, error in zip(_layers(classes, words, targets), errors, strict=True):
            filled = differentiate_rows(layer, gradients, error, slots, values, filled)
        d_grouped, d_word_output = torch.empty_like(grouped), torch.zeros_like(word_output)
        for group in targets.groups:
            tokens, units = slice(group.start, group.stop), slice(group.first, group.last)
            error = group.rows(word_errors)
            torch.mm(error, word_output[units], out=d_grouped[tokens])
            torch.mm(error.t(), grouped[tokens], out=d_word_output[units])
        d_known = (class_errors @ class_output).index_add_(0, targets.by_class, d_grouped)
        d_direct = None
        if ctx.needs_input_grad[3]:
            indices, numbers = torch.from_numpy(slots[None, :filled]), torch.from_numpy(values[:filled])
            d_direct = torch.sparse_coo_tensor(indices, numbers, ctx.size, check_invariants=False)
        return d_known, class_errors.t() @ known, d_word_output, d_direct, None


def _layers(classes: Tensor, words: Tensor, targets: SoftmaxTargets) -> tuple[Layer, Layer]:
    """The softmax over classes and those within classes, of all logits or probabilities of each."""
    count, spans = classes.shape
    lengths = [np.full(group.stop - group.start, group.last - group.first) for group in targets.groups]
    word_starts = np.concatenate([np.zeros(1, dtype=np.int64), *lengths]).cumsum()
    chosen, within, by_class = (part.numpy() for part in (targets.classes, targets.within, targets.by_class))
    class_starts, class_places, word_places = np.arange(count + 1) * spans, targets.class_places, targets.word_places
    return (
        Layer(classes.numpy().reshape(-1), class_starts, chosen, class_places.numpy(), np.arange(count)),
        Layer(words.numpy(), word_starts, within, word_places.numpy(), by_class),
    )
