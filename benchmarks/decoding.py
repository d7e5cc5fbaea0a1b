"""Decoding speed and model scores beside what Moses and Moses2 measured, on the same model and weights.

The model is ``oracle/decoding`` of the reference data (NEURAL_SMT_SHARED, by default ``../shared``): 200 sentences of
Multi30k English-French with the tables that Moses used. The peers' speeds are of 1,000 sentences of the same test set
on a machine of the same kind; their scores are of these 200 sentences. CPU seconds of one thread, kernels warm.
Writes benchmarks/results/decoding.json.
"""

import os
import resource
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
sys.path.insert(0, str(ROOT / "pkg"))

import numpy as np  # noqa: E402

from neural_smt.decoding.moses.ini import read_moses_ini  # noqa: E402
from neural_smt.decoding.moses.model import read_text_model  # noqa: E402
from neural_smt.decoding.search import Decoder, SearchSettings  # noqa: E402
from neural_smt.files import read_lines, write_json  # noqa: E402

SETTINGS = {
    "stack 200": {"algorithm": "stack", "stack_size": 200},
    "cube 1000": {"algorithm": "cube", "pop_limit": 1000, "stack_size": 1000},
    "cube 400": {"algorithm": "cube", "pop_limit": 400, "stack_size": 400},
    "cube 200": {"algorithm": "cube", "pop_limit": 200, "stack_size": 200},
    "cube 400, stack 100": {"algorithm": "cube", "pop_limit": 400, "stack_size": 100},
}
MOSES_SPEED = {"stack 200": 13.8, "cube 1000": 43.3, "cube 200": 150.0}
MOSES2_SPEED = {"stack 200": 29.6, "cube 1000": 122.0, "cube 200": 463.0}
MOSES_SCORE = {"stack 200": -20.2842, "cube 1000": -20.2876, "cube 200": -20.2970}

REPETITIONS = 3
"""The fastest repetition counts: the others were disturbed."""


def measure(decoder: Decoder, sentences: list[list[str]], nbest: int) -> tuple[float, float]:
    """Sentences per second of CPU time, and the mean model score of the best translations."""
    seconds, score = float("inf"), 0.0
    for _ in range(REPETITIONS):
        began = time.process_time()
        translations = decoder.decode(sentences, nbest)
        seconds = min(seconds, time.process_time() - began)
        score = float(np.mean([translation.score for translation in translations]))
    return len(sentences) / seconds, score


def main() -> None:
    shared = Path(os.environ.get("NEURAL_SMT_SHARED", ROOT.parent / "shared"))
    folder = shared / "oracle" / "decoding"
    if not folder.is_dir():
        print(f"no reference data at {folder}: nothing measured")
        return
    began = time.perf_counter()
    ini = read_moses_ini(folder / "moses.ini")
    model = read_text_model(ini)
    loading = time.perf_counter() - began
    sentences = [line.split() for line in read_lines(folder / "input.en")]
    results = {"load_text_seconds": round(loading, 2), "sentences": len(sentences), "settings": {}}
    print(f"text tables and ARPA read in {loading:.1f} s")
    print(
        f"{'search':22}{'sent/s':>9}{'100-best':>9}{'Moses':>8}{'Moses2':>8}"
        f"{'mean score':>12}{'Moses':>10}{'first s':>9}"
    )
    for name, settings in SETTINGS.items():
        decoder = Decoder(model, SearchSettings(**settings), ini.weights)
        began = time.perf_counter()
        decoder.decode(sentences[:1], 2)
        first = time.perf_counter() - began
        speed, score = measure(decoder, sentences, 0)
        listing, _ = measure(decoder, sentences, 100)
        results["settings"][name] = {
            "sentences_per_second": round(speed, 1),
            "sentences_per_second_100_best": round(listing, 1),
            "mean_score": round(score, 4),
            "moses_sentences_per_second": MOSES_SPEED.get(name),
            "moses2_sentences_per_second": MOSES2_SPEED.get(name),
            "moses_mean_score": MOSES_SCORE.get(name),
            "first_sentence_seconds": round(first, 2),
        }
        print(
            f"{name:22}{speed:9.1f}{listing:9.1f}{MOSES_SPEED.get(name, '-'):>8}{MOSES2_SPEED.get(name, '-'):>8}"
            f"{score:12.4f}{MOSES_SCORE.get(name, '-'):>10}{first:9.2f}"
        )
    results["peak_memory_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    write_json(RESULTS / "decoding.json", results)


if __name__ == "__main__":
    main()
