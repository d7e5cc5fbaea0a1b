"""The text that a recurrent model is trained on: sentences, and what each prediction knows of the source."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from neural_smt.io.ragged import Ragged
from neural_smt.vocabulary import BOS, EOS, RESERVED, UNK, Vocabulary


def words_seen_twice(sentences: Ragged, vocabulary: Vocabulary) -> Vocabulary:
    """The words of sentences of ids but those that occur once (Auli et al. 2013, section 4.1)."""
    counts = np.bincount(sentences.values, minlength=len(vocabulary))
    kept = [number for number in np.flatnonzero(counts > 1).tolist() if number >= len(RESERVED)]
    return Vocabulary.from_counts(Counter({vocabulary.words[number]: int(counts[number]) for number in kept}))


@dataclass(frozen=True)
class JointText:
    """sentences: int32, ids without boundaries; rows: int32 ``[tokens, slots]``, the vectors of f of each prediction
    (words and ends, sentence by sentence; see ``AuxiliaryInputs``), or None without auxiliary input.
    """

    sentences: Ragged
    rows: np.ndarray | None = None

    def __post_init__(self) -> None:
        if self.rows is not None and len(self.rows) != self.tokens:
            raise ValueError(f"{len(self.rows)} inputs for {self.tokens} predictions")

    def __len__(self) -> int:
        return len(self.sentences)

    @property
    def tokens(self) -> int:
        """Predictions: words and ends of sentences."""
        return len(self.sentences.values) + len(self.sentences)

    def take(self, chosen: np.ndarray) -> "JointText":
        """The sentences numbered ``chosen``, in that order."""
        sentences = self.sentences.take(chosen)
        if self.rows is None:
            return JointText(sentences)
        offsets = self.sentences.offsets + np.arange(len(self) + 1)
        return JointText(sentences, Ragged(self.rows, offsets).take(chosen).values)


def without_boundaries(sentences: Ragged) -> Ragged:
    """Sentences in which words spelt like a boundary of sentences are unknown words."""
    values = sentences.values
    return Ragged(np.where((values == BOS) | (values == EOS), np.int32(UNK), values), sentences.offsets)


def predicted_counts(sentences: Ragged, words: int) -> np.ndarray:
    """int64 ``[words]``: how often each word is predicted, ``UNK`` and the end of a sentence included."""
    counts = np.bincount(sentences.values, minlength=words).astype(np.int64)
    counts[EOS] += len(sentences)
    return counts


def unknown_words(sentences: Ragged) -> int:
    """Running words that are ``UNK``."""
    return int((sentences.values == UNK).sum())
