"""Phrase tables of 50,000 to 400,000 sentence pairs, made at once and in shards: time and memory against size.

Needs the reference data (``data`` in NEURAL_SMT_SHARED, by default ``../shared``): the four domains that the experiment
``news`` chooses from. They are tokenised and aligned by fast_align first, once, which takes some minutes;
``--text PREFIX`` takes PREFIX.en, PREFIX.fr and PREFIX.align instead. Of the pairs, in an order drawn at random, each
size takes the first. Every step runs in a process of its own, as Snakemake runs it: seconds are the sum of all steps
(the lexical tables', too), memory is that of the largest. Writes benchmarks/results/phrase_shards.json.
"""

import argparse
import multiprocessing
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from lib import RESULTS, SHARED, peak_megabytes

from neural_smt.alignment.fast_align import fast_align
from neural_smt.alignment.pharaoh import write_alignments
from neural_smt.alignment.steps import build_lexical_tables
from neural_smt.alignment.symmetrisation import symmetrise_alignments
from neural_smt.corpus.tokenisation import tokenise_lines
from neural_smt.experiment.settings import section_settings
from neural_smt.io.files import read_lines, write_json, write_lines
from neural_smt.io.ragged import Ragged
from neural_smt.phrases.steps import (
    build_phrase_table,
    consolidate_phrases,
    count_targets,
    extract_phrases,
    score_phrases,
)
from neural_smt.vocabulary import Vocabulary

FOLDER = RESULTS / "phrase_shards"
DOMAINS = ("can-laws/train200k", "tatoeba/train", "php-manual/train", "europarl/train")
PAIRS = (50_000, 100_000, 200_000, 400_000)
MAX_LENGTH, SMOOTHING = 7, 0.5
LONGEST = 80
"""Words of a sentence that is taken."""

Job = tuple[Callable[..., None], dict[str, Any]]


def prepare() -> Path:
    """The tokenised and aligned text of all domains, made when it is not there; the prefix of its files."""
    prefix = FOLDER / "text"
    if not prefix.with_suffix(".align").exists():
        print("tokenising and aligning (once) ...", flush=True)
        sides = [
            tokenise_lines([line for name in DOMAINS for line in read_domain(name, language)], language, threads=2)
            for language in ("en", "fr")
        ]
        both = [pair for pair in zip(*sides, strict=True) if all(0 < len(side.split()) <= LONGEST for side in pair)]
        sides = [list(side) for side in zip(*both, strict=True)]
        vocabularies = [Vocabulary.from_sentences(side) for side in sides]
        texts = [vocabulary.encode(side) for vocabulary, side in zip(vocabularies, sides, strict=True)]
        sizes = [len(vocabulary) for vocabulary in vocabularies]
        forward = fast_align(*texts, *sizes, section_settings("alignment.fast_align", {}))
        reverse = fast_align(*reversed(texts), *reversed(sizes), section_settings("alignment.fast_align", {}))
        reverse = Ragged(np.ascontiguousarray(reverse.values[:, ::-1]), reverse.offsets)
        for side, language in zip(sides, ("en", "fr"), strict=True):
            write_lines(prefix.with_suffix(f".{language}"), side)
        write_alignments(prefix.with_suffix(".align"), [symmetrise_alignments(forward, reverse, "grow-diag-final-and")])
    return prefix


def read_domain(name: str, language: str) -> list[str]:
    """The lines of one side of a domain."""
    return read_lines(SHARED / "data" / f"{name}.{language}.gz")


def draw(prefix: Path, pairs: int, folder: Path) -> dict[str, Path]:
    """Write so many sentence pairs and their vocabularies: what the steps take, but for the lexical tables."""
    paths = {"source": folder / "text.en", "target": folder / "text.fr", "alignment": folder / "text.align"}
    for path in paths.values():
        lines = read_lines(prefix.with_suffix(path.suffix))
        chosen = np.random.default_rng(0).permutation(len(lines))[:pairs].tolist()
        write_lines(path, (lines[number] for number in chosen))
    for side in ("source", "target"):
        paths[f"{side}_vocabulary"] = folder / f"{side}.tsv"
        Vocabulary.from_sentences(read_lines(paths[side])).save(paths[f"{side}_vocabulary"])
    return paths


