"""The outer loop of tuning: decode, add to what was found before, optimise, until nothing changes.

Its state is kept on disk, so that a killed run continues after its last iteration.
"""

import logging
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.ticker import MaxNLocator

from neural_smt.decoding.features import FeatureSet
from neural_smt.errors import UserError
from neural_smt.io.files import atomic, digest_json, read_object, write_json
from neural_smt.io.plots import BLUE, GREY, clean, drawing
from neural_smt.io.tables import formatted, write_frame
from neural_smt.io.temporaries import remove_folder
from neural_smt.tuning.candidates import Candidates, LatticePool
from neural_smt.tuning.mert import Optimum
from neural_smt.tuning.methods import Method

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Iteration:
    """One pass of decoding and optimisation; the last optimum is decoded alone.

    weights: those it decoded with; decoder_bleu: of the best translations they gave (0 to 100); list_bleu: that of the
    optimum on all candidates so far, or of ``weights`` where there is nothing more to optimise (0 to 100); candidates,
    new_candidates: in all, and those of this pass (arcs where lattices are tuned on); mert_seconds: what the optimiser
    took.
    """

    weights: list[float]
    decoder_bleu: float
    list_bleu: float
    candidates: int
    new_candidates: int
    decode_seconds: float
    mert_seconds: float


@dataclass(frozen=True)
class Progress:
    """Everything the next iteration depends on.

    weights: what to decode with next; candidates: the pool of the method; finished: nothing is left to do.
    """

    iterations: list[Iteration]
    weights: list[float]
    candidates: Candidates | LatticePool
    finished: bool = False


class State:
    """A folder with one subfolder per finished iteration (only the latest is kept).

    A subfolder appears and goes by a rename, so what is there is whole; one that was made from
    other inputs or settings (another ``fingerprint``) is not used.
    """

    def __init__(self, folder: Path, fingerprint: str):
        self.folder, self.fingerprint = Path(folder), fingerprint

    def save(self, progress: Progress) -> None:
        """Keep this progress, then drop what it replaces."""
        older = self._subfolders()
        content = {"fingerprint": self.fingerprint, "weights": progress.weights, "finished": progress.finished}
        content["iterations"] = [asdict(iteration) for iteration in progress.iterations]
        with atomic(self.folder / f"iteration{len(progress.iterations):03}", directory=True) as temporary:
            progress.candidates.save(temporary / "candidates")
            write_json(temporary / "progress.json", content)
        for folder in older:
            remove_folder(folder)

    def load(self, pool: type[Candidates] | type[LatticePool]) -> Progress | None:
        """The latest progress, with this kind of pool, of a run with the same fingerprint; ``None`` without one."""
        for folder in reversed(self._subfolders()):
            try:
                content = read_object(folder / "progress.json")
                if content["fingerprint"] == self.fingerprint:
                    iterations = [Iteration(**value) for value in content["iterations"]]
                    candidates = pool.load(folder / "candidates", mapped=False)
                    return Progress(iterations, content["weights"], candidates, content["finished"])
                logger.info("%s was made from other inputs or settings and is not used", folder)
            except (UserError, TypeError) as error:
                logger.warning("%s cannot be read (%s): it is not used", folder, error)
            remove_folder(folder)
        return None

    def remove(self) -> None:
        """Delete the folder."""
        remove_folder(self.folder)

    def _subfolders(self) -> list[Path]:
        return sorted(self.folder.glob("iteration[0-9]*"))


def fingerprint(settings: Any, paths: Iterable[Path]) -> str:
    """SHA-256 (hex) of settings (anything JSON can hold) and of the name, size and time of every file at ``paths``."""
    files = []
    for path in map(Path, paths):
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            status = file.stat()
            files.append([str(file), status.st_size, status.st_mtime_ns])
    return digest_json([settings, files])


STANDSTILL = 1e-5
"""Tuning ends when no weight moves as much as this (Moses)."""


def run(method: Method, weights: np.ndarray, seed: int, state: State | None = None, threads: int = 1) -> Progress:
    """Tune ``weights`` (float64 ``[F]``), from where ``state`` stands if progress is kept; the final progress.

    Random numbers of an iteration come from seed and iteration alone, so a run that was interrupted ends like one that
    was not.
    """
    progress = state.load(method.pool) if state else None
    if progress is None:
        empty = method.pool.empty(len(method.references), len(weights))
        progress = Progress([], method.surface(empty).normalised(weights).tolist(), empty)
    elif progress.iterations:
        logger.info("going on after iteration %d", len(progress.iterations))
    while not progress.finished:
        progress = iterate(progress, method, seed, threads)
        if state:
            state.save(progress)
        log(progress)
    return progress


