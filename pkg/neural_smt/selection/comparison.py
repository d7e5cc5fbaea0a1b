"""What selected data are compared with: the whole pool, and as many of its lines drawn at random."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import compress
from pathlib import Path

import numpy as np

from neural_smt.errors import UserError
from neural_smt.io.files import load_array
from neural_smt.io.streams import stream_lines


def compared_lines(
    pool: Sequence[Iterable[str]], lines: int, scores: Path | None, seed: int, number: int | None = None
) -> tuple[int, list[Iterable[str]]]:
    """What is taken of every side of a pool of so many lines, and how many lines that is.

    All lines, with ``scores`` as many as selection kept, or ``number``. Those are drawn without replacement, any set of
    lines as likely as another, and stay in the pool's order; the same lines are taken of every side. Of one seed, a
    smaller number of lines is among a larger one. ``UserError`` where the pool has fewer.
    """
    generator = np.random.default_rng(seed)
    if number is not None:
        if number > lines:
            raise UserError(f"{number} pairs are to be drawn, but the pool has {lines}; lower 'pairs' of the system")
        drawn = generator.permutation(lines)[:number]
    elif scores is not None:
        drawn = generator.choice(lines, size=count_kept(scores, lines), replace=False)
    else:
        return lines, list(pool)
    taken = np.zeros(lines, dtype=np.bool_)
    taken[drawn] = True
    return len(drawn), [compress(side, taken) for side in pool]


def count_kept(scores: Path, lines: int) -> int:
    """How many lines of a pool selection kept, by the scores it wrote.

    ``UserError`` when they are not scores of ``lines`` lines, or a line of them is no score and 0 or 1.
    """
    scores = Path(scores)
    flags = load_array(scores)["kept"] if scores.suffix == ".npy" else np.fromiter(_flags(scores), dtype=np.bool_)
    if len(flags) != lines:
        raise UserError(f"{scores} has {len(flags)} scores but the pool has {lines} lines; run the selection again")
    return int(flags.sum())


def _flags(scores: Path) -> Iterator[bool]:
    for number, line in enumerate(stream_lines(scores), start=1):
        flag = line.rpartition("\t")[2]
        if flag not in ("0", "1"):
            raise UserError(f"{scores}, line {number}: ends neither in 0 nor in 1; run the selection again")
        yield flag == "1"
