"""The step of the stage ``tuning`` that tunes with the recurrent joint model."""

from pathlib import Path

from neural_smt.decoding.recurrent.joint import JointModel
from neural_smt.decoding.recurrent.linked import LinkedLattices
from neural_smt.decoding.weights import Weights
from neural_smt.errors import UserError
from neural_smt.io.files import read_lines
from neural_smt.settings import read_settings
from neural_smt.tuning.history import plot_history, write_history
from neural_smt.tuning.loop import select
from neural_smt.tuning.recurrent import RecurrentTuningSettings, tune_on_lattices


def tune_recurrent(
    *,
    lattices: Path,
    reference: Path,
    start: Path,
    settings: dict,
    without: list[str],
    seed: int,
    weights: Path,
    history: Path,
    plot: Path,
    model: Path | None = None,
    sentences: Path | None = None,
    representation: Path | None = None,
    threads: int = 1,
) -> None:
    """Tune the weights of lattices' features and, with a model, of it, ``Recurrent0``, on a development set.

    lattices: a folder of ``decode_lattices``; model, sentences, representation: as for ``rescore_lattices``; reference:
    tokenised text; start: weights of the system that made the lattices; settings: see ``RecurrentTuningSettings``;
    without: scores (``TranslationModel0_2``) to do without. Writes weights (JSON), history (CSV) and its plot, as
    ``tune`` does.
    """
    options = read_settings(RecurrentTuningSettings, settings, "tuning")
    linked = LinkedLattices.load(lattices, mapped=False)
    references = [line.split() for line in read_lines(reference)]
    if len(references) != len(linked):
        raise UserError(f"{reference} has {len(references)} lines, but there are lattices of {len(linked)} sentences")
    if len(linked.flat.tails) == 0:
        raise UserError(f"{lattices}: holds no translation; tuning needs a development set")
    joint = JointModel.load(model, linked, sentences, representation) if model else None
    progress = tune_on_lattices(
        linked, joint, references, Weights.load(start), options, without=without, seed=seed, threads=threads
    )
    features = linked.with_recurrent if model else linked.features
    write_history(history, progress.iterations, features.names)
    plot_history(plot, progress.iterations, features.names, features.tunable)
    Weights.from_vector(features, select(progress, options.select)).save(weights)
