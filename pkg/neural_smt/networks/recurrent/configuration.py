"""What a recurrent model is made of, without PyTorch: sizes, word classes, auxiliary inputs.

The auxiliary input f_t of the joint model (Auli et al. 2013, sections 2 and 5) is what is known of the source: a few
vectors out of one table, one after the other, a single one for a representation of the sentence, one for each word of a
window around the source words that the predicted word is aligned to. Predictions that know the same share one input.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np

from neural_smt.errors import UserError
from neural_smt.io.ragged import Ragged
from neural_smt.networks.folder import NetworkConfig
from neural_smt.vocabulary import BOS


@dataclass(frozen=True)
class RecurrentConfig(NetworkConfig):
    """Sizes; the defaults are those of Auli et al. (2013, section 4.1) for a model of the target words alone.

    words: entries of the vocabulary, reserved ones included; classes: of the softmax; hidden: units of h_t.
    slots, dimensions: f_t is so many vectors of so many numbers, one after the other (0: no auxiliary input).
    input_rows: rows of the table of these vectors where the network learns them (0: they are given).
    direct_size: weights of the maximum entropy features, half of them for classes (a power of 2; 0: none);
    direct_order: longest n-gram of these features, counting the predicted word.
    """

    kind, title, sides = "recurrent", "a recurrent model", ("target",)

    words: int
    classes: int
    hidden: int = 100
    slots: int = 0
    dimensions: int = 0
    input_rows: int = 0
    direct_size: int = 1 << 22
    direct_order: int = 3

    def __post_init__(self) -> None:
        if self.direct_order < 1:
            raise ValueError(f"direct_order is {self.direct_order}")
        if (self.slots > 0) != (self.dimensions > 0) or min(self.slots, self.dimensions, self.input_rows) < 0:
            raise UserError(
                f"the recurrent model's input has {self.slots} slots of {self.dimensions} dimensions; set both above 0"
            )
        if self.direct_size & (self.direct_size - 1) or 0 < self.direct_size < 4 * max(self.classes, self.words):
            raise UserError(
                f"the recurrent model's direct_size is {self.direct_size}; set it to 0 or to a power of 2 of at least "
                f"four times the {self.words} words"
            )

    @property
    def inputs(self) -> int:
        """D: the length of f_t."""
        return self.slots * self.dimensions


@dataclass(frozen=True)
class WordClasses:
    """The classes of a softmax: each predicted word (all but ``BOS``) is a *unit*, and those of a class are neighbours.

    units: int32 ``[V - 1]``, the word of each unit; offsets: int64 ``[C + 1]``, the units of class c are
    ``offsets[c]:offsets[c + 1]``; no class is empty.
    """

    units: np.ndarray
    offsets: np.ndarray

    def __post_init__(self) -> None:
        expected = np.delete(np.arange(len(self.units) + 1), BOS)
        if not np.array_equal(np.sort(self.units), expected):
            raise ValueError("the units must be all words but BOS, each once")
        if self.offsets[0] != 0 or self.offsets[-1] != len(self.units) or (np.diff(self.offsets) < 1).any():
            raise ValueError("the offsets must rise from 0 to the number of units")

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def unit_of_word(self) -> np.ndarray:
        """int32 ``[V]``; -1 for ``BOS``."""
        result = np.full(len(self.units) + 1, -1, dtype=np.int32)
        result[self.units] = np.arange(len(self.units), dtype=np.int32)
        return result

    @cached_property
    def class_of_word(self) -> np.ndarray:
        """int32 ``[V]``; -1 for ``BOS``."""
        result = np.full(len(self.units) + 1, -1, dtype=np.int32)
        result[self.units] = np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.offsets))
        return result


LINKS = 5
"""Source words of a target word that count, at most (Auli et al. 2013, section 5.2)."""


@dataclass(frozen=True)
class LinkSets:
    """What predictions of target words are aligned to, N distinct ones.

    sentences: rising; positions: source positions within the sentence, rising, at most ``LINKS`` of them; none for the
    end of a sentence.
    """

    sentences: Annotated[np.ndarray, "int32 [N] < S"]
    positions: Annotated[Ragged, "int32 [N] < *"]

    def __len__(self) -> int:
        return len(self.sentences)


@dataclass(frozen=True)
class AuxiliaryInputs:
    """N inputs f of ``slots * dimensions`` numbers each.

    rows: int32 ``[N, slots]``, rows of the table; table: float32 ``[R, dimensions]``, or None where a network learned
    the vectors. Row 0 stands for no word: zeros where the vectors are given.
    """

    rows: np.ndarray
    table: np.ndarray | None

    def __len__(self) -> int:
        return len(self.rows)
