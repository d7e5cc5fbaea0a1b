"""What the CSLM costs in the search: Multi30k English-French, cube pruning 400 with stacks of 100.

The search alone and the search with a CSLM, which is trained here for half a minute (once), in one run, for one and two
threads: the best translations, and what MERT does, which is 100-best lists of the same sentences under weights that
change; first with nothing remembered, then once more under other weights. Then the lists of the search alone are
rescored. The network's n-grams per second stand beside those of the bare matrix products of the same shapes: per
context that of the second layer, and that of the part of the shortlist that is summed. Writes
benchmarks/results/cslm.json.
"""

import argparse
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from lib import REPETITIONS, RESULTS, SHARED
from lib.multi30k import FOLDER, available, model, sentences
from lib.trainers import trained_model

from neural_smt.decoding import batches
from neural_smt.decoding.features import Weights
from neural_smt.decoding.model import TranslationModel
from neural_smt.decoding.moses.ini import read_moses_ini
from neural_smt.decoding.nbest import ListedTranslation
from neural_smt.decoding.options import PreparedSentences
from neural_smt.decoding.reranking_steps import add_scores
from neural_smt.decoding.scorers.cslm import CslmFeature, CslmScoring
from neural_smt.decoding.scorers.ngrams import NgramCache
from neural_smt.decoding.search import Decoder, SearchSettings
from neural_smt.io.files import write_json
from neural_smt.networks.cslm import CslmNetwork
from neural_smt.networks.device import select_device
from neural_smt.networks.folder import Trained
from neural_smt.networks.normalisers import FREQUENT
from neural_smt.shortlist import most_frequent
from neural_smt.vocabulary import Vocabulary

SEARCH = SearchSettings(algorithm="cube", pop_limit=400, stack_size=100)
SIZES = {"projection": 64, "layers": [256, 64]}
UPDATES = 1500
WEIGHT = 0.1
EXACT_SENTENCES = 100
"""The exact search takes so long that fewer sentences must do."""


def trained_folder() -> Path:
    """A CSLM of the target side."""
    vocabulary, shortlist = FOLDER / "vocabulary.fr.tsv", FOLDER / "shortlist.tsv"
    most_frequent(Vocabulary.load(vocabulary), 15_000).save(shortlist)
    inputs = {"texts": [FOLDER / "train.fr"], "vocabulary": vocabulary, "shortlist": shortlist}
    return trained_model("cslm", inputs, SIZES | {"updates": UPDATES, "validate_every": UPDATES})


def bare_products(folder: Path, search: str, rows: int = 2048) -> float:
    """Seconds per context of nothing but the matrix products that an n-gram needs, on one thread."""
    network = Trained.load(folder, CslmNetwork, select_device("cpu")).network
    layers = (network.first, network.second, network.output)
    first, second, output = (layer.weight.detach().t().contiguous() for layer in layers)
    if search == "estimated":
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


def seconds(work: Callable[[], Any], threads: int) -> float:
    """CPU seconds for one thread, which other programs hardly disturb; seconds on the wall for several."""
    clock = time.process_time if threads == 1 else time.perf_counter
    began = clock()
    work()
    return clock() - began


def profile(decoder: Decoder, text: PreparedSentences, nbest: int) -> dict[str, float]:
    """CPU seconds of the CSLM and of its parts: the network's, and those of sharing and remembering n-grams."""
    spent = {"cslm": 0.0, "network": 0.0}
    depth = {"cslm": 0, "network": 0}

    def timed(part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*arguments: Any) -> Any:
            began = time.process_time()
            depth[part] += 1
            result = function(*arguments)
            depth[part] -= 1
            if depth[part] == 0:
                spent[part] += time.process_time() - began
            return result

        return wrapper

    feature = decoder.feature
    with ExitStack() as stack:
        for cache in (feature.score, feature.exact):
            if isinstance(cache, NgramCache):
                stack.enter_context(patch.object(cache, "score", timed("network", cache.score)))
        for method in ("score_claimed", "score_candidates"):
            scored = timed("cslm", getattr(batches._FeatureInBatch, method))
            stack.enter_context(patch.object(batches._FeatureInBatch, method, scored))
        stack.enter_context(patch.object(CslmFeature, "rescore", timed("cslm", CslmFeature.rescore)))
        spent["all"] = seconds(lambda: decoder.decode(text, nbest), 1)
    return spent


