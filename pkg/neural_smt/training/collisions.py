"""How many direct features of a text share their weight with another one."""

from typing import NamedTuple

import numpy as np

from neural_smt.io.ragged import Ragged
from neural_smt.networks.distinct import number_rows
from neural_smt.networks.recurrent.configuration import RecurrentConfig, WordClasses
from neural_smt.networks.recurrent.direct_primitives import CLASSES
from neural_smt.networks.recurrent.packing import find_places
from neural_smt.training.ngram_text import NgramText


class Collisions(NamedTuple):
    """features: distinct n-gram features of the predictions of a text, of classes and of words; sharing: those whose
    weight is that of another such feature too.
    """

    features: int
    sharing: int


def count_collisions(config: RecurrentConfig, classes: WordClasses, sentences: Ragged) -> Collisions:
    """Count over sentences of ids without boundaries.

    A feature is a history of some length with the class, or with the word, that follows it in the text. Features of
    words that do not follow share weights as well, but do less harm: they only learn that they are not meant.
    """
    if config.direct_size == 0:
        return Collisions(0, 0)
    order = config.direct_order
    text = NgramText.of(sentences, order - 1)
    contexts, words = text.ngrams(np.arange(len(text)))
    histories = np.ascontiguousarray(contexts[:, ::-1])
    numbers = classes.class_of_word[words]
    first = classes.offsets[numbers]
    spans = classes.offsets[numbers + 1] - first
    slots = []
    for given, widths, outputs in (
        (np.full_like(numbers, CLASSES), np.full_like(spans, config.classes), numbers),
        (numbers, spans, classes.unit_of_word[words] - first),
    ):
        places = find_places(histories, order, given, widths, config.direct_size)
        for length in range(order):
            there = places[:, length] >= 0
            rows = np.column_stack([given, outputs, histories[:, :length]])[there].astype(np.int32)
            _, distinct = number_rows(np.ascontiguousarray(rows))
            slots.append((places[:, length] + outputs)[there][distinct])
    found = np.concatenate(slots)
    _, uses = np.unique(found, return_counts=True)
    return Collisions(len(found), int(uses[uses > 1].sum()))
