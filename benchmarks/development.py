"""Whole tunings of the Multi30k system on its development set: n-best MERT, lattice MERT and batch MIRA, three seeds.

Decoding is that of experiments/multi30k.yaml (cube pruning 400, stack 100), two threads. Printed are BLEU of the
decoder's tokens (val) in each iteration, and of test_2016_flickr with the weights that did best on val. Moses' own
MERT needed 14:13 minutes and reached 56.89 and 57.58. Writes benchmarks/results/development.json.
"""

import tempfile
import time
from pathlib import Path

import numpy as np
from lib import RESULTS
from lib.multi30k import available, model, sentences

from neural_smt.bleu import bleu, corpus_statistics
from neural_smt.decoding.features import Weights
from neural_smt.decoding.model import TranslationModel
from neural_smt.decoding.search import Decoder, SearchSettings
from neural_smt.experiment.settings import Settings, section_settings
from neural_smt.io.files import write_json
from neural_smt.tuning.loop import State, run, select
from neural_smt.tuning.methods import method_for

SEEDS = (1, 2, 3)
THREADS = 2
ITERATIONS = 8

METHODS = {
    "n-best MERT": section_settings("tuning", {"iterations": ITERATIONS}),
    "lattice MERT": section_settings("tuning", {"iterations": ITERATIONS, "candidates": "lattice", "min_gain": 0.005}),
    "batch MIRA": section_settings("tuning", {"iterations": ITERATIONS, "optimiser": "mira"}),
}


def tune(loaded: TranslationModel, settings: Settings, search: SearchSettings, seed: int) -> dict:
    """One run: BLEU (0 to 100) of each iteration, seconds in all, and BLEU of the test set."""
    start = Weights.defaults(loaded.feature_set).vector(loaded.feature_set)
    began = time.perf_counter()
    method = method_for(loaded, search, sentences("val", "en"), sentences("val", "fr"), settings, THREADS)
    with tempfile.TemporaryDirectory() as folder:
        progress = run(method, start, seed, State(Path(folder), "benchmark"), THREADS)
    seconds = time.perf_counter() - began
    weights = Weights.from_vector(loaded.feature_set, select(progress, "best"))
    test = Decoder(loaded, search, weights, THREADS).decode(sentences("test_2016_flickr", "en"))
    statistics = corpus_statistics([t.tokens for t in test], sentences("test_2016_flickr", "fr"))
    scores = [iteration.decoder_bleu for iteration in progress.iterations]
    return {
        "decoder_bleu": [round(score, 3) for score in scores],
        "best": round(max(scores), 3),
        "at_iteration": int(np.argmax(scores)) + 1,
        "test_bleu": round(100 * bleu(statistics), 3),
        "seconds": round(seconds, 1),
        "optimising_seconds": round(sum(iteration.mert_seconds for iteration in progress.iterations), 1),
    }


def main() -> None:
    if not available():
        return
    loaded = model()
    search = SearchSettings(algorithm="cube", pop_limit=400, stack_size=100)
    results = {}
    for name, settings in METHODS.items():
        runs = [tune(loaded, settings, search, seed) for seed in SEEDS]
        for seed, row in zip(SEEDS, runs, strict=True):
            steps = " ".join(f"{score:.2f}" for score in row["decoder_bleu"])
            print(f"{name}, seed {seed}: {steps}; test {row['test_bleu']:.2f}; {row['seconds']:.0f} s", flush=True)
        keys = ("best", "at_iteration", "test_bleu", "seconds")
        means = {key: round(float(np.mean([row[key] for row in runs])), 3) for key in keys}
        spread = {key: round(float(np.std([row[key] for row in runs])), 3) for key in ("best", "test_bleu")}
        results[name] = {"runs": runs, "mean": means, "standard_deviation": spread}
        print(f"{name}: {means}", flush=True)
    write_json(RESULTS / "development.json", {"threads": THREADS, "methods": results})


if __name__ == "__main__":
    main()
