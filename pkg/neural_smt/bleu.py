"""BLEU-4 from sufficient statistics: counted per sentence, summed over a corpus, turned into a score.

The statistics of one sentence are nine counts in the layout of Moses' ``scores.dat``:
``match1 total1 match2 total2 match3 total3 match4 total4 reference_length``; the length of the hypothesis is
``total1``. Matches are clipped as in Papineni et al. (2002), the reference length is that of the closest
reference, the shorter one in a tie. Scores are between 0 and 1.
"""

from collections.abc import Hashable, Iterable, Sequence

import numpy as np

from neural_smt.bleu_primitives import ORDER, REFERENCE_LENGTH, SIZE, count_statistics

MATCHES = slice(0, 2 * ORDER, 2)
TOTALS = slice(1, 2 * ORDER, 2)


def corpus_statistics(
    hypotheses: Iterable[Sequence[Hashable]], *references: Iterable[Sequence[Hashable]]
) -> np.ndarray:
    """The statistics of many hypotheses, int32 ``[n, 9]``; each of ``references`` holds one reference for each.

    Tokens may be ids or strings, the same kind on both sides.
    Raises ``ValueError`` when the numbers of hypotheses and references differ or there is no reference.
    """
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
    if not total[MATCHES].all():
        return 0.0
    return float(brevity_penalty(total) * np.exp(np.log(total[MATCHES] / total[TOTALS]).mean()))


def brevity_penalty(statistics: np.ndarray) -> float:
    """exp(1 - r/c) for a corpus of c hypothesis tokens shorter than its r reference tokens, else 1."""
    total = _summed(statistics)
    if total[1] == 0:
        return 0.0
    return float(np.exp(min(0.0, 1.0 - total[REFERENCE_LENGTH] / total[1])))


def sentence_bleu(statistics: np.ndarray) -> np.ndarray:
    """BLEU+1 of every row of ``[n, 9]`` (or of one ``[9]``): one is added to matches and totals above unigrams.

    Lin and Och (2004), "ORANGE", section 4. float64 ``[n]``; 0 for a hypothesis without a matching word.
    """
    statistics = np.asarray(statistics, dtype=np.float64)
    extra = np.array([0.0, *[1.0] * (ORDER - 1)])
    matches, totals = statistics[..., MATCHES] + extra, statistics[..., TOTALS] + extra
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(matches / totals).mean(axis=-1)
        penalty = np.minimum(0.0, 1.0 - statistics[..., REFERENCE_LENGTH] / statistics[..., 1])
        return np.where(statistics[..., 0] > 0, np.exp(logs + penalty), 0.0)


def _summed(statistics: np.ndarray) -> np.ndarray:
    return np.asarray(statistics, dtype=np.int64).reshape(-1, SIZE).sum(axis=0)
