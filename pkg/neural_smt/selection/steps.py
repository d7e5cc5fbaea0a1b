"""The steps of the stage ``selection``.

A pool is a text in both languages, the source side first, or one extra text of the target language. In-domain and
development text have the same sides.
"""

import logging
from collections.abc import Sequence
from itertools import chain, compress
from pathlib import Path
from typing import Any

import numpy as np

from neural_smt.errors import UserError, check_as_many, required
from neural_smt.io.arrays import read_arrays, write_arrays
from neural_smt.io.files import atomic, write_lines
from neural_smt.io.streams import TextLines, count_lines, count_parallel, stream_lines, stream_texts
from neural_smt.selection.cross_entropy import SideModels, score_sides, train_sides
from neural_smt.selection.curve import PoolModels, chosen_fraction, draw_curve, lines_of, write_curve
from neural_smt.selection.origins import kept_lines
from neural_smt.shards import Shard

logger = logging.getLogger(__name__)


def train_selection_models(
    *, pool: list[Path], in_domain: list[Path], settings: dict[str, Any], seed: int, output: Path
) -> None:
    """Train the models that score a pool, for ``score_pool``: a folder with one of models for each side.

    in_domain: what the pool is compared with, one or more texts of each side; settings, seed: as of ``select``, which
    trains the same models where no scores are given.
    """
    _, sides, inside = _open(pool, in_domain)
    _check_texts(settings["method"], in_domain, inside, *pool)
    models = train_sides(sides, inside, settings["order"], np.random.default_rng(seed))
    with atomic(output, directory=True) as folder:
        for number, side in enumerate(models):
            (folder / str(number)).mkdir()
            side.save(folder / str(number))


def score_pool(*, pool: list[Path], models: Path, output: Path, shard: str | None = None, threads: int = 1) -> None:
    """Score the lines of a shard of a pool under models of ``train_selection_models``: float64 ``[lines]``.

    shard: its share of the lines, as ``2-of-4``; the scores of all shards make those of the pool. Sides are scored by
    threads of their own.
    """
    sides = [SideModels.load(models / str(number)) for number in range(len(pool))]
    part = Shard.parse(shard).range(_count(pool))
    scores = score_sides(sides, [TextLines(path, part) for path in pool], threads)
    write_arrays(output, {"scores": scores})
    logger.info("scored lines %d to %d", part.start + 1, part.stop)


def select(
    *,
    pool: list[Path],
    in_domain: list[Path],
    dev: list[Path],
    settings: dict[str, Any],
    seed: int,
    output: list[Path],
    scores: Path,
    curve: Path,
    plot: Path,
    compared: Sequence[Path] = (),
    scored: list[Path] | None = None,
    threads: int = 1,
) -> None:
    """Keep the lines of a pool that resemble in-domain text.

    Lines are ranked by the cross-entropy difference of all sides. So many of the best are kept as have ``words`` words
    of the target side (Cho et al. 2014, section 4.1) or, without them, as give the lowest dev perplexity on that side.
    compared: what the pool is compared with, one or more texts of each side, the in-domain text if absent. settings:
    method (``axelrod`` of pairs, Axelrod et al. 2011; ``moore_lewis`` of extra text, Moore and Lewis 2010; ``none``:
    keep all), order, words, fractions, random_samples; scored: the scores of all shards in their order (see
    ``score_pool``); without them they are computed here, since jobs of their own start Numba anew (embedded experiment:
    7.8 CPU seconds in all, with them 17.2). Writes the lines that are kept of each side, in the pool's order, of pairs
    behind the in-domain ones (extra text is added to training text that holds them already); a score and 0/1 for kept
    per line of the pool (tab-separated); the curve and its plot.
    """
    lines, sides, inside = _open(pool, in_domain, dev=dev, output=output)
    dev_lines, alike = _read_sides(dev, len(dev))[-1], _read_sides(compared, len(pool)) or inside
    method, title = "moore_lewis", "Selection of extra language-model text"
    if len(pool) > 1:
        method, title = "axelrod", "Selection of training pairs (target side)"
    if settings["method"] not in (method, "none"):
        raise UserError(f"selection: unknown method '{settings['method']}'; set it to {method} or none")
    if settings["method"] == "none":
        values, kept, drawn = np.full(lines, np.nan), np.ones(lines, dtype=np.bool_), []
    else:
        _check_texts(method, compared or in_domain, alike, pool[-1], dev[-1])
        if scored:
            values = np.concatenate([read_arrays(path)["scores"] for path in scored])
            if len(values) != lines:
                found = f"{len(values)} scores of {lines} lines"
                raise UserError(f"{scored[0]} and other shards: {found}; score them again")
        else:
            models = train_sides(sides, alike, settings["order"], np.random.default_rng(seed))
            values = score_sides(models, sides, threads)
        ranking = np.argsort(values, kind="stable")
        pools = PoolModels(sides[-1], alike[-1], dev_lines, settings["order"])
        words, fractions = settings.get("words", 0), settings["fractions"]
        if words:
            fractions = [min(np.searchsorted(np.cumsum(pools.pool.lengths[ranking]), words) + 1, lines) / lines]
        drawn = draw_curve(pools, ranking, fractions, settings["random_samples"], seed, threads, refine=not words)
        kept = np.zeros(lines, dtype=np.bool_)
        chosen = chosen_fraction(drawn)
        kept[ranking[: lines_of(chosen, lines)]] = True
        logger.info("kept %d of %d lines (%.3g %%)", kept.sum(), lines, 100 * chosen)
    _write_sides(output, inside if len(pool) > 1 else [], sides, kept)
    write_lines(scores, (f"{value:.6f}\t{int(flag)}" for value, flag in zip(values, kept, strict=True)))
    write_curve(curve, plot, drawn, title)


