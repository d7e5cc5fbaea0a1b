"""How much of the pool to keep: dev perplexity of models trained on the best n percent, beside random samples.

As XenC does it: shares on a grid first, then the step is halved around the best one. Every model spreads what it keeps
for unseen words over one fixed vocabulary, all words of the pool and the in-domain text: a dev word that a sample lacks
costs as much as any other unseen one, so perplexities (unknown words and ``</s>`` included) of large and small
samples can be compared.
"""

import logging
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullFormatter

from neural_smt.io.plots import BLUE, GREY, clean, drawing
from neural_smt.io.ragged import Ragged
from neural_smt.language_model.estimation import estimate_within
from neural_smt.language_model.model import NgramModel, measure_perplexity
from neural_smt.language_model.ngrams import restrict_tables
from neural_smt.selection.cross_entropy import LINES
from neural_smt.vocabulary import Vocabulary

logger = logging.getLogger(__name__)

MEMORY = 2 << 30
"""Bytes that the estimation of a model may take; several are estimated at a time."""

FINEST_STEP = 0.01
"""Shares of the pool closer than this are not told apart."""


@dataclass(frozen=True)
class Point:
    """A share of the pool, and what a language model of it makes of the dev set.

    Of random samples all but the share are means over the samples.
    """

    fraction: float
    sentences: float
    words: float
    perplexity: float


@dataclass
class Curve:
    """Points by share of the pool: its best-scored lines, and random samples with as many words."""

    selected: dict[float, Point] = field(default_factory=dict)
    random: dict[float, Point] = field(default_factory=dict)

    @property
    def chosen(self) -> float:
        """The share with the lowest dev perplexity (the smallest of equals)."""
        return min(self.selected.values(), key=lambda point: (point.perplexity, point.fraction)).fraction


class PoolModels:
    """Trains models on rows of the pool and measures them on the dev set; all text is the target side.

    The pool is gone through twice and may stay on disk: its ids lie in a temporary file that is mapped into memory.
    """

    def __init__(self, pool: Iterable[str], in_domain: list[str], dev: list[str], order: int):
        vocabulary = Vocabulary.from_sentences(chain(pool, in_domain))
        self.vocabulary, self.order = vocabulary, order
        self.pool, self.dev = _encode_on_disk(vocabulary, pool), vocabulary.encode(dev)

    def measure(self, fraction: float, rows: np.ndarray) -> Point:
        """The dev perplexity of a model of the pool's ``rows``; it is estimated on disk where they are many.

        Of its n-grams only those in the dev set are looked up, and need to be in memory.
        """
        parts = (self.pool.take(rows[start : start + LINES]) for start in range(0, len(rows), LINES))
        words = int((self.pool.offsets[rows + 1] - self.pool.offsets[rows]).sum())
        with tempfile.TemporaryDirectory() as folder:
            estimated = estimate_within(parts, self.order, (), MEMORY, Path(folder), len(self.vocabulary) - 1)
            model = NgramModel.from_tables(restrict_tables(estimated.tables, self.dev), self.vocabulary)
        return Point(fraction, len(rows), words, measure_perplexity(model, self.dev).value)

    def rows_with_words(self, words: int, generator: np.random.Generator) -> np.ndarray:
        """Random rows, without replacement, that have ``words`` words together (the last may exceed it)."""
        rows = generator.permutation(len(self.pool))
        return rows[: np.searchsorted(np.cumsum(self.pool.lengths[rows]), words) + 1]


def _encode_on_disk(vocabulary: Vocabulary, lines: Iterable[str]) -> Ragged:
    """As ``Vocabulary.encode``, with the ids in a file that nobody else sees and that goes when they do."""
    rest, lengths = iter(lines), [np.zeros(1, dtype=np.int64)]
    with tempfile.TemporaryFile() as stream:
        while piece := list(islice(rest, LINES)):
            encoded = vocabulary.encode(piece)
            stream.write(encoded.values)
            lengths.append(encoded.lengths)
        stream.flush()
        words = stream.tell() // np.dtype(np.int32).itemsize
        values = np.memmap(stream, np.int32, "r", shape=words) if words else np.zeros(0, dtype=np.int32)
    return Ragged(np.asarray(values), np.cumsum(np.concatenate(lengths)))