class Runs:
    """The decoders that are compared, over the same sentences, whose phrase pairs are looked up once as in tuning."""

    def __init__(self, loaded: TranslationModel, folder: Path, text: list[list[str]], search: str):
        self.loaded, self.folder, self.search = loaded, folder, search
        tuned = read_moses_ini(SHARED / "oracle" / "decoding" / "moses.ini").weights.values
        other = {name: tuple(value * 0.8 for value in tuned[name]) for name in ("LM0", "Distortion0")}
        self.weights = [Weights(tuned | {"Cslm0": (WEIGHT,)}), Weights(tuned | other | {"Cslm0": (1.5 * WEIGHT,)})]
        self.alone = [Weights(tuned), Weights(tuned | other)]
        self.text = self.decoder(None, 0, 1).prepare(text)
        few = self.decoder(None, 0, 1).prepare(text[:3])
        for feature in (None, self.new_feature()):  # compiles what is not compiled yet
            self.decoder(feature, 0, 1).decode(few, 100)

    def new_feature(self) -> CslmFeature:
        """A feature with an empty cache."""
        loaded, settings = self.loaded, {"search": self.search}
        target = loaded.target_vocabulary
        return CslmFeature.load(
            self.folder, loaded.language_models[0], target, settings, phrases=loaded.phrase_table.target
        )

    def decoder(self, feature: CslmFeature | None, number: int, threads: int) -> Decoder:
        weights = self.weights[number] if feature else self.alone[number]
        return Decoder(self.loaded, SEARCH, weights, threads, feature)

    def measure(self, nbest: int, threads: int) -> dict[str, float]:
        """Seconds per search, the fastest of several: alone, cold and warm (twice, under the two weights)."""
        found: dict[str, list[float]] = {}
        for _ in range(REPETITIONS):
            feature = self.new_feature()
            runs = {"alone": (None, 0), "cold": (feature, 0), "warm": (feature, 1), "alone_other_weights": (None, 1)}
            for name, (used, number) in runs.items():
                decoder = self.decoder(used, number, threads)
                found.setdefault(name, []).append(seconds(lambda d=decoder: d.decode(self.text, nbest), threads))
        best = {name: min(values) for name, values in found.items()}
        per_sentence = 1000 / len(self.text.tokens)
        return {f"milliseconds_{name}": round(value * per_sentence, 3) for name, value in best.items()} | {
            "cold_added_over_alone": round(best["cold"] / best["alone"] - 1, 2),
            "warm_added_over_alone": round(best["warm"] / best["alone_other_weights"] - 1, 2),
        }

    def parts(self, nbest: int) -> dict[str, Any]:
        """Where the time of a cold search goes, and what the caches know, cold and warm."""
        feature = self.new_feature()
        cold = self.decoder(feature, 0, 1)
        spent = profile(cold, self.text, nbest)
        counts = [feature.statistics()]
        self.decoder(feature, 1, 1).decode(self.text, nbest)
        counts.append(feature.statistics())
        first = counts[0]
        exact = [count.get("exact", count) for count in counts]
        scored = first["ngrams"] - first["cache_hits"]
        if "exact" in first:
            scored += first["exact"]["ngrams"] - first["exact"]["cache_hits"]
        return {
            "share_of_network": round(spent["network"] / spent["all"], 2),
            "share_of_sharing_and_cache": round((spent["cslm"] - spent["network"]) / spent["all"], 2),
            "ngrams_scored_per_second": round(scored / max(spent["network"], 1e-9)),
            "bare_products_per_second": round(1 / bare_products(self.folder, self.search)),
            "cold_cache_hit_rate": first["cache_hit_rate"],
            "warm_cache_hit_rate": later_rate(*counts),
            "cold_exact_cache_hit_rate": exact[0]["cache_hit_rate"],
            "warm_exact_cache_hit_rate": later_rate(*exact),
        }


def later_rate(before: dict[str, float], after: dict[str, float]) -> float:
    """The hit rate of what was asked in between."""
    return round((after["cache_hits"] - before["cache_hits"]) / max(after["ngrams"] - before["ngrams"], 1), 4)


def rescoring(runs: Runs) -> dict[str, Any]:
    """The lists of the search alone rescored, as ``rescore`` does it: with exact normalisers, on one thread; twice."""
    translations = runs.decoder(None, 0, 1).decode(runs.text, 100)
    listed = [
        ListedTranslation(number, entry.tokens, {}, entry.score)
        for number, translation in enumerate(translations)
        for entry in translation.nbest
    ]
    feature, spent = runs.new_feature().accurate(), []
    for _ in range(2):
        spent.append(seconds(lambda: add_scores(listed, CslmScoring(feature, runs.loaded.target_vocabulary), None), 1))
    return {
        "entries": len(listed),
        "entries_per_second": round(len(listed) / spent[0]),
        "entries_per_second_warm": round(len(listed) / spent[1]),
        **feature.statistics(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sentences", type=int, default=1014)
    arguments = parser.parse_args()
    if not available():
        return
    torch.set_num_threads(1)
    loaded, folder = model(), trained_folder()
    text = sentences("val", "en")[: arguments.sentences]
    rows = {}
    few = text[:EXACT_SENTENCES]
    for search, nbests, part in (("estimated", (0, 100), text), ("estimated", (0,), few), ("exact", (0,), few)):
        runs = Runs(loaded, folder, part, search)
        for nbest in nbests:
            name = f"{search}, {nbest or 1}-best, {len(part)} sentences"
            rows[name] = {str(threads): runs.measure(nbest, threads) for threads in (1, 2)} | runs.parts(nbest)
            show(name, rows[name])
        if part is text:
            rows["rescoring"] = rescoring(runs)
            show("rescoring", rows["rescoring"])
    write_json(RESULTS / "cslm.json", {"network": SIZES, "rows": rows})


def show(name: str, row: dict[str, Any]) -> None:
    print(name)
    for part, value in row.items():
        print(f"    {part.replace('_', ' ')}{' thread(s)' if isinstance(value, dict) else ''}: {value}", flush=True)


if __name__ == "__main__":
    main()
