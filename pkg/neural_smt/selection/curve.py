"""How much of the pool to keep: dev perplexity of models trained on the best n percent, beside random samples.

As XenC does it: fractions on a grid first, then the step is halved around the best one. Every model spreads what it
keeps for unseen words over one fixed vocabulary, all words of the pool and the in-domain text: a dev word that a sample
lacks costs as much as any other unseen one, so perplexities (unknown words and ``</s>`` included) of large and small
samples can be compared.
"""

import logging
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullFormatter

from neural_smt.io.plots import BLUE, GREY, clean, drawing
from neural_smt.io.ragged import Ragged
from neural_smt.io.tables import write_rows
from neural_smt.language_model.estimation import estimate_within
from neural_smt.language_model.model import NgramModel, measure_perplexity
from neural_smt.language_model.ngrams import restrict_tables
from neural_smt.selection.cross_entropy import LINES
from neural_smt.vocabulary import Vocabulary

logger = logging.getLogger(__name__)

MEMORY = 2 << 30
"""Bytes that the estimation of a model may take; several are estimated at a time."""

FINEST_STEP = 0.01
"""Fractions of the pool closer than this are not distinguished."""


class Point(NamedTuple):
    """A fraction of the pool, and the perplexity of a language model of it on the dev set.

    method: the ``selected`` lines, those with the best scores, or ``random`` ones with as many words, of which all but
    the fraction are means over samples.
    """

    method: str
    fraction: float
    sentences: float
    words: float
    perplexity: float


def points_of(curve: Iterable[Point], method: str) -> list[Point]:
    """The points of a method, the smallest fraction first."""
    return sorted((point for point in curve if point.method == method), key=lambda point: point.fraction)


def chosen_fraction(curve: Iterable[Point]) -> float:
    """The fraction of selected lines with the lowest dev perplexity (the smallest of equals)."""
    return min(points_of(curve, "selected"), key=lambda point: point.perplexity).fraction


class PoolModels:
    """Trains models on rows of the pool and measures them on the dev set; all text is the target side.

    The pool is gone through twice and may stay on disk: its ids lie in a temporary file that is mapped into memory.
    """

    def __init__(self, pool: Iterable[str], in_domain: list[str], dev: list[str], order: int):
        vocabulary = Vocabulary.from_sentences(chain(pool, in_domain))
        self.vocabulary, self.order = vocabulary, order
        self.pool, self.dev = _encode_on_disk(vocabulary, pool), vocabulary.encode(dev)

    def measure(self, rows: np.ndarray) -> tuple[int, int, float]:
        """Sentences and words of the pool's ``rows`` and the dev perplexity of a model of them, which is estimated on
        disk where they are many.

        Of its n-grams only those in the dev set are looked up, and need to be in memory.
        """
        parts = (self.pool.take(rows[start : start + LINES]) for start in range(0, len(rows), LINES))
        words = int((self.pool.offsets[rows + 1] - self.pool.offsets[rows]).sum())
        with tempfile.TemporaryDirectory() as folder:
            estimated = estimate_within(parts, self.order, (), MEMORY, Path(folder), len(self.vocabulary) - 1)
            model = NgramModel.from_tables(restrict_tables(estimated.tables, self.dev), self.vocabulary)
        return len(rows), words, measure_perplexity(model, self.dev).value

    def rows_with_words(self, words: int, generator: np.random.Generator) -> np.ndarray:
        """Random rows, without replacement, that have ``words`` words together (the last may exceed it)."""
        rows = generator.permutation(len(self.pool))
        return rows[: np.searchsorted(np.cumsum(self.pool.lengths[rows]), words) + 1]


