"""Sentences as one batch of a recurrent model: time-major and packed, so that there is no padding to mask.

Sentences are sorted by falling length; the tokens of step t are those of the sentences that are still going on, which
are the first ``sizes[t]`` ones. A token is a prediction: a word of a sentence or its end.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from neural_smt.io.ragged import Ragged
from neural_smt.jit import kernel
from neural_smt.networks.primitives import CLASSES, direct_places
from neural_smt.networks.recurrent.configuration import RecurrentConfig, WordClasses
from neural_smt.vocabulary import BOS, EOS


class ClassGroup(NamedTuple):
    """The tokens ``start:stop``, sorted by class, of one class; its units ``first:last``; where its logits begin."""

    start: int
    stop: int
    first: int
    last: int
    logits: int


class SoftmaxTargets(NamedTuple):
    """What the N tokens of a batch predict.

    classes, within: int64 ``[N]``, the class of each token's word, and which of its words it is; by_class: int64
    ``[N]``, tokens sorted by class, without those whose class has one word (they cost nothing); groups: those of a
    class; class_places, word_places: int64 ``[N, direct_order]`` (nothing without direct features), where the features
    of each history length begin (``direct_places``), -1 where there are none.
    """

    classes: Tensor
    within: Tensor
    by_class: Tensor
    groups: list[ClassGroup]
    class_places: Tensor
    word_places: Tensor

    @property
    def logits(self) -> int:
        """Logits of words within their classes, of all tokens together."""
        if not self.groups:
            return 0
        last = self.groups[-1]
        return last.logits + (last.stop - last.start) * (last.last - last.first)


class SentenceBatch(NamedTuple):
    """reads: int64 ``[N]``, the word before each token; sizes: tokens of each step; targets: what is predicted; inputs:
    f of each token, float ``[N, D]``, or int64 ``[N, slots]`` where its vectors are learned, rows of their table;
    tokens: int64 ``[N]``, the number of each token when they are counted sentence by sentence.
    """

    reads: Tensor
    sizes: list[int]
    targets: SoftmaxTargets
    inputs: Tensor | None
    tokens: np.ndarray


def pack_sentences(
    config: RecurrentConfig,
    classes: WordClasses,
    sentences: Ragged,
    device: torch.device,
    rows: np.ndarray | None = None,
    table: Tensor | None = None,
) -> SentenceBatch:
    """Pack int32 sentences of word ids without boundaries.

    rows: int ``[tokens, slots]``, the rows of the table of inputs that make up f of each token, sentence by sentence;
    table: float ``[R, dimensions]`` on ``device``, or None where the network learns it.
    """
    if (rows is not None) != (config.inputs > 0):
        raise ValueError("rows of inputs are for models with auxiliary input, and these need them")
    words, sizes, tokens = _time_major(sentences, max(config.direct_order, 2))
    predicted, histories = words[:, 0], words[:, 1:]
    numbers = classes.class_of_word[predicted]
    first = classes.offsets[numbers]
    places = feature_places(config, classes, numbers, np.ascontiguousarray(histories[:, : config.direct_order - 1]))
    by_class, groups = _group(numbers, classes)
    arrays = (numbers.astype(np.int64), classes.unit_of_word[predicted] - first, by_class)
    on_device = [torch.from_numpy(array).to(device) for array in arrays]
    targets = SoftmaxTargets(*on_device, groups, *(torch.from_numpy(array).to(device) for array in places))
    inputs = None
    if rows is not None:
        inputs = torch.from_numpy(rows[tokens].astype(np.int64)).to(device)
        if table is not None:
            inputs = table[inputs].flatten(1)
    reads = torch.from_numpy(words[:, 1].astype(np.int64)).to(device)
    return SentenceBatch(reads, sizes, targets, inputs, tokens)


def _time_major(sentences: Ragged, order: int) -> tuple[np.ndarray, list[int], np.ndarray]:
    """int32 ``[N, order]``: the word of each token and those before it, latest first; sizes of steps; token numbers."""
    lengths = sentences.lengths + 1
    ranks = np.argsort(-lengths, kind="stable")
    before = np.cumsum(lengths) - lengths
    steps = np.arange(lengths.max(initial=0))
    mask = steps[:, None] < lengths[ranks]
    stream = np.full((len(sentences), len(steps) + order - 1), BOS, dtype=np.int32)
    sentence = np.repeat(np.arange(len(sentences)), sentences.lengths)
    column = np.arange(len(sentences.values)) - np.repeat(sentences.offsets[:-1], sentences.lengths)
    stream[sentence, column + order - 1] = sentences.values
    stream[np.arange(len(sentences)), lengths + order - 2] = EOS
    turned = stream[ranks].T
    words = np.stack([turned[order - 1 - back : order - 1 - back + len(steps)][mask] for back in range(order)], axis=1)
    tokens = (before[ranks] + steps[:, None])[mask]
    return words, mask.sum(axis=1).tolist(), tokens


def _group(numbers: np.ndarray, classes: WordClasses) -> tuple[np.ndarray, list[ClassGroup]]:
    spans = np.diff(classes.offsets)
    order = np.argsort(numbers, kind="stable")
    order = order[spans[numbers[order]] > 1]
    found, starts = np.unique(numbers[order], return_index=True)
    stops = np.append(starts[1:], len(order))
    groups, logits = [], 0
    for number, start, stop in zip(found.tolist(), starts.tolist(), stops.tolist(), strict=True):
        groups.append(ClassGroup(start, stop, int(classes.offsets[number]), int(classes.offsets[number + 1]), logits))
        logits += (stop - start) * int(spans[number])
    return order, groups


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
