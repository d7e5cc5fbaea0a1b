"""Tokenised text as a representation reads it: words but singletons."""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from neural_smt.io.ragged import Ragged
from neural_smt.vocabulary import UNK, Vocabulary


def repeated_words(sentences: Iterable[Sequence[str]]) -> Vocabulary:
    """The words that occur at least twice; all others are ``UNK`` (Auli et al. 2013, sections 4.1 and 5.4)."""
    counts: Counter[str] = Counter()
    for sentence in sentences:
        counts.update(sentence)
    return Vocabulary.from_counts(Counter({word: count for word, count in counts.items() if count > 1}))


def word_ids(vocabulary: Vocabulary, sentences: Sequence[Sequence[str]]) -> Ragged:
    """int32 ids of the words of each sentence, ``UNK`` for those outside the vocabulary."""
    index = vocabulary.index
    offsets = np.zeros(len(sentences) + 1, dtype=np.int64)
    np.cumsum([len(sentence) for sentence in sentences], out=offsets[1:])
    ids = (index.get(word, UNK) for sentence in sentences for word in sentence)
    return Ragged(np.fromiter(ids, dtype=np.int32, count=int(offsets[-1])), offsets)
