"""What selected data are compared with: the whole pool, and as many of its lines drawn at random."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from neural_smt.errors import UserError
from neural_smt.files import load_array, read_lines


def compared_lines(pool: Sequence[list[str]], scores: Path | None, seed: int) -> list[list[str]]:
    """What is taken of every side of a pool: all its lines, or with ``scores`` as many as selection kept.

    Those are drawn without replacement, any set of lines as likely as another, and stay in the pool's order; the same
    lines are taken of every side.
    """
    if scores is None:
        return list(pool)
    lines = len(pool[0])
    drawn = np.random.default_rng(seed).choice(lines, size=count_kept(scores, lines), replace=False)
    rows = np.sort(drawn).tolist()
    return [[side[row] for row in rows] for side in pool]


def count_kept(scores: Path, lines: int) -> int:
    """How many lines of a pool selection kept, by the scores it wrote.

    ``UserError`` when they are not scores of ``lines`` lines, or a line of them is no score and 0 or 1.
    """
    scores = Path(scores)
    flags = _flags(scores)
    if len(flags) != lines:
        raise UserError(f"{scores} has {len(flags)} scores but the pool has {lines} lines; run the selection again")
    return sum(flags)


def _flags(scores: Path) -> list[bool]:
    if scores.suffix == ".npy":
        return load_array(scores)["kept"].tolist()
    flags = []
    for number, line in enumerate(read_lines(scores), start=1):
        flag = line.rpartition("\t")[2]
        if flag not in ("0", "1"):
            raise UserError(f"{scores}, line {number}: ends neither in 0 nor in 1; run the selection again")
        flags.append(flag == "1")
    return flags
