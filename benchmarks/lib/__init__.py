"""What the benchmarks share: where things are, and how time and memory are taken."""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
RESULTS = ROOT / "benchmarks" / "results"
SHARED = Path(os.environ.get("NEURAL_SMT_SHARED", ROOT.parent / "shared"))
"""The reference data: corpora, and what the classic tools made of them."""

sys.path.insert(0, str(ROOT / "pkg"))


def result_folders() -> list[Path]:
    """The folders of all results that tell what their jobs took."""
    return sorted(path.parent for path in (ROOT / "results").glob("*/benchmarks"))


REPETITIONS = 3
"""The fastest repetition counts: the others were disturbed."""


def fastest(work: Callable[..., Any], *arguments: Any, clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds of the fastest of ``REPETITIONS`` calls (wall by default; ``time.process_time`` for CPU)."""
    seconds = []
    for _ in range(REPETITIONS):
        began = clock()
        work(*arguments)
        seconds.append(clock() - began)
    return min(seconds)


def network_parser(description: str, sizes: Iterable[str]) -> argparse.ArgumentParser:
    """The options of every benchmark of a network: where, how precisely, how long, and at which of its sizes."""
    sizes = tuple(sizes)
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--precision", choices=("auto", "fp32", "bf16"), default="auto")
    parser.add_argument("--seconds", type=float, default=6.0, help="of each measurement")
    parser.add_argument("--sizes", nargs="*", choices=sizes, default=sizes)
    return parser


def peak_megabytes() -> int:
    """Largest resident memory of this process so far (Linux; ``getrusage`` would count the parent's before exec)."""
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) // 1024
