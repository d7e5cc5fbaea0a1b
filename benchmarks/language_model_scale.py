"""5-gram models of more and more text: time and memory of estimation, in memory and on disk; quantised queries.

The text is both sides of the general pool of the news task, words and marks apart. Each estimation is a process of its
own; time is that of the processor, and memory what the process took beyond what it had before. Writes
benchmarks/results/language_model_scale.json.
"""

import argparse
import gzip
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from lib import RESULTS, SHARED, fastest, peak_megabytes

from neural_smt.io.files import write_json
from neural_smt.io.ragged import Ragged
from neural_smt.language_model.estimation import estimate_within, parse_memory
from neural_smt.language_model.model import NgramModel, measure_perplexity
from neural_smt.language_model.primitives import score_sentences
from neural_smt.vocabulary import Vocabulary

FOLDER = RESULTS / "language_model_scale"
POOL = ("can-laws/train200k", "tatoeba/train", "php-manual/train", "europarl/train")
HELD_OUT = "wmt-news/newstest2012"
SIZES = (100_000, 200_000, 400_000, 800_000)
MEMORY = {"in_memory": "100G", "on_disk": "256M"}
ORDER = 5
PART = 10_000


def sentences(name: str) -> list[str]:
    """Both sides of a text, words and marks apart."""
    lines = []
    for language in ("en", "fr"):
        with gzip.open(SHARED / "data" / f"{name}.{language}.gz", "rt", encoding="utf-8") as stream:
            lines += [" ".join(re.findall(r"\w+|[^\w\s]", line.lower())) for line in stream]
    return lines


def prepare() -> None:
    """Encode the texts, once."""
    if (FOLDER / "text_offsets.npy").exists():
        return
    print("reading the texts (once) ...", flush=True)
    FOLDER.mkdir(parents=True, exist_ok=True)
    lines = [line for name in POOL for line in sentences(name)]
    order = np.random.default_rng(0).permutation(len(lines)).tolist()
    vocabulary = Vocabulary.from_sentences(lines)
    vocabulary.save(FOLDER / "vocabulary.tsv")
    vocabulary.encode(sentences(HELD_OUT)).save(FOLDER, "held_out")
    vocabulary.encode([lines[number] for number in order]).save(FOLDER, "text")


def parts(count: int) -> Iterator[Ragged]:
    """The first sentences of the text."""
    text = Ragged.load(FOLDER, "text")
    for start in range(0, min(count, len(text)), PART):
        yield text.take(np.arange(start, min(start + PART, count, len(text))))


def measure(memory: str, count: int) -> dict:
    """What estimating a model of so many sentences takes."""
    before, began = peak_megabytes(), time.process_time()
    with tempfile.TemporaryDirectory(dir=FOLDER) as scratch:
        tables = estimate_within(parts(count), ORDER, [], parse_memory(memory), Path(scratch)).tables
        seconds, megabytes = time.process_time() - began, peak_megabytes() - before
        ngrams = sum(map(len, tables))
    return {"sentences": count, "seconds": round(seconds, 1), "megabytes": megabytes, "ngrams": ngrams}


def in_a_process(memory: str, count: int) -> dict:
    """``measure`` in a process of its own."""
    command = [sys.executable, __file__, "--measure", memory, str(count)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def queries(count: int) -> dict:
    """Megabytes, speed and perplexity of the exact and of the quantised model of so many sentences."""
    vocabulary, text = Vocabulary.load(FOLDER / "vocabulary.tsv"), Ragged.load(FOLDER, "held_out", mapped=False)
    results, scores = {}, []
    with tempfile.TemporaryDirectory(dir=FOLDER) as scratch:
        tables = estimate_within(parts(count), ORDER, [], parse_memory(MEMORY["on_disk"]), Path(scratch)).tables
        for name in ("exact", "quantised"):
            began = time.process_time()
            model = NgramModel.from_tables(tables, vocabulary, quantise=name == "quantised")
            linking = time.process_time() - began
            arguments = model.arrays, text.values, text.offsets
            scores.append(score_sentences(*arguments)[0])
            seconds = fastest(score_sentences, *arguments, clock=time.process_time)
            arrays = (*model.arrays[:-2], *model.arrays.coded)
            results[name] = {
                "megabytes": round(sum(array.nbytes for array in arrays) / 1e6, 1),
                "linking_seconds": round(linking, 1),
                "queries_per_second": round((len(text.values) + len(text)) / seconds),
                "perplexity": round(measure_perplexity(model, text).value, 3),
            }
    difference = (scores[1] - scores[0]) / (text.lengths + 1)
    results["log10_a_word"] = {"mean": round(float(difference.mean()), 5), "spread": round(float(difference.std()), 5)}
    return results


def line_fit(measured: list[dict]) -> dict:
    """Seconds per million sentences of the straight line through the measurements, and how far off they are."""
    counts, seconds = (np.array([float(row[name]) for row in measured]) for name in ("sentences", "seconds"))
    slope, start = np.polyfit(counts, seconds, 1)
    worst = float(np.abs(seconds / (slope * counts + start) - 1).max())
    return {
        "seconds_per_million": round(float(slope) * 1e6, 1),
        "start": round(float(start), 1),
        "largest_error": round(worst, 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="*", type=int, default=SIZES)
    parser.add_argument("--measure", nargs=2, metavar=("MEMORY", "SENTENCES"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure[0], int(options.measure[1]))))
        return
    if not (SHARED / "data" / "can-laws").is_dir():
        print(f"skipped: no data/can-laws at {SHARED}; set NEURAL_SMT_SHARED")
        return
    prepare()
    results: dict = {}
    for name, memory in MEMORY.items():
        results[name] = [in_a_process(memory, count) for count in options.sizes]
        for row in results[name]:
            print(f"{name}: {row['sentences']} sentences, {row['seconds']} s, {row['megabytes']} MB", flush=True)
        if len(options.sizes) > 1:
            results[f"{name}_fit"] = line_fit(results[name])
            print(f"{name}: {results[f'{name}_fit']}")
    results["queries"] = queries(options.sizes[-1])
    for name, row in results["queries"].items():
        print(f"{name}: {row}")
    write_json(RESULTS / "language_model_scale.json", results)


if __name__ == "__main__":
    main()
