"""The decoder beside what Moses and Moses2 measured on the same text, tables and weights.

The model is the full one of Multi30k English-French, built here from the text and weighted as Moses tuned it; 1,000
sentences of test_2016_flickr are translated, as the peers did. Searches whose mean model score equals Moses' made no
more search errors than Moses; those are counted, both ways, on the 200 sentences whose scores by Moses are in the
reference data. CPU seconds of one thread with warm kernels; two threads are compared with one by the clock on the wall.
Starting up (text tables, compiled form, kernels for the first time) and memory are measured in processes of their own.
Writes benchmarks/results/decoding.json.
"""

import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from shutil import copyfile
from typing import Any
from unittest.mock import patch

import numpy as np
import sacrebleu
from lib import REPETITIONS, RESULTS, ROOT, SHARED, fastest, peak_megabytes
from lib.multi30k import FOLDER, available, model, sentences

from neural_smt.decoding.features import Weights
from neural_smt.decoding.model import TranslationModel
from neural_smt.decoding.moses.compiled import load_model
from neural_smt.decoding.moses.ini import read_moses_ini
from neural_smt.decoding.moses.steps import BATCH
from neural_smt.decoding.nbest import read_nbest
from neural_smt.decoding.search import Decoder, SearchSettings
from neural_smt.io.files import read_lines, write_json
from neural_smt.phrases.moses_format import write_moses

SEARCHES = {
    "stack 200": {"algorithm": "stack", "stack_size": 200},
    "cube 1000": {"algorithm": "cube", "pop_limit": 1000, "stack_size": 1000},
    "cube 200": {"algorithm": "cube", "pop_limit": 200, "stack_size": 200},
    "cube 400, stack 100": {"algorithm": "cube", "pop_limit": 400, "stack_size": 100},
}
"""The last one is what the experiments tune with."""

MOSES = {"stack 200": (13.8, -24.8510), "cube 1000": (43.3, -24.8527), "cube 200": (150.0, -24.8641)}
MOSES2 = {"stack 200": (29.6, -24.8514), "cube 1000": (122.0, -24.8528), "cube 200": (463.0, -24.8623)}
"""Sentences per second and mean model score of the peers."""

ORACLES = {"stack 200": "stack200", "cube 1000": "cube1000", "cube 200": "cube200"}
SAME_SCORE = 1e-3
"""Model scores closer than this are equal: Moses prints no more digits."""

TEST = "test_2016_flickr"
ARPA = FOLDER / "train.fr.o5.arpa.gz"
TABLES = "phrase-table.gz", "reordering-table.wbe-msd-bidirectional-fe.gz"


def moses_folder() -> Path:
    """The model as Moses' text files, with the tuned ``moses.ini``; written once."""
    loaded = model(ARPA)
    for name in TABLES:
        if not (FOLDER / name).exists():
            print("writing the tables as text (once) ...", flush=True)
            vocabularies = loaded.source_vocabulary, loaded.target_vocabulary
            write_moses(loaded.phrase_table, vocabularies, *(FOLDER / table for table in TABLES))
    copyfile(SHARED / "oracle" / "decoding" / "moses.ini", FOLDER / "moses.ini")
    return FOLDER / "moses.ini"


def measure(decoder: Decoder, text: list[list[str]]) -> dict:
    """Speed with and without 100-best lists (CPU), gain by a second thread (wall), and the mean model score."""
    decoder.decode(text[:20], 2)  # compiles what is not compiled yet
    pair = Decoder(decoder.model, decoder.settings, Weights.from_vector(decoder.feature_set, decoder.vector), 2)
    alone, together = fastest(decoder.decode, text), fastest(pair.decode, text)
    listed, listed_together = fastest(decoder.decode, text, 100), fastest(pair.decode, text, 100)
    return {
        "sentences_per_second": round(len(text) / fastest(decoder.decode, text, clock=time.process_time), 1),
        "sentences_per_second_100_best": round(len(text) / listed, 1),
        "two_threads_over_one": round(alone / together, 2),
        "two_threads_over_one_100_best": round(listed / listed_together, 2),
        "mean_score": round(float(np.mean([t.score for t in decoder.decode(text)])), 4),
    }