def jobs(paths: dict[str, Path], shards: int, folder: Path) -> Iterator[Job]:
    """The steps from aligned text to phrase table, in an order in which they can run."""
    lexical, smoothing = {"lexical": folder / "lexical"}, {"smoothing": SMOOTHING}
    yield build_lexical_tables, {**paths, "output": folder / "lexical"}
    table = {**paths, **lexical, "max_length": MAX_LENGTH, **smoothing, "output": folder / "table"}
    if shards == 1:
        yield build_phrase_table, table
        return
    names = [f"{number}-of-{shards}" for number in range(1, shards + 1)]
    extracted, consolidated, totals, scored = (
        [folder / f"{step}-{name}" for name in names] for step in ("extracted", "consolidated", "totals", "scored")
    )
    longest = {"max_length": MAX_LENGTH}
    for name, output in zip(names, extracted, strict=True):
        yield extract_phrases, {**paths, "shard": name, **longest, "output": output}
    for name, output in zip(names, consolidated, strict=True):
        yield consolidate_phrases, {"extracted": extracted, "shard": name, **longest, "output": output}
    for name, output in zip(names, totals, strict=True):
        yield count_targets, {"consolidated": consolidated, "shard": name, "output": output}
    for name, own, output in zip(names, consolidated, scored, strict=True):
        counted = {"partition": own, "totals": totals, "shard": name}
        yield score_phrases, {**counted, **lexical, **smoothing, "output": output}
    yield build_phrase_table, {**table, "parts": scored}


def run(step: Callable[..., None], arguments: dict[str, Any]) -> tuple[float, float, int]:
    """Wall and CPU seconds of a step, and the largest memory (MB) of this process, which does nothing else."""
    began, used = time.perf_counter(), time.process_time()
    step(**arguments)
    return time.perf_counter() - began, time.process_time() - used, peak_megabytes()


def measure(prefix: Path, pairs: int, shards: int) -> dict[str, Any]:
    """All steps for so many pairs: summed seconds, the highest memory, and the same of each step."""
    folder = FOLDER / "run"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    spawn = multiprocessing.get_context("spawn")
    steps: dict[str, list[float]] = {}
    with ProcessPoolExecutor(1, mp_context=spawn, max_tasks_per_child=1) as pool:
        paths = pool.submit(draw, prefix, pairs, folder).result()
        for step, arguments in jobs(paths, shards, folder):
            wall, cpu, peak = pool.submit(run, step, arguments).result()
            row = steps.setdefault(step.__name__, [0, 0, 0])
            steps[step.__name__] = [row[0] + wall, row[1] + cpu, max(row[2], peak)]
    shutil.rmtree(folder)
    walls, cpus, peaks = zip(*steps.values(), strict=True)
    result = {"pairs": pairs, "shards": shards, "wall": sum(walls), "cpu": sum(cpus), "peak_megabytes": max(peaks)}
    print("{pairs:,} pairs, {shards} shards: {wall:.1f} s, CPU {cpu:.1f} s, {peak_megabytes} MB".format(**result))
    for name, (wall, cpu, peak) in steps.items():
        print(f"    {name}: {wall:.1f} s, CPU {cpu:.1f} s, {peak} MB", flush=True)
    return result | {"steps": steps}


def fit(runs: list[dict[str, Any]]) -> dict[str, float]:
    """The straight line through CPU seconds against pairs: its two numbers, and the share it explains (R^2)."""
    pairs, seconds = (np.array([run[name] for run in runs], dtype=np.float64) for name in ("pairs", "cpu"))
    slope, start = np.polyfit(pairs, seconds, 1)
    rest = ((seconds - start - slope * pairs) ** 2).sum() / ((seconds - seconds.mean()) ** 2).sum()
    return {"start": float(start), "per_million": float(slope * 1e6), "r2": float(1 - rest)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--text", type=Path, metavar="PREFIX", help="an aligned text instead of the reference data")
    parser.add_argument("--pairs", type=int, nargs="*", default=PAIRS)
    parser.add_argument("--shards", type=int, nargs="*", default=(1, 8))
    options = parser.parse_args()
    if options.text is None and not (SHARED / "data" / DOMAINS[0]).parent.is_dir():
        print(f"skipped: no data at {SHARED}; set NEURAL_SMT_SHARED")
        return
    prefix = options.text or prepare()
    results = {}
    for shards in options.shards:
        measure(prefix, 1000, min(shards, 2))  # compiles the kernels
        results[str(shards)] = {"runs": [measure(prefix, pairs, shards) for pairs in options.pairs]}
        if len(options.pairs) > 2:
            line = fit(results[str(shards)]["runs"])
            print("{start:.1f} s and {per_million:.0f} s a million pairs (R^2 {r2:.4f})".format(**line), flush=True)
            results[str(shards)]["fit"] = line
    write_json(RESULTS / "phrase_shards.json", results)


if __name__ == "__main__":
    main()
