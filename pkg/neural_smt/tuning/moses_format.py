"""Candidate lists as Moses' tuning scripts keep them: ``features.dat`` and ``scores.dat``."""

from pathlib import Path

import numpy as np

from neural_smt.bleu import SIZE
from neural_smt.errors import UserError
from neural_smt.io.files import read_lines

_ADVICE = "extract the lists again"


def read_lists(features: Path, scores: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features float32 ``[N, F]``, BLEU statistics int32 ``[N, 9]`` and sentence numbers int32 ``[N]`` of one pass."""
    sentences, values = _read_blocks(features, "FEATURES_TXT", np.float32)
    others, statistics = _read_blocks(scores, "SCORES_TXT", np.int32)
    if not np.array_equal(sentences, others) or statistics.shape[1] != SIZE:
        raise UserError(f"{features} and {scores} do not list the same candidates; extract them from one n-best list")
    return values, statistics, sentences


def _read_blocks(path: Path, mark: str, dtype: type) -> tuple[np.ndarray, np.ndarray]:
    """Rows of numbers and the sentence each belongs to, from ``<mark>_BEGIN_0 sentence count ...`` blocks."""
    sentence, sentences, rows = -1, [], []
    for number, line in enumerate(read_lines(path), start=1):
        if line.startswith(f"{mark}_BEGIN_0 "):
            begun = line.split()[1:2]
            if not begun or not begun[0].isdecimal():
                raise UserError(f"{path}, line {number}: expected '{mark}_BEGIN_0 sentence ...'; {_ADVICE}")
            sentence = int(begun[0])
        elif not line.startswith(f"{mark}_END_0"):
            try:
                rows.append(np.array(line.split(), dtype=dtype))
            except (ValueError, OverflowError):
                raise UserError(f"{path}, line {number}: expected numbers of sentence {sentence}; {_ADVICE}") from None
            if len(rows[-1]) != len(rows[0]):
                raise UserError(
                    f"{path}, line {number}: has {len(rows[-1])} numbers, but lines before {len(rows[0])}; {_ADVICE}"
                )
            sentences.append(sentence)
    return np.array(sentences, dtype=np.int32), np.array(rows, dtype=dtype)
