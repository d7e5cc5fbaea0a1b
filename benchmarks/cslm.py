"""What the CSLM costs in the search: Multi30k English-French, cube pruning 400 with stacks of 100.

The search alone, the search with a CSLM that is trained here for a few minutes (once), and the parts its time is made
of, in one run, for one and two threads; first with normalisers estimated while stacks are pruned, then always exact.
The network's n-grams per second stand beside those of the bare matrix products of the same shapes: per context that of
the second layer, and that of the part of the shortlist that is summed. Writes benchmarks/results/cslm.json.
"""

import argparse
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from lib import REPETITIONS, RESULTS
from lib.multi30k import FOLDER, available, model, sentences

from neural_smt.decoding import batches
from neural_smt.decoding.cslm import CslmHook
from neural_smt.decoding.model import TranslationModel
from neural_smt.decoding.moses.ini import read_moses_ini
from neural_smt.decoding.ngram_cache import NgramCache
from neural_smt.decoding.search import Decoder, SearchSettings
from neural_smt.decoding.weights import Weights
from neural_smt.files import write_json
from neural_smt.networks.device import select_device
from neural_smt.networks.folder import load_cslm
from neural_smt.networks.normaliser_estimate import FREQUENT
from neural_smt.shortlist import most_frequent
from neural_smt.training.steps import train_cslm
from neural_smt.vocabulary import Vocabulary

SEARCH = SearchSettings(algorithm="cube", pop_limit=400, stack_size=100)
SIZES = {"projection": 64, "layers": [256, 128]}
UPDATES = 1500
WEIGHT = 0.1
EXACT_SENTENCES = 100
"""Exact normalisers take so long that fewer sentences must do."""


def trained_folder() -> Path:
    """A CSLM of the target side; trained when it is not there yet."""
    folder = FOLDER / "cslm"
    if not (folder / "model").is_dir():
        print("training the CSLM (once) ...", flush=True)
        vocabulary = Vocabulary.load(FOLDER / "vocabulary.fr.tsv")
        most_frequent(vocabulary, 15_000).save(folder / "shortlist.tsv")
        train_cslm(
            texts=[FOLDER / "train.fr"],
            vocabulary=FOLDER / "vocabulary.fr.tsv",
            shortlist=folder / "shortlist.tsv",
            settings=SIZES | {"updates": UPDATES, "validate_every": UPDATES},
            device="cpu",
            seed=1,
            output=folder / "model",
            curve=folder / "curve.csv",
            plot=folder / "curve.png",
            perplexity=folder / "perplexity.json",
            state=folder / "state",
        )
    return folder / "model"


def new_hook(folder: Path, loaded: TranslationModel, normaliser: str) -> CslmHook:
    """A hook with an empty cache."""
    settings = {"normaliser": normaliser}
    language_model, vocabulary = loaded.language_models[0], loaded.target_vocabulary
    return CslmHook.load(folder, language_model, vocabulary, settings, phrases=loaded.phrase_table.target)


def bare_products(folder: Path, normaliser: str, rows: int = 2048) -> float:
    """Seconds per context of nothing but the matrix products that an n-gram needs, on one thread."""
    network = load_cslm(folder, select_device("cpu")).network
    first, second, output = (layer.weight.detach().t().contiguous() for layer in _layers(network))
    if normaliser == "estimated":
        output = output[:, :FREQUENT].contiguous()
    inputs = (torch.rand(rows, first.shape[0]), torch.rand(rows, second.shape[0]), torch.rand(rows, output.shape[0]))
    # The first layer's product is looked up in a table, so it does not count.
    pairs = [(inputs[1], second), (inputs[2], output)]
    seconds = []
    for _ in range(REPETITIONS):
        began = time.process_time()
        for left, right in pairs:
            for start in range(0, rows, 128):
                torch.mm(left[start : start + 128], right)
        seconds.append(time.process_time() - began)
    return min(seconds) / rows


def _layers(network: torch.nn.Module) -> tuple[torch.nn.Linear, torch.nn.Linear, torch.nn.Linear]:
    return network.first, network.second, network.output


def decode(decoder: Decoder, text: list[list[str]], nbest: int) -> tuple[float, float, float]:
    """CPU seconds, seconds on the wall, and the mean model score."""
    wall, cpu = time.perf_counter(), time.process_time()
    translations = decoder.decode(text, nbest)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return cpu, wall, float(np.mean([translation.score for translation in translations]))