PARTS = {
    "option lookup": "search.prepare",
    "weighing options": "search.weigh",
    "future costs": "batches.future_costs",
    "expansion and pruning": "batches.search_sentences",
    "reading off translations": "search.translate",
}
"""What the time of a search is made of, and the functions that take it."""


def profile(decoder: Decoder, text: list[list[str]]) -> dict[str, float]:
    """CPU milliseconds per sentence of each of ``PARTS``, and of the rest."""
    seconds = dict.fromkeys(PARTS, 0.0)

    def timed(part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*arguments: Any) -> Any:
            began = time.process_time()
            result = function(*arguments)
            seconds[part] += time.process_time() - began
            return result

        return wrapper

    with ExitStack() as stack:
        for part, place in PARTS.items():
            module, name = place.split(".")
            module = importlib.import_module(f"neural_smt.decoding.{module}")
            stack.enter_context(patch.object(module, name, timed(part, getattr(module, name))))
        began = time.process_time()
        decoder.decode(text)
        total = time.process_time() - began
    seconds["rest"] = total - sum(seconds.values())
    return {part: round(1000 * value / len(text), 3) for part, value in seconds.items()}


def best_totals(name: str) -> np.ndarray:
    """The best total of each sentence in Moses' n-best list ``name``."""
    totals: dict[int, float] = {}
    for entry in read_nbest(SHARED / "oracle" / "decoding" / f"{name}.nbest.gz"):
        totals.setdefault(entry.sentence, entry.score)
    return np.array([totals[number] for number in sorted(totals)])


def search_errors(ours: np.ndarray, theirs: np.ndarray, best: np.ndarray) -> dict:
    """Sentences whose translation scores lower than another's: ours and Moses' against each other and the best."""
    return {
        "ours_below_moses": int(np.sum(ours < theirs - SAME_SCORE)),
        "moses_below_ours": int(np.sum(theirs < ours - SAME_SCORE)),
        "ours_below_stack_2000": int(np.sum(ours < best - SAME_SCORE)),
        "moses_below_stack_2000": int(np.sum(theirs < best - SAME_SCORE)),
    }


def compare_searches(loaded: TranslationModel, weights: Weights) -> dict:
    """Every search of ``SEARCHES``, as rows."""
    text = sentences(TEST, "en")
    known = [line.split() for line in read_lines(SHARED / "oracle" / "decoding" / "input.en")]
    best = best_totals("stack2000")
    rows = {}
    print(
        f"{'search':20}{'sent/s':>8}{'Moses':>7}{'Moses2':>8}{'score':>10}{'Moses':>10}{'Moses2':>10}"
        f"{'100-best':>9}{'2 threads':>10}{'errors here:Moses':>18}"
    )
    for name, settings in SEARCHES.items():
        decoder = Decoder(loaded, SearchSettings(**settings), weights)
        row = measure(decoder, text)
        if name in ORACLES:
            ours = np.array([translation.score for translation in decoder.decode(known)])
            row["search_errors"] = search_errors(ours, best_totals(ORACLES[name]), best)
            row["peers"] = {
                peer: dict(zip(("sentences_per_second", "mean_score"), figures[name], strict=True))
                for peer, figures in (("moses", MOSES), ("moses2", MOSES2))
            }
        row["milliseconds_per_sentence"] = profile(decoder, text)
        rows[name] = row
        moses, moses2 = MOSES.get(name, ("-", "-")), MOSES2.get(name, ("-", "-"))
        errors = row.get("search_errors")
        counted = f"{errors['ours_below_stack_2000']}:{errors['moses_below_stack_2000']}" if errors else "-"
        threads = f"{row['two_threads_over_one']}/{row['two_threads_over_one_100_best']}"
        print(
            f"{name:20}{row['sentences_per_second']:8.1f}{moses[0]:>7}{moses2[0]:>8}{row['mean_score']:10.4f}"
            f"{moses[1]:>10}{moses2[1]:>10}{row['sentences_per_second_100_best']:9.1f}{threads:>10}{counted:>18}",
            flush=True,
        )
    for name, row in rows.items():
        parts = ", ".join(f"{part} {value:.2f}" for part, value in row["milliseconds_per_sentence"].items())
        print(f"{name}, ms per sentence: {parts}")
    return rows


