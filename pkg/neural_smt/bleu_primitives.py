"""The counts that BLEU is made of, for kernels."""

import numpy as np

from neural_smt.bleu import ORDER, REFERENCE_LENGTH, SIZE
from neural_smt.io.ragged import Lists
from neural_smt.jit import kernel


@kernel
def count_statistics(hypothesis: np.ndarray, references: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Statistics int32 ``[9]`` of one hypothesis, int32 ids, against references laid end to end.

    offsets: int64 ``[R + 1]``, where each reference starts and the last ends. An n-gram's k-th occurrence in the
    hypothesis is a match when some reference holds it at least k times. That needs no table: comparing positions
    costs less than hashing for sentences of ordinary length.
    """
    statistics = np.zeros(SIZE, dtype=np.int32)
    length = len(hypothesis)
    for n in range(ORDER):
        statistics[2 * n + 1] = max(0, length - n)
    occurrence, most, counts = np.zeros((3, ORDER), dtype=np.int32)
    for position in range(length):
        occurrence[:], most[:] = 0, 0
        _add_occurrences(hypothesis, position, hypothesis[: min(position + ORDER, length)], position + 1, occurrence)
        for r in range(len(offsets) - 1):
            reference = references[offsets[r] : offsets[r + 1]]
            counts[:] = 0
            _add_occurrences(hypothesis, position, reference, len(reference), counts)
            for n in range(ORDER):
                most[n] = max(most[n], counts[n])
        for n in range(min(ORDER, length - position)):
            statistics[2 * n] += occurrence[n] <= most[n]
    closest = offsets[1] - offsets[0]
    for r in range(1, len(offsets) - 1):
        other = offsets[r + 1] - offsets[r]
        if (abs(other - length), other) < (abs(closest - length), closest):
            closest = other
    statistics[REFERENCE_LENGTH] = closest
    return statistics


@kernel
def count_translations(translations: Lists, sentences: np.ndarray, references: Lists) -> np.ndarray:
    """Statistics int32 ``[n, 9]`` of n translations, int32 ids; sentences: int ``[n]``, which reference each has."""
    (words, offsets), (others, starts) = translations, references
    statistics, bounds = np.empty((len(sentences), SIZE), dtype=np.int32), np.zeros(2, dtype=np.int64)
    for i in range(len(sentences)):
        reference = others[starts[sentences[i]] : starts[sentences[i] + 1]]
        bounds[1] = len(reference)
        statistics[i] = count_statistics(words[offsets[i] : offsets[i + 1]], reference, bounds)
    return statistics


@kernel
def _add_occurrences(hypothesis: np.ndarray, position: int, text: np.ndarray, stop: int, counts: np.ndarray) -> None:
    """Add to ``counts[n - 1]`` how often the n-gram at ``position`` starts in ``text`` before ``stop``."""
    for start in range(stop):
        n = 0
        while (
            n < ORDER
            and position + n < len(hypothesis)
            and start + n < len(text)
            and hypothesis[position + n] == text[start + n]
        ):
            counts[n] += 1
            n += 1


@kernel
def log_bleu(statistics: np.ndarray, background: np.ndarray) -> float:
    """Natural log of the BLEU of statistics ``[9]`` added to others, float64 ``[9]``; -inf where an order has no match.

    A background of ones above unigrams, and zeros elsewhere, makes it BLEU+1 (Lin and Och 2004).
    """
    logs = 0.0
    for n in range(ORDER):
        matches = statistics[2 * n] + background[2 * n]
        if matches <= 0:
            return -np.inf
        logs += np.log(matches / (statistics[2 * n + 1] + background[2 * n + 1])) / ORDER
    length = statistics[1] + background[1]
    reference = statistics[REFERENCE_LENGTH] + background[REFERENCE_LENGTH]
    return logs + min(0.0, 1.0 - reference / length)


@kernel
def log_bleus(statistics: np.ndarray, background: np.ndarray) -> np.ndarray:
    """``log_bleu`` of every row of ``[n, 9]``, float64 ``[n]``."""
    return np.array([log_bleu(row, background) for row in statistics])
