"""MERT on the accumulated 100-best lists of three real Moses runs, beside what Moses' own optimiser needed for them.

Needs the reference data (folder ``oracle/mert`` in NEURAL_SMT_SHARED, by default ``../shared``): features, statistics,
starting points and logs of ``mert -n 20``. Writes benchmarks/results/tuning.json.
"""

import os
import re
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "pkg"))

import numpy as np  # noqa: E402

from neural_smt.files import write_json  # noqa: E402
from neural_smt.tuning.candidates import Candidates  # noqa: E402
from neural_smt.tuning.mert import ErrorSurface, optimise  # noqa: E402
from neural_smt.tuning.moses_format import read_lists  # noqa: E402

SEEDS = (1, 2, 3)


def moses(folder: Path, run: int) -> tuple[np.ndarray, float, float]:
    """The starting point of a run, and the BLEU (0 to 100) and wall seconds of Moses' optimiser."""
    log = (folder / f"run{run}.mert.log").read_text()
    start = np.array((folder / f"run{run}.init.opt").read_text().splitlines()[0].split(), dtype=float)
    bleu = float(re.findall(r"=> ([\d.]+)", log)[-1])
    seconds = float(re.findall(r"Stopping\.\.\. : \[Wall ([\d.]+)", log)[-1])
    return start, 100 * bleu, seconds


def measure(candidates: Candidates, start: np.ndarray, refinements: int) -> dict:
    """Wall seconds (median) and BLEU (mean over seeds, 0 to 100) of one thread, 20 random starts."""
    seconds, scores = [], []
    for seed in SEEDS:
        began = time.perf_counter()
        surface = ErrorSurface(candidates)
        optimum = optimise(surface, [start], generator=np.random.default_rng(seed), refinements=refinements)
        seconds.append(time.perf_counter() - began)
        scores.append(100 * optimum.bleu)
    return {"seconds": round(float(np.median(seconds)), 2), "bleu": round(float(np.mean(scores)), 3)}


def main() -> None:
    folder = Path(os.environ.get("NEURAL_SMT_SHARED", ROOT.parent / "shared")) / "oracle" / "mert"
    if not folder.is_dir():
        print(f"skipped: no reference data at {folder}; set NEURAL_SMT_SHARED")
        return
    results, candidates = [], None
    for run in (1, 2, 3):
        lists = (folder / f"run{run}.features.dat.gz", folder / f"run{run}.scores.dat.gz")
        features, statistics, sentences = read_lists(*lists)
        candidates = candidates or Candidates.empty(int(sentences.max()) + 1, features.shape[1])
        # the lists come without their words: candidates that differ in nothing else count as one
        words = (statistics.astype(np.uint64) * np.uint64(31) ** np.arange(9, dtype=np.uint64)).sum(axis=1)
        candidates = candidates.extended(sentences, words, features, statistics)
        start, bleu, seconds = moses(folder, run)
        if run == 1:
            measure(candidates, start, refinements=0)  # compiles the kernels
        row = {
            "candidates": len(candidates),
            "moses": {"seconds": round(seconds, 2), "bleu": round(bleu, 3)},
            "restarts_only": measure(candidates, start, refinements=0),
            "with_refinements": measure(candidates, start, refinements=20),
        }
        results.append(row)
        print(
            f"{row['candidates']:>8,} candidates: "
            + "; ".join(f"{name} {row[name]['seconds']:.2f} s, BLEU {row[name]['bleu']:.2f}" for name in list(row)[1:]),
            flush=True,
        )
    write_json(ROOT / "benchmarks" / "results" / "tuning.json", {"threads": 1, "seeds": len(SEEDS), "lists": results})


if __name__ == "__main__":
    main()
