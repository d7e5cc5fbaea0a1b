"""Steps of the stage ``tuning``."""

import logging
import math
from dataclasses import asdict
from pathlib import Path

import numpy as np

from neural_smt.decoding.lattices.flat import FlatLattices
from neural_smt.decoding.lattices.pruning import prune
from neural_smt.decoding.model import TranslationModel
from neural_smt.decoding.references import encode_references
from neural_smt.decoding.search import Decoder, SearchSettings
from neural_smt.decoding.weights import Weights
from neural_smt.errors import UserError
from neural_smt.files import read_parallel
from neural_smt.settings import read_settings
from neural_smt.tuning.history import plot_history, write_history
from neural_smt.tuning.loop import run, select
from neural_smt.tuning.methods import LatticeMethod, ListMethod, Method, Translation
from neural_smt.tuning.settings import TuningSettings
from neural_smt.tuning.state import State, fingerprint

logger = logging.getLogger(__name__)


def tune(
    *,
    source: Path,
    reference: Path,
    phrase_table: Path,
    language_model: Path,
    source_vocabulary: Path,
    target_vocabulary: Path,
    columns: dict[str, str],
    features: list[str],
    decoding: dict,
    settings: dict,
    seed: int,
    weights: Path,
    history: Path,
    plot: Path,
    state: Path,
    threads: int = 1,
) -> None:
    """Tune the weights of a system on a development set (MERT or MIRA).

    source, reference: tokenised text, one sentence a line; columns: feature group -> score column; features: the
    system's feature groups; decoding: search settings; settings: see ``TuningSettings``; state: a folder for progress,
    removed when the outputs are written. Writes weights (JSON), history (CSV, one row per iteration) and its plot.
    """
    sources, references = ([line.split() for line in lines] for lines in read_parallel(source, reference))
    if not sources:
        raise UserError(f"{source}: empty; tuning needs a development set")
    model = TranslationModel.load(
        phrase_table=phrase_table,
        language_models=[language_model],
        columns={name: Path(path) for name, path in columns.items()},
        source_vocabulary=source_vocabulary,
        target_vocabulary=target_vocabulary,
        features=features,
    )
    options = read_settings(TuningSettings, settings, "tuning")
    feature_set = model.feature_set

    search = read_settings(SearchSettings, decoding, "decoding.tuning")
    start = Weights.defaults(feature_set)
    prepared = Decoder(model, search, start, threads).prepare(sources)  # once: all iterations read the same options

    def decoder(vector: np.ndarray) -> Decoder:
        return Decoder(model, search, Weights.from_vector(feature_set, vector), threads)

    def translate(vector: np.ndarray) -> list[Translation]:
        return decoder(vector).decode(prepared, nbest=options.nbest, distinct=True)

    def build_lattices(vector: np.ndarray) -> FlatLattices:
        density = options.density or math.inf
        lattices = [lattice and prune(lattice, density=density) for lattice in decoder(vector).lattices(prepared)]
        return FlatLattices.of(lattices, feature_set.size)

    method: Method = ListMethod(translate, references, feature_set.tunable, options)
    if options.candidates == "lattice":
        encoded = encode_references(references, model.target_vocabulary, prepared.unknown_words)
        method = LatticeMethod(build_lattices, encoded, feature_set.tunable, options)
    files = [source, reference, phrase_table, language_model, source_vocabulary, target_vocabulary, *columns.values()]
    kept = State(state, fingerprint([asdict(options), decoding, feature_set.names, seed], files))
    progress = run(method, start.vector(feature_set), options, seed=seed, state=kept, threads=threads)
    write_history(history, progress.iterations, feature_set.names)
    plot_history(plot, progress.iterations, feature_set.names, feature_set.tunable)
    Weights.from_vector(feature_set, select(progress, options.select)).save(weights)
    kept.remove()
