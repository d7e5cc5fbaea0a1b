"""What happened in each iteration of a tuning run, as a table and as a picture."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from neural_smt.decoding.features import FeatureSet
from neural_smt.io.files import atomic, write_csv


@dataclass(frozen=True)
class Iteration:
    """One pass of decoding and optimisation.

    weights: those it decoded with; decoder_bleu: of the best translations they gave (0 to 100); list_bleu: what was
    then found on all candidates so far (0 to 100); candidates, new_candidates: in all, and those of this pass (arcs
    where lattices are tuned on); mert_seconds: what the optimiser took.
    """

    weights: list[float]
    decoder_bleu: float
    list_bleu: float
    candidates: int
    new_candidates: int
    decode_seconds: float
    mert_seconds: float

    @classmethod
    def from_json(cls, value: dict) -> "Iteration":
        return cls(**value)

    def to_json(self) -> dict:
        return asdict(self)


def write_run(feature_set: FeatureSet, iterations: Sequence[Iteration], history: Path, plot: Path) -> None:
    """Write the table and the picture of a run whose weights are those of these features."""
    write_history(history, iterations, feature_set.names)
    plot_history(plot, iterations, feature_set.names, feature_set.tunable)


def write_history(path: Path, iterations: Sequence[Iteration], names: Sequence[str]) -> None:
    """Write one CSV row per iteration; a column per weight, named as in ``names``."""
    header = [
        "iteration",
        "decoder_bleu",
        "list_bleu",
        "candidates",
        "new_candidates",
        "decode_seconds",
        "mert_seconds",
    ]
    rows = [
        [
            number,
            f"{i.decoder_bleu:.4f}",
            f"{i.list_bleu:.4f}",
            i.candidates,
            i.new_candidates,
            f"{i.decode_seconds:.2f}",
            f"{i.mert_seconds:.2f}",
            *(f"{weight:.6f}" for weight in i.weights),
        ]
        for number, i in enumerate(iterations, start=1)
    ]
    write_csv(path, [*header, *names], rows)


def plot_history(path: Path, iterations: Sequence[Iteration], names: Sequence[str], tunable: np.ndarray) -> None:
    """Draw BLEU (decoder and candidates) and the tuned weights against iterations, as PNG."""
    figure = Figure(figsize=(10.0, 4.0), dpi=150, layout="constrained")
    left, right = figure.subplots(1, 2)
    numbers = range(1, len(iterations) + 1)
    left.plot(numbers, [i.list_bleu for i in iterations], color="0.6", marker="o", markersize=3, label="candidates")
    left.plot(
        numbers,
        [i.decoder_bleu for i in iterations],
        color="#0b5394",
        marker="o",
        markersize=4,
        label="decoder, 1-best",
    )
    left.set(xlabel="iteration", ylabel="development BLEU (tokens)", title="BLEU")
    left.legend(frameon=False)
    weights = np.array([i.weights for i in iterations])
    for group, columns in _groups(names, tunable).items():
        right.plot(numbers, np.abs(weights[:, columns]).sum(axis=1), marker="o", markersize=3, label=group)
    right.set(xlabel="iteration", ylabel="sum of absolute weights", title="Weights by feature")
    right.legend(frameon=False, fontsize="small", bbox_to_anchor=(1.0, 1.0), loc="upper left")
    for axes in (left, right):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    with atomic(path) as temporary:
        figure.savefig(temporary, format="png", metadata={"Software": None})


def _groups(names: Sequence[str], tunable: np.ndarray) -> dict[str, list[int]]:
    """The positions of the tunable scores of each feature: ``TranslationModel0_1`` belongs to ``TranslationModel0``."""
    groups: dict[str, list[int]] = {}
    for position in np.flatnonzero(tunable).tolist():
        groups.setdefault(names[position].split("_")[0], []).append(position)
    return groups