def in_process(task: str, *arguments: str, cache: str | None = None) -> dict:
    """What ``task`` measured in a fresh process; ``cache``: a folder for compiled kernels, instead of the usual one."""
    environment = os.environ | ({"NUMBA_CACHE_DIR": cache} if cache else {})
    command = [sys.executable, __file__, task, *arguments]
    done = subprocess.run(command, env=environment, cwd=ROOT, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def start(ini_path: str, compiled: str, form: str = "") -> dict:
    """Seconds and peak memory of loading the model, then of translating with each search, ``BATCH`` sentences at a
    time, and BLEU; form: ``compact`` or nothing. imported: the memory of a process that has loaded nothing yet.
    """
    memory = {"imported": peak_megabytes()}
    began = time.perf_counter()
    ini = read_moses_ini(Path(ini_path))
    loaded = load_model(ini, compiled, form == "compact")
    loading = time.perf_counter() - began
    memory["loaded"] = peak_megabytes()
    text, references = sentences(TEST, "en"), [" ".join(tokens) for tokens in sentences(TEST, "fr")]
    bleu = {}
    for name in ("stack 200", "cube 1000"):
        decoder = Decoder(loaded, SearchSettings(**SEARCHES[name]), ini.weights)
        batches = (decoder.decode(text[start : start + BATCH]) for start in range(0, len(text), BATCH))
        translations = [" ".join(one.tokens) for batch in batches for one in batch]
        memory[name] = peak_megabytes()
        bleu[name] = round(sacrebleu.corpus_bleu(translations, [references], tokenize="none", force=True).score, 2)
    return {"load_seconds": round(loading, 3), "peak_megabytes": memory, "bleu": bleu}


def first(ini_path: str, compiled: str, search: str) -> dict:
    """Seconds of the first sentence a process translates."""
    ini = read_moses_ini(Path(ini_path))
    decoder = Decoder(load_model(ini, compiled), SearchSettings(**SEARCHES[search]), ini.weights)
    began = time.perf_counter()
    decoder.decode([["a", "man", "."]], 2)
    return {"seconds": round(time.perf_counter() - began, 2)}


def measure_starts(ini: Path) -> dict:
    """Loading times, memory, and what compiling the kernels costs once."""
    with tempfile.TemporaryDirectory() as folder:
        compiled, compact = str(Path(folder) / "compiled"), str(Path(folder) / "compact")
        starts = {
            "text": in_process("start", str(ini), "off"),
            "text_to_compiled": in_process("start", str(ini), compiled),
            "compiled": min((in_process("start", str(ini), compiled) for _ in range(REPETITIONS)), key=str),
            "text_to_compact": in_process("start", str(ini), compact, "compact"),
            "compact": min((in_process("start", str(ini), compact, "compact") for _ in range(REPETITIONS)), key=str),
            "first_sentence": {
                name: {
                    "kernels_compiled_now": in_process("first", str(ini), compiled, name, cache=f"{folder}/{i}"),
                    "kernels_cached": in_process("first", str(ini), compiled, name),
                }
                for i, name in enumerate(("stack 200", "cube 1000"))
            },
        }
    for kind in ("text", "text_to_compiled", "compiled", "text_to_compact", "compact"):
        found = starts[kind]
        print(f"{kind:18} load {found['load_seconds']:.2f} s, peak MB {found['peak_megabytes']}, BLEU {found['bleu']}")
    print("Moses: load 7.3 s, 947 MB; compact tables 0.04 s, 100 MB; Moses2: 11.9 s, 1263 MB; ProbingPT 0.5 s, 165 MB")
    for name, seconds in starts["first_sentence"].items():
        kinds = ", ".join(f"{kind} {value['seconds']} s" for kind, value in seconds.items())
        print(f"first sentence, {name}: {kinds}", flush=True)
    return starts


def main(arguments: Sequence[str]) -> None:
    if arguments:
        print(json.dumps({"start": start, "first": first}[arguments[0]](*arguments[1:])))
        return
    if not available():
        return
    ini = moses_folder()
    starts = measure_starts(ini)
    rows = compare_searches(model(), read_moses_ini(ini).weights)
    write_json(RESULTS / "decoding.json", {"sentences": 1000, "starts": starts, "searches": rows})


if __name__ == "__main__":
    main(sys.argv[1:])
