"""The class-factored softmax with direct features: p(word) = p(class) p(word | class) (Goodman 2001).

Both factors are softmaxes of  V h + G f + direct features  over the classes and over the words of the class; only those
words' rows of the output matrix take part. A processor groups tokens by class, one matrix product for each class, with
kernels for the rest; other devices and types go through all pairs of a token and a word of its class at once.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from neural_smt.jit import kernel
from neural_smt.networks.primitives import ANY_ORDER
from neural_smt.networks.recurrent.packing import SoftmaxTargets


@kernel(**ANY_ORDER)
def normalise_rows(
    logits: np.ndarray,
    starts: np.ndarray,
    chosen: np.ndarray,
    direct: np.ndarray,
    places: np.ndarray,
    tokens: np.ndarray,
    scores: np.ndarray,
) -> None:
    """Add the direct features, turn logits into probabilities, and add the chosen one's log to the token's score.

    logits: float32 ``[L]``, row i is ``starts[i]:starts[i + 1]``; chosen: int64 ``[rows]``, places in a row; direct:
    float32, all weights; places, tokens: as in ``SoftmaxTargets``, ``tokens[i]`` is the token of row i; scores: float32
    ``[N]``.
    """
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
    probabilities: np.ndarray,
    starts: np.ndarray,
    chosen: np.ndarray,
    gradient: np.ndarray,
    places: np.ndarray,
    tokens: np.ndarray,
    errors: np.ndarray,
    slots: np.ndarray,
    values: np.ndarray,
    filled: int,
) -> int:
    """Write to ``errors`` (float32 ``[L]``) the gradient of the logits, one minus probability or minus probability.

    gradient: float32 ``[N]``, of the scores. The gradients of direct weights are appended to ``slots`` (int64) and
    ``values`` (float32) from ``filled`` on, slots more than once where several tokens use them; returns how many there
    are then.
    """
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
    count = len(class_output)
    class_logits = (known @ class_output.t()).to(known.dtype)
    for places in targets.class_places.t():
        class_logits = class_logits + _direct(direct, places[:, None], torch.arange(count, device=known.device))
    class_scores = class_logits.log_softmax(1).gather(1, targets.classes[:, None])[:, 0]
    # the pairs: tokens in order, each with all the words of its class
    first = offsets[targets.classes]
    spans = offsets[targets.classes + 1] - first
    ends = spans.cumsum(0)
    token = torch.repeat_interleave(torch.arange(len(known), device=known.device), spans)
    within = torch.arange(len(token), device=known.device) - (ends - spans)[token]
    logits = (known[token] * word_output[first[token] + within]).sum(1)
    for places in targets.word_places.t():
        logits = logits + _direct(direct, places[token], within)
    largest = logits.new_full((len(known),), -torch.inf).scatter_reduce(0, token, logits.detach(), "amax")
    totals = torch.zeros_like(largest).index_add(0, token, (logits - largest[token]).exp())
    chosen = logits[ends - spans + targets.within]
    return class_scores + chosen - largest - totals.log()


class _Lookup(torch.autograd.Function):
    """Weights by slot (int64 of any shape), with a sparse gradient; nothing where ``valid`` is false."""

    @staticmethod
    def forward(ctx: Any, direct: Tensor, slots: Tensor, valid: Tensor) -> Tensor:  # type: ignore[override]
        ctx.save_for_backward(slots, valid)
        ctx.size = direct.shape
        return torch.where(valid, direct[slots.clamp(min=0)], 0)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        slots, valid = ctx.saved_tensors
        numbers = torch.sparse_coo_tensor(slots[valid][None], gradient[valid], ctx.size, check_invariants=False)
        return numbers, None, None


def _direct(direct: Tensor, places: Tensor, within: Tensor) -> Tensor:
    slots = places + within
    return _Lookup.apply(direct, slots, (places >= 0).expand_as(slots))


class ClassSoftmax(torch.autograd.Function):
    """``class_log_probabilities`` on a processor in float32."""

    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any, known: Tensor, class_output: Tensor, word_output: Tensor, direct: Tensor, targets: SoftmaxTargets
    ) -> Tensor:
        scores = torch.zeros(len(known))
        grouped = known[targets.by_class]
        classes = known @ class_output.t()
        words = torch.empty(targets.logits)
        for start, stop, first, last, logits in targets.groups:
            room = words[logits : logits + (stop - start) * (last - first)].view(stop - start, last - first)
            torch.mm(grouped[start:stop], word_output[first:last].t(), out=room)
        for logits, starts, chosen, places, tokens in _layers(classes, words, targets):
            normalise_rows(logits, starts, chosen, direct.numpy(), places, tokens, scores.numpy())
        ctx.save_for_backward(known, grouped, classes, words, class_output, word_output)
        ctx.targets, ctx.size = targets, direct.shape
        return scores

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        known, grouped, classes, words, class_output, word_output = ctx.saved_tensors
        targets = ctx.targets
        class_errors, word_errors = torch.empty_like(classes), torch.empty_like(words)
        room = (classes.numel() + words.numel()) * targets.class_places.shape[1]
        slots, values, filled = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.float32), 0
        gradients, errors = gradient.contiguous().numpy(), (class_errors.numpy().reshape(-1), word_errors.numpy())
        for (probabilities, starts, chosen, places, tokens), error in zip(
            _layers(classes, words, targets), errors, strict=True
        ):
            filled = differentiate_rows(
                probabilities, starts, chosen, gradients, places, tokens, error, slots, values, filled
            )
        d_grouped, d_word_output = torch.empty_like(grouped), torch.zeros_like(word_output)
        for start, stop, first, last, logits in targets.groups:
            error = word_errors[logits : logits + (stop - start) * (last - first)].view(stop - start, last - first)
            torch.mm(error, word_output[first:last], out=d_grouped[start:stop])
            torch.mm(error.t(), grouped[start:stop], out=d_word_output[first:last])
        d_known = (class_errors @ class_output).index_add_(0, targets.by_class, d_grouped)
        d_direct = None
        if ctx.needs_input_grad[3]:
            indices, numbers = torch.from_numpy(slots[None, :filled]), torch.from_numpy(values[:filled])
            d_direct = torch.sparse_coo_tensor(indices, numbers, ctx.size, check_invariants=False)
        return d_known, class_errors.t() @ known, d_word_output, d_direct, None


def _layers(classes: Tensor, words: Tensor, targets: SoftmaxTargets) -> list[tuple[np.ndarray, ...]]:
    """Of the softmax over classes and of those within classes what the kernels read: logits or probabilities, where the
    rows start, which of a row's outputs is chosen, the places of direct features, the token of each row.
    """
    count, spans = classes.shape
    lengths = [np.full(group.stop - group.start, group.last - group.first) for group in targets.groups]
    word_starts = np.concatenate([np.zeros(1, dtype=np.int64), *lengths]).cumsum()
    class_starts = np.arange(count + 1) * spans
    chosen, within, by_class = (part.numpy() for part in (targets.classes, targets.within, targets.by_class))
    return [
        (classes.numpy().reshape(-1), class_starts, chosen, targets.class_places.numpy(), np.arange(count)),
        (words.numpy(), word_starts, within, targets.word_places.numpy(), by_class),
    ]