def draw_curve(
    models: PoolModels,
    ranking: np.ndarray,
    fractions: Sequence[float],
    random_samples: int,
    seed: int,
    threads: int,
) -> Curve:
    """Measure the ``fractions`` of the ranked pool, then finer ones around the best.

    ranking: int ``[lines]``, rows of the pool, best first. Random samples of each size follow from ``seed`` alone.
    """
    curve = Curve()

    def measure(fraction: float) -> tuple[Point, Point | None]:
        selected = models.measure(fraction, ranking[: lines_of(fraction, len(ranking))])
        samples = [
            models.measure(fraction, models.rows_with_words(int(selected.words), np.random.default_rng([seed, number])))
            for number in range(random_samples)
        ]
        return selected, _mean(samples) if samples else None

    with ThreadPoolExecutor(max_workers=threads) as executor:
        wanted = sorted({float(fraction) for fraction in fractions})
        while wanted:
            for selected, random in executor.map(measure, wanted):
                curve.selected[selected.fraction] = selected
                if random is not None:
                    curve.random[selected.fraction] = random
                logger.info(
                    "best %.1f %% of the pool: %d lines, %d words, dev perplexity %.2f (random: %s)",
                    100 * selected.fraction,
                    selected.sentences,
                    selected.words,
                    selected.perplexity,
                    "not measured" if random is None else f"{random.perplexity:.2f}",
                )
            wanted = _halfway(sorted(curve.selected), curve.chosen)
    return curve


def lines_of(fraction: float, lines: int) -> int:
    """How many lines a share of the pool is; at least one."""
    return min(lines, max(1, round(fraction * lines)))


def _halfway(fractions: list[float], best: float) -> list[float]:
    """Shares halfway between the best and its neighbours; none when that step is below ``FINEST_STEP``."""
    place = fractions.index(best)
    below = best - (fractions[place - 1] if place else 0)
    above = (fractions[place + 1] if place + 1 < len(fractions) else min(1, best + below)) - best
    steps = [-below / 2 if below / 2 >= FINEST_STEP else 0, above / 2 if above / 2 >= FINEST_STEP else 0]
    return [round(best + step, 4) for step in steps if step]


def _mean(points: Sequence[Point]) -> Point:
    sentences, words, perplexity = np.mean([(p.sentences, p.words, p.perplexity) for p in points], axis=0).tolist()
    return Point(points[0].fraction, sentences, words, perplexity)


COLUMNS = ("kept_fraction", "sentences", "words", "dev_perplexity", "method", "chosen")


def curve_rows(curve: Curve | None) -> Iterator[tuple[str | int, ...]]:
    """The points of a curve as its CSV file shows them, see ``COLUMNS``; no rows without one."""
    for method in ("selected", "random"):
        for fraction, point in sorted(getattr(curve, method).items()) if curve else ():
            sizes = round(point.sentences), round(point.words)
            chosen = int(method == "selected" and fraction == curve.chosen)
            yield f"{fraction:g}", *sizes, f"{point.perplexity:.4f}", method, chosen


def plot_curve(curve: Curve | None, title: str, path: Path) -> None:
    """Draw dev perplexity against the part of the pool that is kept, as PNG; without a curve, say that it is all."""
    with drawing(path, 6.4, 4.0) as figure:
        axes = figure.add_subplot()
        if curve is None:
            axes.text(0.5, 0.5, "selection is off: the whole pool is kept", ha="center", va="center")
            axes.set_axis_off()
        else:
            _draw(axes, curve, title)


def _draw(axes: Axes, curve: Curve, title: str) -> None:
    best = curve.selected[curve.chosen]
    kept = f"kept: {100 * best.fraction:.3g} %, perplexity {best.perplexity:.1f}"
    small, star = {"marker": "o", "markersize": 3}, {"marker": "*", "markersize": 14, "linestyle": "none"}
    for points, colour, label, style in (
        (list(curve.random.values()), GREY, "random, as many words", small),
        (list(curve.selected.values()), BLUE, "selected", small),
        ([best], BLUE, kept, star),
    ):
        if points:
            points.sort(key=lambda point: point.fraction)
            x, y = [100 * point.fraction for point in points], [point.perplexity for point in points]
            axes.plot(x, y, color=colour, label=label, **style)
    shares = [100 * fraction for fraction in curve.selected]
    axes.set_xscale("log")
    axes.set_xticks([tick for tick in (1, 2, 5, 10, 20, 50, 100) if min(shares) <= tick <= max(shares)])
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set(xlabel="part of the pool kept (%, log scale)", ylabel="dev perplexity", title=title)
    clean(axes)
    axes.legend(frameon=False)
