"""Steps of the stage ``tuning``."""

import logging
from pathlib import Path
from typing import Any

from neural_smt.decoding.features import Weights
from neural_smt.decoding.model import TranslationModel
from neural_smt.decoding.scorers import load_feature
from neural_smt.errors import UserError
from neural_smt.experiment.settings import section_settings
from neural_smt.experiment.system_folder import System
from neural_smt.io.files import read_object, read_parallel
from neural_smt.tuning.loop import State, fingerprint, run, select, write_run
from neural_smt.tuning.methods import method_for

logger = logging.getLogger(__name__)


def tune(
    *,
    system: Path,
    source: Path,
    reference: Path,
    decoding: dict[str, Any],
    settings: dict[str, Any],
    seed: int,
    weights: Path,
    history: Path,
    plot: Path,
    state: Path,
    device: str = "cpu",
    threads: int = 1,
) -> None:
    """Tune the weights of a system on a development set (MERT or MIRA).

    system: a searched one, see ``system_folder``; source, reference: tokenised text, one sentence a line; decoding:
    search settings; settings: of the section ``tuning``; state: a folder for progress, removed when the outputs are
    written. Every system starts from its declared weights. Writes weights (JSON), history (CSV, one row per iteration)
    and its plot.
    """
    sources, references = ([line.split() for line in lines] for lines in read_parallel(source, reference))
    if not sources:
        raise UserError(f"{source}: empty; tuning needs a development set")
    made_of = System.load(system)
    model = TranslationModel.load(made_of)
    options = section_settings("tuning", settings)
    feature = load_feature(made_of, model, device)
    feature_set = model.feature_set.with_feature(feature.name) if feature else model.feature_set

    search = section_settings("decoding.tuning", decoding)
    method = method_for(model, search, sources, references, options, threads, feature)
    made_with = [options.as_dict(), decoding, feature_set.names, seed, read_object(system)]
    kept = State(state, fingerprint(made_with, [source, reference, *made_of.files()]))
    progress = run(method, Weights.defaults(feature_set).vector(feature_set), seed, kept, threads)
    write_run(feature_set, progress.iterations, history, plot)
    Weights.from_vector(feature_set, select(progress, options.select)).save(weights)
    kept.remove()
    if feature:
        logger.info("%s", feature.describe())
