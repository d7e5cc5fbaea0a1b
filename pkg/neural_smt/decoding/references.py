"""Reference translations in the word ids of the decoder."""

from collections.abc import Sequence

import numpy as np

from neural_smt.io.ragged import Ragged
from neural_smt.vocabulary import Vocabulary


def encode_references(
    references: Sequence[Sequence[str]], vocabulary: Vocabulary, unknown_words: Sequence[str]
) -> Ragged:
    """Tokens of references as ids, int32 ``Ragged``.

    vocabulary: the target vocabulary; unknown_words: words that the decoder copies, which it numbers beyond the
    vocabulary (``PreparedSentences.unknown_words``). All other words get ids of their own that no translation holds.
    """
    copied = {word: len(vocabulary) + i for i, word in enumerate(unknown_words)}
    others: dict[str, int] = {}

    def number(word: str) -> int:
        known = vocabulary.index.get(word, copied.get(word))
        return known if known is not None else others.setdefault(word, -2 - len(others))

    rows = [np.array([number(word) for word in reference], dtype=np.int32) for reference in references]
    return Ragged.from_lists(rows)
