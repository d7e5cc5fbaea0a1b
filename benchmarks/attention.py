"""Training of attention networks with limited target vocabularies beside the full softmax: time and memory.

Sentences of Zipfian words in minibatches of 80 whose sets join to about 6,150 words, as in Mi et al. (2016, table 2):
the 2,000 most frequent words, those of the reference, and further ones for each sentence. Limited vocabularies out of
30,000 to 500,000 target words, the full softmax over 10,000 and 30,000; everything else is the same. Each in a process
of its own: memory is the largest resident one in MB (``peak``), how much of it the updates added to the network that
was made before (``updates``), and what weights and averages of the target words need when all of them have been seen
(``tables``). CPU time is less disturbed by other work than the time that passes. Writes
benchmarks/results/attention.json.
"""

import multiprocessing
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
from lib import RESULTS, network_parser, peak_megabytes

import neural_smt  # noqa: F401  (before PyTorch: it sets up OpenMP)

import torch  # isort: skip
from lib.searches import SIZES  # isort: skip
from lib.trainers import predicted_words, random_sentence_pairs, translation_trainer  # isort: skip

from neural_smt.experiment.settings import network_settings
from neural_smt.io.files import write_json
from neural_smt.networks.attention.network import AttentionConfig, AttentionNetwork
from neural_smt.networks.device import describe_device, select_device

SOURCE_WORDS = 30_000
BUFFER = 4
"""Minibatches drawn together, which are of four lengths."""


class Case(NamedTuple):
    """words: target words; limited: predicted from the sets of the sentences."""

    words: int
    limited: bool


CASES = (Case(30_000, True), Case(100_000, True), Case(500_000, True), Case(10_000, False), Case(30_000, False))


def resident_megabytes() -> int:
    """Resident memory of this process now."""
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) // 1024


def measure(size: str, case: Case, device: str, precision: str, threads: int, seconds: float) -> dict[str, float]:
    """Time and memory of updates."""
    torch.set_num_threads(threads)
    settings = network_settings("attention", {**SIZES[size], "precision": precision, "buffer": BUFFER})
    config = AttentionConfig(SOURCE_WORDS, case.words, **SIZES[size])
    place = select_device(device)
    network = AttentionNetwork(config).to(place)
    pairs = random_sentence_pairs(SOURCE_WORDS, case.words, settings.batch * BUFFER, case.limited)
    trainer = translation_trainer(network, settings, pairs)
    before = resident_megabytes()
    rounds, processor = [], []
    with trainer.products():
        for _ in range(BUFFER):
            trainer.update()
        words, began = predicted_words(trainer, BUFFER), time.perf_counter()
        while not rounds or time.perf_counter() - began < seconds:
            start, busy = time.perf_counter(), time.process_time()
            for _ in range(BUFFER):
                trainer.update()
            rounds.append(time.perf_counter() - start)
            processor.append(time.process_time() - busy)
    vocabularies = [trainer.task.minibatch(update).inputs.vocabulary for update in range(BUFFER)]
    outputs = np.mean([case.words if v is None else len(v.ids) for v in vocabularies])
    peak = peak_megabytes()
    if place.type == "cuda":
        before, peak = 0, torch.cuda.max_memory_allocated() >> 20
    numbers = case.words * (config.embedding + config.rank + 1)
    return {
        "words": case.words,
        "limited": case.limited,
        "outputs": float(outputs),
        "updates_per_second": BUFFER / min(rounds),
        "words_per_second": words / min(rounds),
        "cpu_seconds_per_update": min(processor) / BUFFER,
        "peak_megabytes": peak,
        "updates_megabytes": peak - before,
        "tables_megabytes": 3 * 4 * numbers / 2**20,
    }


def measure_all(size: str, device: str, precision: str, threads: int, seconds: float) -> Sequence[dict[str, float]]:
    """Every case, each in a process of its own."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context, max_tasks_per_child=1) as pool:
        return [pool.submit(measure, size, case, device, precision, threads, seconds).result() for case in CASES]


def main() -> None:
    """Measure the chosen sizes and print a table."""
    parser = network_parser(__doc__, SIZES)
    parser.set_defaults(sizes=["small"])
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    device = select_device(arguments.device)
    print(f"device: {describe_device(device)}, {arguments.precision}, {arguments.threads} threads")
    print(
        f"{'size':7}{'words':>8} {'softmax':8}{'outputs':>8}{'updates/s':>11}{'words/s':>9}{'CPU s/update':>14}", end=""
    )
    print(f"{'MB: peak':>10}{'updates':>9}{'tables':>8}")
    results = {}
    for size in arguments.sizes:
        rows = measure_all(size, arguments.device, arguments.precision, arguments.threads, arguments.seconds)
        for row in rows:
            print(
                f"{size:7}{row['words']:8} {'limited' if row['limited'] else 'full':8}{row['outputs']:8.0f}"
                f"{row['updates_per_second']:11.3f}{row['words_per_second']:9.0f}"
                f"{row['cpu_seconds_per_update']:14.3f}{row['peak_megabytes']:10}"
                f"{row['updates_megabytes']:9}{row['tables_megabytes']:8.0f}"
            )
        results[size] = [{key: round(value, 4) for key, value in row.items()} for row in rows]
    description = {"device": describe_device(device), "precision": arguments.precision, "threads": arguments.threads}
    write_json(RESULTS / "attention.json", description | {"sizes": results})


if __name__ == "__main__":
    main()
