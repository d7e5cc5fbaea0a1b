"""Precision, recall and alignment error rate against alignments made by hand (Och and Ney 2003, section 6.1)."""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from pathlib import Path

import numpy as np
import pandas as pd

from neural_smt.alignment.pharaoh import read_alignments, read_gold
from neural_smt.alignment.symmetrisation import HEURISTICS, symmetrise_alignments
from neural_smt.errors import UserError, check_as_many
from neural_smt.io.ragged import Ragged
from neural_smt.io.tables import write_frame

COLUMNS = ["set", "method", "precision", "recall", "aer", "links"]


def measure_error_rate(
    *,
    forward: Path,
    backward: Path,
    gold: list[Path],
    names: list[str],
    sources: list[Path],
    targets: list[Path],
    table: Path,
    turned: Sequence[Path] = (),
) -> None:
    """Measure precision, recall and alignment error rate of both directions and of every heuristic.

    forward, backward: the alignments of all sets, one set after the other; gold: the alignment of each set made by hand
    (``i-j`` sure, ``i?j`` possible); turned: those of them that give the target's positions first; names: of the sets;
    sources, targets: their tokenised texts. Several sets also get a row for all.
    """
    check_as_many(gold=gold, names=names)
    directions = read_alignments(forward), read_alignments(backward)
    answers = read_gold(gold, turned, sources, targets)
    ends = list(accumulate((len(links) for links, _ in answers), initial=0))
    for path, alignments in zip((forward, backward), directions, strict=True):
        if len(alignments) != ends[-1]:
            raise UserError(
                f"{path} has {len(alignments)} lines but the gold alignments {', '.join(map(str, gold))} have "
                f"{ends[-1]} in all; align the gold sets again"
            )
    methods = dict(zip(("forward", "backward"), directions, strict=True))
    methods |= {heuristic: symmetrise_alignments(*directions, heuristic) for heuristic in HEURISTICS}
    counts = pd.DataFrame(
        {"set": name, "method": method} | count_errors(alignments.take(np.arange(first, last)), *answer)
        for name, answer, (first, last) in zip(names, answers, pairwise(ends), strict=True)
        for method, alignments in methods.items()
    )
    if len(names) > 1:
        total = counts.drop(columns="set").groupby("method", sort=False).sum().reset_index()
        counts = pd.concat([counts, total.assign(set="all")])
    rates = error_rates(counts)
    shown = rates.assign(**{name: rates[name].map("{:.4f}".format) for name in ("precision", "recall", "aer")})
    write_frame(table, shown[COLUMNS])


def count_errors(alignments: Ragged, gold: Ragged, sure: np.ndarray) -> dict[str, int]:
    """Compare alignments with gold, int16 ``[links, 2]`` per pair; ``sure`` is bool ``[gold links]``.

    Returns links |A|, sure |S|, links_possible |A and P| and links_sure |A and S|, over all pairs: A the links found, S
    the sure, P the sure and possible gold links. Links and gold links are sets: one given twice counts once, and is
    sure when it is sure once.
    """
    found, possible = np.unique(_keys(alignments)), np.unique(_keys(gold))
    certain = np.unique(_keys(gold)[sure])
    return {
        "links": len(found),
        "sure": len(certain),
        "links_possible": int(np.isin(found, possible, assume_unique=True).sum()),
        "links_sure": int(np.isin(found, certain, assume_unique=True).sum()),
    }


def error_rates(counts: pd.DataFrame) -> pd.DataFrame:
    """What ``count_errors`` counted, with the rates that follow from it.

    precision: |A and P| / |A|, 1 when nothing was linked; recall: |A and S| / |S|, 1 when no gold link is sure; aer:
    1 - (|A and S| + |A and P|) / (|A| + |S|), 0 when there is neither.
    """
    return counts.assign(
        precision=(counts.links_possible / counts.links).fillna(1.0),
        recall=(counts.links_sure / counts.sure).fillna(1.0),
        aer=(1.0 - (counts.links_sure + counts.links_possible) / (counts.links + counts.sure)).fillna(0.0),
    )


def _keys(alignments: Ragged) -> np.ndarray:
    """One int64 per link that holds sentence pair, source and target position."""
    pairs = np.repeat(np.arange(len(alignments)), alignments.lengths)
    links = alignments.values.astype(np.int64)
    return (pairs << 32) | (links[:, 0] << 16) | links[:, 1]
