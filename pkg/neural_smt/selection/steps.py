"""The steps of the stage ``selection``."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, compress
from pathlib import Path
from typing import Any

import numpy as np

from neural_smt.errors import UserError
from neural_smt.io.files import atomic, load_array, read_lines, read_parallel, write_csv, write_lines
from neural_smt.io.streams import TextLines, count_lines, count_parallel
from neural_smt.selection.checks import check_settings
from neural_smt.selection.comparison import compared_lines
from neural_smt.selection.cross_entropy import cross_entropy_difference
from neural_smt.selection.curve import Curve, PoolModels, draw_curve, lines_of
from neural_smt.selection.plot import plot_curve

logger = logging.getLogger(__name__)

CURVE_COLUMNS = ("kept_fraction", "sentences", "words", "dev_perplexity", "method", "chosen")


def select_pairs(
    *,
    pool_source: Path,
    pool_target: Path,
    in_domain_source: Path | None,
    in_domain_target: Path | None,
    dev_source: Path,
    dev_target: Path,
    settings: dict[str, Any],
    seed: int,
    source_output: Path,
    target_output: Path,
    scores: Path,
    curve: Path,
    plot: Path,
    scored: list[Path] | None = None,
    threads: int = 1,
) -> None:
    """Keep the pairs of a pool that resemble in-domain pairs (Axelrod et al. 2011).

    Pairs are ranked by the cross-entropy difference of both sides; how many are kept is what gives the lowest dev
    perplexity on the target side. settings: method (``axelrod`` or ``none``: keep all), order, fractions,
    random_samples; scored: the scores of all shards in their order (see ``score_pool``), without them they are computed
    here. Writes the in-domain pairs followed by those kept, in the pool's order; a score and 0/1 for kept per pair of
    the pool (``.npy``: records; else tab-separated text); the curve and its plot.
    """
    lines = count_parallel(pool_source, pool_target)
    pool = (TextLines(pool_source), TextLines(pool_target))
    in_domain = _in_domain_pairs(in_domain_source, in_domain_target)
    dev = read_parallel(dev_source, dev_target)[1]
    check_settings(settings, "axelrod", in_domain_target, in_domain[1], pool_target, dev_target)
    selection = _select(pool, lines, in_domain, dev, settings, seed, scored, threads)
    for path, inside, side in zip((source_output, target_output), in_domain, pool, strict=True):
        write_lines(path, chain(inside, compress(side, selection.kept)))
    _write_report(selection, scores, curve, plot, "Selection of training pairs (target side)")


def select_text(
    *,
    pool: Path,
    in_domain: Path | None,
    dev: Path,
    settings: dict[str, Any],
    seed: int,
    output: Path,
    scores: Path,
    curve: Path,
    plot: Path,
    scored: list[Path] | None = None,
    threads: int = 1,
) -> None:
    """Keep the lines of extra text that resemble in-domain text (Moore and Lewis 2010).

    As ``select_pairs`` with one side and the method ``moore_lewis`` or ``none``, but only the kept lines of the pool
    are written: they are added to training text that holds the in-domain text already.
    """
    text, lines, dev_lines = TextLines(pool), count_lines(pool), read_lines(dev)
    inside = read_lines(in_domain) if in_domain else []
    check_settings(settings, "moore_lewis", in_domain, inside, pool, dev)
    selection = _select([text], lines, [inside], dev_lines, settings, seed, scored, threads)
    write_lines(output, compress(text, selection.kept))
    _write_report(selection, scores, curve, plot, "Selection of extra language-model text")


def take_pairs(
    *,
    pool_source: Path,
    pool_target: Path,
    in_domain_source: Path | None,
    in_domain_target: Path | None,
    scores: Path | None = None,
    pairs: int | None = None,
    seed: int,
    source_output: Path,
    target_output: Path,
) -> None:
    """Take pairs without looking at them, to be compared with selected ones: all, or with ``scores`` as many at random.

    scores: those that ``select_pairs`` wrote of the same pool; they tell how many pairs it kept. pairs: how many are
    drawn in place of that. Writes the in-domain pairs followed by those taken, in the pool's order, as
    ``select_pairs`` does.
    """
    lines = count_parallel(pool_source, pool_target)
    in_domain = _in_domain_pairs(in_domain_source, in_domain_target)
    count, taken = compared_lines((TextLines(pool_source), TextLines(pool_target)), lines, scores, seed, pairs)
    for path, inside, side in zip((source_output, target_output), in_domain, taken, strict=True):
        write_lines(path, chain(inside, side))
    logger.info("took %d of %d pairs", count, lines)


def take_text(*, pool: Path, scores: Path | None = None, seed: int, output: Path) -> None:
    """Take extra text without looking at it: all lines, or with ``scores`` (of ``select_text``) as many at random."""
    lines = count_lines(pool)
    count, (taken,) = compared_lines([TextLines(pool)], lines, scores, seed)
    write_lines(output, taken)
    logger.info("took %d of %d lines", count, lines)


@dataclass(frozen=True)
class _Selection:
    """scores: float64 ``[lines]``, bits per word (NaN where selection is off); kept: bool ``[lines]``."""

    scores: np.ndarray
    kept: np.ndarray
    curve: Curve | None


def _in_domain_pairs(source: Path | None, target: Path | None) -> tuple[list[str], list[str]]:
    return read_parallel(source, target) if source and target else ([], [])


def _select(
    pool: Sequence[TextLines],
    lines: int,
    in_domain: Sequence[list[str]],
    dev: list[str],
    settings: dict[str, Any],
    seed: int,
    scored: Sequence[Path] | None,
    threads: int,
) -> _Selection:
    """Score the pool of so many lines, draw the curve on the last (target) side, and keep the share that it chooses."""
    if settings["method"] == "none":
        return _Selection(np.full(lines, np.nan), np.ones(lines, dtype=np.bool_), None)
    if scored:
        scores = _join_scores(scored, lines)
    else:
        scores = cross_entropy_difference(pool, in_domain, settings["order"], np.random.default_rng(seed), threads)
    ranking = np.argsort(scores, kind="stable")
    models = PoolModels(pool[-1], in_domain[-1], dev, settings["order"])
    curve = draw_curve(models, ranking, settings["fractions"], settings["random_samples"], seed, threads)
    kept = np.zeros(lines, dtype=np.bool_)
    kept[ranking[: lines_of(curve.chosen, lines)]] = True
    logger.info("kept %d of %d lines (%.3g %%)", kept.sum(), lines, 100 * curve.chosen)
    return _Selection(scores, kept, curve)


def _join_scores(scored: Sequence[Path], lines: int) -> np.ndarray:
    scores = np.concatenate([load_array(path) for path in scored])
    if len(scores) != lines:
        raise UserError(f"{scored[0]} and other shards: {len(scores)} scores of {lines} lines; score them again")
    return scores


def _write_report(selection: _Selection, scores: Path, curve: Path, plot: Path, title: str) -> None:
    if Path(scores).suffix == ".npy":
        table = np.zeros(len(selection.scores), dtype=[("score", np.float64), ("kept", np.bool_)])
        table["score"], table["kept"] = selection.scores, selection.kept
        with atomic(scores) as temporary:
            np.save(temporary, table, allow_pickle=False)
    else:
        pairs = zip(selection.scores, selection.kept, strict=True)
        write_lines(scores, (f"{score:.6f}\t{int(kept)}" for score, kept in pairs))
    rows = []
    for method in ("selected", "random") if selection.curve else ():
        for fraction, point in sorted(getattr(selection.curve, method).items()):
            chosen = int(method == "selected" and fraction == selection.curve.chosen)
            rows.append(
                (f"{fraction:g}", round(point.sentences), round(point.words), f"{point.perplexity:.4f}", method, chosen)
            )
    write_csv(curve, CURVE_COLUMNS, rows)
    plot_curve(selection.curve, title, plot)
