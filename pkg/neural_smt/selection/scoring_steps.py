"""Steps that score a pool in shards: the models once, then the lines of each shard."""

import logging
from pathlib import Path
from typing import Any

import numpy as np

from neural_smt.io.files import atomic, read_lines
from neural_smt.io.streams import TextLines, count_parallel
from neural_smt.selection.checks import check_in_domain, check_texts
from neural_smt.selection.cross_entropy import SideModels, score_sides, train_sides
from neural_smt.shards import Shard

logger = logging.getLogger(__name__)


def train_selection_models(
    *, pool: list[Path], in_domain: list[Path], settings: dict[str, Any], seed: int, output: Path
) -> None:
    """Train the models that score a pool, for ``score_pool``: a folder with one of models for each side.

    pool, in_domain: the sides of a bilingual text, the target last, or one text; settings, seed: as of ``select_pairs``
    and ``select_text``, which train the same models where no scores are given.
    """
    inside = [read_lines(path) for path in in_domain]
    check_in_domain(settings["method"], in_domain[-1] if in_domain else None, inside[-1] if inside else [])
    check_texts(*pool)
    count_parallel(pool[0], pool[-1])
    models = train_sides([TextLines(path) for path in pool], inside, settings["order"], np.random.default_rng(seed))
    with atomic(output, directory=True) as folder:
        for number, side in enumerate(models):
            (folder / str(number)).mkdir()
            side.save(folder / str(number))


def score_pool(*, pool: list[Path], models: Path, output: Path, shard: str = "1-of-1") -> None:
    """Score the lines of a shard of a pool under models of ``train_selection_models``: float64 ``[lines]``, ``.npy``.

    shard: its share of the lines, as ``2-of-4``; the scores of all shards make those of the pool.
    """
    sides = [SideModels.load(models / str(number)) for number in range(len(pool))]
    part = Shard.parse(shard).range(count_parallel(pool[0], pool[-1]))
    scores = score_sides(sides, [TextLines(path, part) for path in pool])
    with atomic(output) as temporary:
        np.save(temporary, scores, allow_pickle=False)
    logger.info("scored lines %d to %d", part.start + 1, part.stop)
