"""The steps of the stage ``selection``."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, compress
from pathlib import Path
from typing import Any

import numpy as np

from neural_smt.errors import UserError
from neural_smt.io.files import atomic, load_array, read_lines, read_parallel, write_lines
from neural_smt.io.streams import TextLines, count_lines, count_parallel, stream_lines
from neural_smt.io.tables import write_frame
from neural_smt.selection.cross_entropy import SideModels, cross_entropy_difference, score_sides, train_sides
from neural_smt.selection.curve import Curve, PoolModels, curve_table, draw_curve, lines_of, plot_curve
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
    _check_in_domain(settings["method"], in_domain[-1] if in_domain else None, inside[-1] if inside else [])
    _check_texts(*pool)
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
    _check_settings(settings, "axelrod", in_domain_target, in_domain[1], pool_target, dev_target)
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
    _check_settings(settings, "moore_lewis", in_domain, inside, pool, dev)
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
    flags = load_array(scores)["kept"] if scores.suffix == ".npy" else np.fromiter(_kept_flags(scores), dtype=np.bool_)
    if len(flags) != lines:
        raise UserError(f"{scores} has {len(flags)} scores but the pool has {lines} lines; run the selection again")
    return int(flags.sum())


def _kept_flags(scores: Path) -> Iterator[bool]:
    for number, line in enumerate(stream_lines(scores), start=1):
        flag = line.rpartition("\t")[2]
        if flag not in ("0", "1"):
            raise UserError(f"{scores}, line {number}: ends neither in 0 nor in 1; run the selection again")
        yield flag == "1"


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
    write_frame(curve, curve_table(selection.curve))
    plot_curve(selection.curve, title, plot)


def _check_settings(
    settings: dict[str, Any], method: str, in_domain: Path | None, in_domain_lines: list[str], *texts: Path
) -> None:
    """Raise ``UserError`` unless selection is off, or is by ``method`` and has all the text it needs."""
    if settings["method"] not in (method, "none"):
        raise UserError(f"selection: unknown method '{settings['method']}'; set it to {method} or none")
    if settings["method"] != "none":
        _check_in_domain(method, in_domain, in_domain_lines)
        _check_texts(*texts)


def _check_in_domain(method: str, in_domain: Path | None, lines: list[str]) -> None:
    """Raise ``UserError`` unless the lines of the in-domain text hold words."""
    if not any(lines):
        where = f"{in_domain} is empty" if in_domain else "corpus.in_domain names none"
        raise UserError(f"selection: method {method} needs in-domain text, but {where}; give some or set method: none")


def _check_texts(*texts: Path) -> None:
    """Raise ``UserError`` unless some line of each text, of a pool or a dev set, is not empty."""
    for path in texts:
        if not any(stream_lines(path)):
            raise UserError(f"{path}: no text, but selection needs a pool and a dev set; give some or set method: none")
