"""BLEU-4 from sufficient statistics: counted per sentence, summed over a corpus, turned into a score.

The statistics of one sentence are nine counts in the layout of Moses' ``scores.dat``:
``match1 total1 match2 total2 match3 total3 match4 total4 reference_length``; the length of the hypothesis is
``total1``. Matches are clipped as in Papineni et al. (2002), the reference length is that of the closest
reference, the shorter one in a tie. Scores are between 0 and 1.
"""

from collections.abc import Hashable, Iterable, Sequence

import numpy as np

ORDER = 4
"""The longest n-gram counted."""

SIZE = 2 * ORDER + 1
"""How many statistics a sentence has."""

REFERENCE_LENGTH = 2 * ORDER
"""Where the length of the reference stands among them."""

MATCHES = slice(0, 2 * ORDER, 2)
TOTALS = slice(1, 2 * ORDER, 2)

PLUS_ONE = np.array([0, 0, 1, 1, 1, 1, 1, 1, 0], dtype=np.float64)
"""The background that turns BLEU into BLEU+1: one is added to matches and totals above unigrams."""


Sentences = Iterable[Sequence[Hashable]]


def corpus_statistics(hypotheses: Sentences, *references: Sentences) -> np.ndarray:
    """The statistics of many hypotheses, int32 ``[n, 9]``; each of ``references`` holds one reference for each.

    Tokens may be ids or strings, the same kind on both sides.
    Raises ``ValueError`` when the numbers of hypotheses and references differ or there is no reference.
    """
    from neural_smt.bleu_primitives import count_statistics  # loads Numba, which what sums need not wait for

    if not references:
        raise ValueError("BLEU needs at least one reference")
    index: dict[Hashable, int] = {}

    rows = []
    for texts in zip(hypotheses, *references, strict=True):
        words = (text.tolist() if isinstance(text, np.ndarray) else text for text in texts)
        encoded = [np.array([index.setdefault(w, len(index)) for w in text], dtype=np.int32) for text in words]
        offsets = np.cumsum([0, *(len(reference) for reference in encoded[1:])])
        rows.append(count_statistics(encoded[0], np.concatenate(encoded[1:]), offsets))
    return np.array(rows, dtype=np.int32).reshape(-1, SIZE)


def bleu(statistics: np.ndarray) -> float:
    """Corpus BLEU of statistics ``[9]``, or of the sum of the rows of ``[n, 9]``; not smoothed.

    0 as soon as one n-gram order has no match, as in Moses.
    """
    total = _summed(statistics)
    precision, brevity = _log_factors(total, total[MATCHES])
    return float(np.exp(brevity) * np.exp(precision)) if total[MATCHES].all() else 0.0


def brevity_penalty(statistics: np.ndarray) -> float:
    """exp(1 - r/c) for a corpus of c hypothesis tokens shorter than its r reference tokens, else 1."""
    total = _summed(statistics)
    return float(np.exp(_log_factors(total, total[MATCHES])[1])) if total[1] else 0.0


def sentence_bleu(statistics: np.ndarray) -> np.ndarray:
    """BLEU+1 of every row of ``[n, 9]``, float64 ``[n]``; 0 for a hypothesis without a matching word.

    Lin and Och (2004), "ORANGE", section 4.
    """
    from neural_smt.bleu_primitives import log_bleus  # loads Numba

    return np.exp(log_bleus(statistics, PLUS_ONE))


def smoothed_bleu(statistics: np.ndarray) -> np.ndarray:
    """BLEU of every row of ``[..., 9]``, float64 ``[...]``; the k-th order without a match counts 1 / 2^k (sacreBLEU).

    0 where no order has a match, or one has no n-gram.
    """
    matches = statistics[..., MATCHES]
    found = matches > 1e-9  # of means over runs nothing may leave a little, or less than nothing
    precision, brevity = _log_factors(statistics, np.where(found, matches, 0.5 ** np.cumsum(~found, axis=-1)))
    counted = found.any(axis=-1) & (statistics[..., TOTALS] > 0).all(axis=-1)
    with np.errstate(invalid="ignore"):  # of what does not count
        return np.where(counted, np.exp(precision + brevity), 0.0)


def _log_factors(statistics: np.ndarray, matches: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Natural logs of BLEU's factors for every row of ``[..., 9]``: of the mean precision and of the brevity penalty.

    matches: ``[..., 4]``, those of each order, perhaps smoothed.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = np.log(matches / statistics[..., TOTALS]).mean(axis=-1)
        return precision, np.minimum(0.0, 1.0 - statistics[..., REFERENCE_LENGTH] / statistics[..., 1])


def _summed(statistics: np.ndarray) -> np.ndarray:
    return np.asarray(statistics, dtype=np.int64).reshape(-1, SIZE).sum(axis=0)