def take(
    *,
    pool: list[Path],
    in_domain: list[Path],
    seed: int,
    output: list[Path],
    scores: Path | None = None,
    pairs: int | None = None,
) -> None:
    """Take lines without looking at them, to be compared with selected ones: all, or with ``scores`` as many at random.

    scores: those that ``select`` wrote of the same pool; they tell how many lines it kept. pairs: how many are drawn in
    place of that. Writes the in-domain lines followed by those taken, in the pool's order.
    """
    lines, sides, inside = _open(pool, in_domain, output=output)
    taken = taken_lines(lines, seed, scores, pairs)
    _write_sides(output, inside, sides, taken)
    logger.info("took %d of %d lines", taken.sum(), lines)


def taken_lines(lines: int, seed: int, scores: Path | None = None, number: int | None = None) -> np.ndarray:
    """Which lines of a pool are taken, bool ``[lines]``: all, with ``scores`` as many as selection kept, or ``number``.

    Those are drawn without replacement, any set of lines as likely as another. Of one seed, a smaller number of lines
    is among a larger one. ``UserError`` where the pool has fewer.
    """
    generator = np.random.default_rng(seed)
    if number is None and scores is None:
        return np.ones(lines, dtype=np.bool_)
    if number is None:
        drawn = generator.choice(lines, size=kept_lines(required(scores), lines).sum(), replace=False)
    elif number <= lines:
        drawn = generator.permutation(lines)[:number]
    else:
        raise UserError(f"{number} pairs are to be drawn, but the pool has {lines}; lower 'pairs' of the system")
    taken = np.zeros(lines, dtype=np.bool_)
    taken[drawn] = True
    return taken


def _open(pool: list[Path], in_domain: list[Path], **more: list[Path]) -> tuple[int, list[TextLines], list[list[str]]]:
    """How many lines a pool has, its sides, and those of the in-domain text, which may have none.

    ``UserError`` where these texts, or more, do not have as many sides.
    """
    check_as_many(pool=pool, **more)
    return _count(pool), [TextLines(path) for path in pool], _read_sides(in_domain, len(pool))


def _count(texts: Sequence[Path]) -> int:
    """The lines of a text, as many on both sides where it has two."""
    return count_parallel(*texts) if len(texts) == 2 else count_lines(texts[0])


def _read_sides(texts: Sequence[Path], sides: int) -> list[list[str]]:
    """The lines of each side of texts, all files of one side before those of the other; nothing of no texts.

    ``UserError`` where a text has not as many lines on both sides.
    """
    count = len(texts) // sides
    if len(texts) != count * sides:
        check_as_many(pool=range(sides), in_domain=texts)
    parts = [texts[number * count : (number + 1) * count] for number in range(sides) if count]
    for pair in zip(*parts, strict=True) if sides == 2 else ():
        count_parallel(*pair)
    return [list(stream_texts(part)) for part in parts]


def _write_sides(output: list[Path], inside: list[list[str]], pool: list[TextLines], kept: np.ndarray) -> None:
    """Write the in-domain lines of each side, if there are any, and those lines of the pool that are kept."""
    for path, before, side in zip(output, inside or [[] for _ in pool], pool, strict=True):
        write_lines(path, chain(before, compress(side, kept)))


def _check_texts(method: str, in_domain: Sequence[Path], inside: Sequence[list[str]], *texts: Path) -> None:
    """Raise ``UserError`` unless the in-domain text (target side) and each of ``texts`` has a line with words."""
    if not (inside and any(inside[-1])):
        where = f"{in_domain[-1]} is empty" if in_domain else "corpus.in_domain names none"
        raise UserError(f"selection: method {method} needs in-domain text, but {where}; give some or set method: none")
    for path in texts:
        if not any(map(str.split, stream_lines(path))):
            raise UserError(f"{path}: no text, but selection needs a pool and a dev set; give some or set method: none")