def iterate(progress: Progress, method: Method, seed: int, threads: int) -> Progress:
    """One iteration; the progress after it. When all are done, the last optimum is decoded, so that what is selected
    among are all weights that were found.
    """
    settings, number = method.settings, len(progress.iterations) + 1
    weights, last = np.array(progress.weights), number > method.settings.iterations
    began = time.perf_counter()
    decoder_bleu, pool = method.gather(progress.candidates, weights)
    new = len(pool) - len(progress.candidates)
    decoded = time.perf_counter()
    if last or new == 0:  # nothing that was not optimised on before
        optimum = Optimum(weights, method.surface(pool).bleu(weights))
    else:
        optimum, pool = method.optimise(pool, weights, np.random.default_rng([seed, number]), threads)
    if optimum.bleu == 0:
        logger.warning("no candidate shares four words in a row with its reference; the weights cannot be tuned")
    bleus, seconds = (100 * decoder_bleu, 100 * optimum.bleu), (decoded - began, time.perf_counter() - decoded)
    iteration = Iteration(weights.tolist(), *bleus, len(pool), new, *seconds)
    promised = iteration.list_bleu - iteration.decoder_bleu
    settled = (
        last
        or new == 0
        or (settings.optimiser == "mert" and promised < settings.min_gain)  # MIRA does not aim at the lists' BLEU
        or np.abs(optimum.weights - weights).max() < STANDSTILL
    )
    # weights that promise nothing are not worth leaving decoded ones for
    following = (weights if settled else optimum.weights).tolist()
    return Progress([*progress.iterations, iteration], following, pool, finished=bool(settled))


def select(progress: Progress, how: str) -> np.ndarray:
    """The weights a run returns, float64 ``[F]``: the ``last`` ones, as Moses does, or those whose translations had the
    highest BLEU (``best``).
    """
    if how == "last":
        return np.array(progress.weights)
    return np.array(max(progress.iterations, key=lambda iteration: iteration.decoder_bleu).weights)


def log(progress: Progress) -> None:
    """One line on the latest iteration."""
    logger.info(
        "iteration %(number)d: decoder BLEU %(decoder_bleu).2f, promised %(list_bleu).2f, %(candidates)d candidates "
        "(%(new_candidates)d new), decoding %(decode_seconds).1f s, optimising %(mert_seconds).1f s",
        {"number": len(progress.iterations), **asdict(progress.iterations[-1])},
    )


FORMATS = dict.fromkeys(("decoder_bleu", "list_bleu"), ".4f") | dict.fromkeys(("candidates", "new_candidates"), "d")
FORMATS |= dict.fromkeys(("decode_seconds", "mert_seconds"), ".2f")
"""Columns of the table of a run between the iteration and the weights, and how their numbers are written."""


def write_run(feature_set: FeatureSet, iterations: Sequence[Iteration], history: Path, plot: Path) -> None:
    """Write the table (CSV, a row per iteration) and the picture of a run whose weights are those of these features."""
    rows = [[*(getattr(iteration, name) for name in FORMATS), *iteration.weights] for iteration in iterations]
    formats = FORMATS | dict.fromkeys(feature_set.names, ".6f")
    table = formatted(pd.DataFrame(rows, range(1, len(rows) + 1), list(formats)), formats)
    write_frame(history, table.reset_index(names="iteration"))
    plot_history(plot, iterations, feature_set)


def plot_history(path: Path, iterations: Sequence[Iteration], feature_set: FeatureSet) -> None:
    """Draw BLEU (decoder and candidates) and the tuned weights against iterations, as PNG."""
    with drawing(path, 10.0, 4.0) as figure:
        left, right = figure.subplots(1, 2)
        numbers = range(1, len(iterations) + 1)
        left.plot(numbers, [i.list_bleu for i in iterations], color=GREY, marker="o", markersize=3, label="candidates")
        decoder = [i.decoder_bleu for i in iterations]
        left.plot(numbers, decoder, color=BLUE, marker="o", markersize=4, label="decoder, 1-best")
        left.set(xlabel="iteration", ylabel="development BLEU (tokens)", title="BLEU")
        left.legend(frameon=False)
        weights = np.array([i.weights for i in iterations])
        for name in [feature.name for feature in feature_set if feature.tunable]:
            sums = np.abs(weights[:, feature_set.slices[name]]).sum(axis=1)
            right.plot(numbers, sums, marker="o", markersize=3, label=name)
        right.set(xlabel="iteration", ylabel="sum of absolute weights", title="Weights by feature")
        right.legend(frameon=False, fontsize="small", bbox_to_anchor=(1.0, 1.0), loc="upper left")
        for axes in (left, right):
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
            clean(axes)
