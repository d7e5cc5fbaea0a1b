"""Which lines of the selected texts come from which source, by what cleaning and selection wrote of them."""

from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np

from neural_smt.errors import UserError
from neural_smt.io.streams import stream_lines
from neural_smt.io.tables import read_frame


def lines_of_sources(origins: Sequence[Sequence[str | Path]], sources: Collection[str]) -> np.ndarray:
    """bool ``[lines]``: the lines of selected texts, one text after the other, that come from some sources.

    origins: of each text its table of ``corpus.steps.clean`` and, where lines of it were left out, the scores of
    ``selection.steps.select``. A source that is in several texts is taken from the first of them.
    """
    wanted, found = set(sources), [np.zeros(0, dtype=np.bool_)]
    for table, *scores in origins:
        rows = read_frame(Path(table), "source", "kept", "run the stage corpus again")
        kept = rows["kept"].to_numpy().astype(np.int64).clip(0)
        of_sources = np.repeat(rows["source"].isin(wanted).to_numpy(), kept)
        found.append(of_sources[kept_lines(Path(scores[0]), len(of_sources))] if scores else of_sources)
        wanted -= set(rows["source"])
    return np.concatenate(found)


def kept_lines(scores: Path, lines: int) -> np.ndarray:
    """bool ``[lines]``: the lines of a pool that selection kept, by the scores it wrote.

    ``UserError`` when they are not scores of ``lines`` lines, or a line of them does not end in 0 or 1.
    """
    kept, number = np.zeros(lines, dtype=np.bool_), 0
    for number, line in enumerate(stream_lines(scores), start=1):
        flag = line.rpartition("\t")[2]
        if flag not in ("0", "1"):
            raise UserError(f"{scores}, line {number}: ends neither in 0 nor in 1; run the selection again")
        if flag == "1" and number <= lines:
            kept[number - 1] = True
    if number != lines:
        raise UserError(f"{scores} has {number} scores but the pool has {lines} lines; run the selection again")
    return kept