def _encode_on_disk(vocabulary: Vocabulary, lines: Iterable[str]) -> Ragged:
    """As ``Vocabulary.encode``, with the ids in a file that nobody else sees and that goes when they do."""
    lengths = [np.zeros(1, dtype=np.int64)]
    with tempfile.TemporaryFile() as stream:
        for encoded in vocabulary.encode_pieces(lines, LINES):
            stream.write(encoded.values.data)
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
    refine: bool = True,
) -> list[Point]:
    """Measure the ``fractions`` of the ranked pool, and if wanted finer ones around the best.

    ranking: int ``[lines]``, rows of the pool, best first. Random samples of each size follow from ``seed`` alone.
    """
    curve: list[Point] = []

    def measure(fraction: float) -> list[Point]:
        best = models.measure(ranking[: lines_of(fraction, len(ranking))])
        generators = (np.random.default_rng([seed, number]) for number in range(random_samples))
        samples = [models.measure(models.rows_with_words(best[1], generator)) for generator in generators]
        points = [Point("selected", fraction, *best)]
        return points + ([Point("random", fraction, *np.mean(samples, axis=0).tolist())] if samples else [])

    with ThreadPoolExecutor(max_workers=threads) as executor:
        wanted = sorted({float(fraction) for fraction in fractions})
        while wanted:
            for points in executor.map(measure, wanted):
                curve += points
                for name, fraction, *figures in points:
                    text = "%.1f %% of the pool, %s: %d lines, %d words, dev perplexity %.2f"
                    logger.info(text, 100 * fraction, name, *figures)
            measured = [point.fraction for point in points_of(curve, "selected")]
            wanted = _halfway(measured, chosen_fraction(curve)) if refine else []
    return curve


def lines_of(fraction: float, lines: int) -> int:
    """How many lines a fraction of the pool is; at least one."""
    return min(lines, max(1, round(fraction * lines)))


def _halfway(fractions: list[float], best: float) -> list[float]:
    """Fractions halfway between the best and its neighbours; none when that step is below ``FINEST_STEP``."""
    place = fractions.index(best)
    below = best - (fractions[place - 1] if place else 0)
    above = (fractions[place + 1] if place + 1 < len(fractions) else min(1, best + below)) - best
    steps = [-below / 2 if below / 2 >= FINEST_STEP else 0, above / 2 if above / 2 >= FINEST_STEP else 0]
    return [round(best + step, 4) for step in steps if step]


def write_curve(path: Path, plot: Path, curve: Sequence[Point], title: str) -> None:
    """Write the points of a curve (CSV), and draw dev perplexity against the part of the pool that is kept (PNG).

    Without points, which is where the whole pool is kept, the plot says so.
    """
    rows = []
    for point in (*points_of(curve, "selected"), *points_of(curve, "random")):
        chosen = int(point.method == "selected" and point.fraction == chosen_fraction(curve))
        sizes = round(point.sentences), round(point.words)
        rows.append((f"{point.fraction:g}", *sizes, f"{point.perplexity:.4f}", point.method, chosen))
    write_rows(path, ("kept_fraction", "sentences", "words", "dev_perplexity", "method", "chosen"), rows)
    with drawing(plot, 6.4, 4.0) as figure:
        axes = figure.add_subplot()
        if curve:
            _draw(axes, curve, title)
        else:
            axes.text(0.5, 0.5, "selection is off: the whole pool is kept", ha="center", va="center")
            axes.set_axis_off()


def _draw(axes: Axes, curve: Sequence[Point], title: str) -> None:
    selected, random = points_of(curve, "selected"), points_of(curve, "random")
    best = next(point for point in selected if point.fraction == chosen_fraction(curve))
    kept = f"kept: {100 * best.fraction:.3g} %, perplexity {best.perplexity:.1f}"
    small: dict[str, Any] = {"marker": "o", "markersize": 3}
    star: dict[str, Any] = {"marker": "*", "markersize": 14, "linestyle": "none"}
    of_random = (random, GREY, "random, as many words", small)
    for points, colour, label, style in (of_random, (selected, BLUE, "selected", small), ([best], BLUE, kept, star)):
        if points:
            x, y = [100 * point.fraction for point in points], [point.perplexity for point in points]
            axes.plot(x, y, color=colour, label=label, **style)
    percentages = [100 * point.fraction for point in selected]
    axes.set_xscale("log")
    axes.set_xticks([tick for tick in (1, 2, 5, 10, 20, 50, 100) if min(percentages) <= tick <= max(percentages)])
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set(xlabel="part of the pool kept (%, log scale)", ylabel="dev perplexity", title=title)
    clean(axes)
    axes.legend(frameon=False)
