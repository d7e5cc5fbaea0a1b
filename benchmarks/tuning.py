"""MERT and MIRA on the accumulated 100-best lists of three real Moses runs, beside Moses' own optimiser.

A second table asks how the two take many features: a hundred are added to the fourteen of the first lists, weights are
tuned on one half of the sentences and judged on the other. Needs the reference data (folder ``oracle/mert`` in
NEURAL_SMT_SHARED, by default ``../shared``): features, statistics, starting points and logs of ``mert -n 20``. Writes
benchmarks/results/tuning.json.
"""

import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from lib import RESULTS, SHARED

from neural_smt.bleu import sentence_bleu
from neural_smt.experiment.settings import section_settings
from neural_smt.io.files import read_lines, write_json
from neural_smt.io.ragged import offsets_of
from neural_smt.tuning.candidates import Candidates
from neural_smt.tuning.mert import ErrorSurface, Optimum, highest, optima
from neural_smt.tuning.mira import optimise_margins

SEEDS = (1, 2, 3)

EXTRA = 100
"""How many features are added for the second table."""

SIGNAL = 0.05
"""Correlation (about) of a weak feature with BLEU+1 within a sentence."""

MIRA = section_settings("tuning.mira", {}).as_dict()

Tune = Callable[[Candidates, np.ndarray, np.random.Generator], Optimum]
"""A method: lists, starting weights, random numbers."""


def read_moses_lists(path: Path, kind: type) -> tuple[np.ndarray, np.ndarray]:
    """Candidate lists as Moses' tuning scripts keep them (``features.dat``, ``scores.dat``): the sentence of each
    candidate, int32 ``[N]``, and its numbers, ``[N, F]``.
    """
    sentences, rows = [], []
    for line in read_lines(path):
        if "_BEGIN_0" in line:
            sentence = int(line.split()[1])
        elif "_END_0" not in line:
            sentences.append(sentence)
            rows.append(np.array(line.split(), dtype=kind))
    return np.array(sentences, dtype=np.int32), np.array(rows, dtype=kind)


def moses(folder: Path, run: int) -> tuple[np.ndarray, float, float]:
    """The starting point of a run, and the BLEU (0 to 100) and wall seconds of Moses' optimiser."""
    log = (folder / f"run{run}.mert.log").read_text()
    start = np.array((folder / f"run{run}.init.opt").read_text().splitlines()[0].split(), dtype=float)
    bleu = float(re.findall(r"=> ([\d.]+)", log)[-1])
    seconds = float(re.findall(r"Stopping\.\.\. : \[Wall ([\d.]+)", log)[-1])
    return start, 100 * bleu, seconds


def mert(restarts: int, refinements: int) -> Tune:
    """Coordinate searches from the starting weights, random points, and points around the best."""

    def tune(candidates: Candidates, start: np.ndarray, generator: np.random.Generator) -> Optimum:
        surface = ErrorSurface(candidates)
        settings = section_settings("tuning", {"restarts": restarts, "refinements": refinements})
        return highest(optima(surface, [start], settings, generator))

    return tune


def mira(candidates: Candidates, start: np.ndarray, generator: np.random.Generator) -> Optimum:
    """Batch MIRA with its default settings."""
    return optimise_margins(candidates, ErrorSurface(candidates), start, generator, MIRA)


METHODS: dict[str, Tune] = {"restarts_only": mert(20, 0), "with_refinements": mert(20, 20), "mira": mira}


def measure(candidates: Candidates, start: np.ndarray, tune: Tune) -> dict:
    """Wall seconds (median) and BLEU (mean over seeds, 0 to 100) of one thread."""
    seconds, scores = [], []
    for seed in SEEDS:
        began = time.perf_counter()
        optimum = tune(candidates, start, np.random.default_rng(seed))
        seconds.append(time.perf_counter() - began)
        scores.append(100 * optimum.bleu)
    return {"seconds": round(float(np.median(seconds)), 2), "bleu": round(float(np.mean(scores)), 3)}


def half(candidates: Candidates, remainder: int) -> Candidates:
    """The lists of the even (0) or odd (1) sentences."""
    kept = candidates.sentences % 2 == remainder
    return Candidates(
        candidates.features[kept],
        candidates.statistics[kept],
        candidates.digests[kept],
        offsets_of(np.diff(candidates.offsets)[remainder::2]),
    )