def profile(decoder: Decoder, text: list[list[str]], nbest: int) -> dict[str, float]:
    """CPU seconds of the CSLM and of its parts: the network's, and those of sharing and remembering n-grams."""
    seconds = {"cslm": 0.0, "network": 0.0}
    depth = {"cslm": 0, "network": 0}

    def timed(part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*arguments: Any) -> Any:
            began = time.process_time()
            depth[part] += 1
            result = function(*arguments)
            depth[part] -= 1
            if depth[part] == 0:
                seconds[part] += time.process_time() - began
            return result

        return wrapper

    hook = decoder.hook
    with ExitStack() as stack:
        for cache in (hook.score, hook.exact):
            if isinstance(cache, NgramCache):
                cache.score = timed("network", cache.score)
        stack.enter_context(patch.object(batches, "_apply_hook", timed("cslm", batches._apply_hook)))
        stack.enter_context(patch.object(CslmHook, "rescore", timed("cslm", CslmHook.rescore)))
        began = time.process_time()
        decoder.decode(text, nbest)
        seconds["all"] = time.process_time() - began
    return seconds


def measure(loaded: TranslationModel, folder: Path, text: list[list[str]], normaliser: str, nbest: int) -> dict:
    """One row: the search alone beside the search with the CSLM."""
    weights = read_moses_ini(FOLDER / "moses.ini").weights
    hooked = Weights({**weights.values, "Cslm0": (WEIGHT,)})

    def decoder(threads: int = 1) -> Decoder:
        return Decoder(loaded, SEARCH, hooked, threads, new_hook(folder, loaded, normaliser))

    decoder().decode(text[:3], nbest)  # compiles what is not compiled yet
    Decoder(loaded, SEARCH, weights).decode(text[:3], nbest)
    alone = min(decode(Decoder(loaded, SEARCH, weights), text, nbest) for _ in range(REPETITIONS))
    used = decoder()
    together = decode(used, text, nbest)
    for _ in range(REPETITIONS - 1 if normaliser == "estimated" else 0):
        used = decoder()
        together = min(together, decode(used, text, nbest))
    two = {
        "alone": min(decode(Decoder(loaded, SEARCH, weights, 2), text, nbest)[1] for _ in range(2)),
        "with_cslm": min(decode(decoder(2), text, nbest)[1] for _ in range(2 if normaliser == "estimated" else 1)),
    }
    parts = profile(decoder(), text, nbest)
    counts = used.hook.statistics()
    scored = counts["ngrams"] - counts["cache_hits"]
    bare = bare_products(folder, normaliser)
    per_sentence = 1000 / len(text)
    return {
        "sentences": len(text),
        "nbest": nbest,
        "milliseconds_alone": round(alone[0] * per_sentence, 2),
        "milliseconds_with_cslm": round(together[0] * per_sentence, 2),
        "two_threads_milliseconds_alone": round(two["alone"] * per_sentence, 2),
        "two_threads_milliseconds_with_cslm": round(two["with_cslm"] * per_sentence, 2),
        "added_over_alone": round(together[0] / alone[0] - 1, 2),
        "two_threads_added_over_alone": round(two["with_cslm"] / two["alone"] - 1, 2),
        "cslm_over_rest": round(parts["cslm"] / (parts["all"] - parts["cslm"]), 2),
        "share_of_network": round(parts["network"] / parts["all"], 2),
        "share_of_sharing_and_cache": round((parts["cslm"] - parts["network"]) / parts["all"], 2),
        "cache_hit_rate": counts["cache_hit_rate"],
        "ngrams_scored_per_second": round(scored / max(parts["network"], 1e-9)),
        "bare_products_per_second": round(1 / bare),
        "mean_score": round(together[2], 4),
        "counts": counts,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sentences", type=int, default=400)
    arguments = parser.parse_args()
    if not available():
        return
    torch.set_num_threads(1)
    loaded, folder = model(), trained_folder()
    text = sentences("test_2016_flickr", "en")[: arguments.sentences]
    rows = {}
    for normaliser, nbest, part in (
        ("estimated", 0, text),
        ("estimated", 100, text),
        ("exact", 0, text[:EXACT_SENTENCES]),
        ("estimated", 0, text[:EXACT_SENTENCES]),
    ):
        row = measure(loaded, folder, part, normaliser, nbest)
        rows[f"{normaliser}, {nbest or 1}-best, {len(part)} sentences"] = row
        print(f"{normaliser}, {nbest or 1}-best, {len(part)} sentences")
        for name, value in row.items():
            if name not in ("sentences", "nbest"):
                print(f"    {name.replace('_', ' ')}: {value}", flush=True)
    write_json(RESULTS / "cslm.json", {"network": SIZES, "rows": rows})


if __name__ == "__main__":
    main()
