"""Which spans of sentences are source phrases of a table."""

import numpy as np

from neural_smt.jit import kernel
from neural_smt.phrases.primitives import find_phrase
from neural_smt.phrases.table import PhraseTable


def find_spans(table: PhraseTable, words: np.ndarray, first: np.ndarray, longest: int) -> np.ndarray:
    """int32 ``[tokens, longest]``: the source phrase that starts at a token and has (column + 1) words, or -1.

    words: int32 ``[tokens]``, ids of the source vocabulary, -1 for words outside it; first: int64 ``[sentences + 1]``,
    where each sentence's tokens start.
    """
    spans = np.empty((len(words), longest), dtype=np.int32)
    _find_spans(table.lookup, words, first, spans)
    return spans


@kernel
def _find_spans(
    index: tuple[np.ndarray, np.ndarray, np.ndarray], words: np.ndarray, first: np.ndarray, spans: np.ndarray
) -> None:
    """Fill ``spans``, which no span crosses the end of its sentence in."""
    for sentence in range(len(first) - 1):
        for start in range(first[sentence], first[sentence + 1]):
            for length in range(1, spans.shape[1] + 1):
                inside = start + length <= first[sentence + 1]
                spans[start, length - 1] = find_phrase(index, words, start, start + length) if inside else -1