def widened(candidates: Candidates, signal: float) -> Candidates:
    """The lists with ``EXTRA`` more features: ``signal`` times BLEU+1 within the sentence, the rest unit noise."""
    noise = np.random.default_rng(0).normal(size=(len(candidates), EXTRA))
    good = sentence_bleu(candidates.statistics)
    counts = np.maximum(np.bincount(candidates.sentences, minlength=candidates.size), 1)
    good -= (np.bincount(candidates.sentences, weights=good, minlength=candidates.size) / counts)[candidates.sentences]
    extra = noise + signal * (good / good.std())[:, None]
    features = np.hstack([candidates.features, extra]).astype(np.float32)
    return replace(candidates, features=features)


def held_out(candidates: Candidates, start: np.ndarray, tune: Tune) -> dict:
    """BLEU (0 to 100, mean over both halves) on the half tuned on and on the other, and seconds of one tuning."""
    start = np.concatenate([start, np.zeros(candidates.features.shape[1] - len(start))])
    halves = [half(candidates, remainder) for remainder in (0, 1)]
    began, seen, unseen = time.perf_counter(), [], []
    optima = [tune(part, start, np.random.default_rng(SEEDS[0])) for part in halves]
    seconds = (time.perf_counter() - began) / len(halves)
    for optimum, other in zip(optima, reversed(halves), strict=True):
        seen.append(100 * optimum.bleu)
        unseen.append(100 * ErrorSurface(other, np.zeros(len(start), dtype=bool)).bleu(optimum.weights))
    return {
        "seconds": round(seconds, 2),
        "bleu": round(float(np.mean(seen)), 3),
        "held_out_bleu": round(float(np.mean(unseen)), 3),
    }


def many_features(candidates: Candidates, start: np.ndarray) -> dict:
    """The second table: by features, then by method."""
    sets = {
        "real": candidates,
        "real_and_noise": widened(candidates, 0.0),
        "real_and_weak": widened(candidates, SIGNAL),
    }
    table = {}
    for name, lists in sets.items():
        table[name] = {method: held_out(lists, start, METHODS[method]) for method in ("restarts_only", "mira")}
        for method, row in table[name].items():
            print(
                f"{name} ({lists.features.shape[1]} features), {method}: {row['seconds']:.1f} s, "
                f"BLEU {row['bleu']:.2f}, held out {row['held_out_bleu']:.2f}",
                flush=True,
            )
    return table


def main() -> None:
    folder = SHARED / "oracle" / "mert"
    if not folder.is_dir():
        print(f"skipped: no reference data at {folder}; set NEURAL_SMT_SHARED")
        return
    results, candidates, wide = [], None, {}
    for run in (1, 2, 3):
        sentences, features = read_moses_lists(folder / f"run{run}.features.dat.gz", np.float32)
        _, statistics = read_moses_lists(folder / f"run{run}.scores.dat.gz", np.int32)
        candidates = candidates or Candidates.empty(int(sentences.max()) + 1, features.shape[1])
        # the lists come without their words: candidates that differ in nothing else count as one
        words = (statistics.astype(np.uint64) * np.uint64(31) ** np.arange(9, dtype=np.uint64)).sum(axis=1)
        candidates = candidates.extended(sentences, words, features, statistics)
        start, bleu, seconds = moses(folder, run)
        if run == 1:
            for tune in METHODS.values():
                tune(candidates, start, np.random.default_rng(0))  # compiles the kernels
            wide = many_features(candidates, start)
        row = {
            "candidates": len(candidates),
            "moses": {"seconds": round(seconds, 2), "bleu": round(bleu, 3)},
            **{name: measure(candidates, start, tune) for name, tune in METHODS.items()},
        }
        results.append(row)
        print(
            f"{row['candidates']:>8,} candidates: "
            + "; ".join(f"{name} {row[name]['seconds']:.2f} s, BLEU {row[name]['bleu']:.2f}" for name in list(row)[1:]),
            flush=True,
        )
    write_json(RESULTS / "tuning.json", {"threads": 1, "seeds": len(SEEDS), "lists": results, "many_features": wide})


if __name__ == "__main__":
    main()
