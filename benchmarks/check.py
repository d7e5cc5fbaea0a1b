"""What has become slower: the hot paths beside a reference loop, against the ratios kept in ``benchmarks/ratios.json``.

All paths and the reference take turns, on one thread; of each the fastest call counts, in CPU seconds, so that other
work on the machine disturbs the ratios little. If a path is slower than its figure by more than ``LIMIT``, all are
measured again, up to ``AGAIN`` times, before it is called so; the exit status is then 1. ``--update`` writes the
figures anew: they hold for processors of one kind. No data is needed: text is generated, weights are random.
"""

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from attention_decoding import CASES
from lib import ROOT, fastest
from lib.multi30k import MAX_LENGTH, ORDER, SMOOTHING
from lib.pairs import SIZES as PAIR_SIZES
from lib.pairs import random_pairs
from llvmlite.binding import get_host_cpu_name

import neural_smt  # noqa: F401  (before PyTorch: it sets up OpenMP)

import torch  # isort: skip
from lib.searches import SIZES, random_sets  # isort: skip

from neural_smt.alignment.fast_align import fast_align
from neural_smt.alignment.lexical import lexical_table
from neural_smt.corpus.generation import generate_corpus
from neural_smt.corpus.tokenisation import tokenise_lines
from neural_smt.decoding.attention.search import beam_search
from neural_smt.decoding.features import Weights, build_feature_set
from neural_smt.decoding.model import TranslationModel
from neural_smt.decoding.search import Decoder, SearchSettings
from neural_smt.experiment.settings import section_settings
from neural_smt.io.files import read_json, write_json
from neural_smt.io.ragged import Ragged
from neural_smt.jit import kernel
from neural_smt.language_model.estimation import estimate
from neural_smt.language_model.model import NgramModel
from neural_smt.language_model.primitives import score_sentences
from neural_smt.networks.attention.network import AttentionConfig, AttentionNetwork
from neural_smt.networks.cslm import CslmConfig, CslmNetwork, CslmScorer
from neural_smt.networks.encoder_decoder import EncoderDecoder
from neural_smt.networks.folder import Trained
from neural_smt.phrases.extraction import extract_pairs
from neural_smt.phrases.scoring import score_pairs
from neural_smt.rescoring.scorer import PairScorer
from neural_smt.shortlist import most_frequent
from neural_smt.tuning.candidates import Candidates
from neural_smt.tuning.mert import ErrorSurface, optima
from neural_smt.vocabulary import Vocabulary

RATIOS = ROOT / "benchmarks" / "ratios.json"
LIMIT = 1.15
ROUNDS, AGAIN = 10, 2
REFERENCE = "reference"
PARTS = {"pairs": 3000, "dev": 150, "in_domain": 1, "test": 1, "gold": 1, "monolingual": 1, "noise": 0}
SEARCH = SearchSettings(algorithm="cube", pop_limit=400, stack_size=100)

Work = Callable[[], Any]


def phrase_based_paths() -> dict[str, Work]:
    """From generated text to its translation, and the CSLM on its n-grams."""
    parts = dict(generate_corpus(PARTS, 1))
    train, dev = (
        [list(tokenise_lines(side, language)) for side, language in ((part.source, "en"), (part.target, "fr"))]
        for part in (parts["train"], parts["dev"])
    )
    vocabularies = [Vocabulary.from_sentences(side) for side in train]
    source, target = (vocabulary.encode(side) for vocabulary, side in zip(vocabularies, train, strict=True))
    align = *map(len, vocabularies), section_settings("alignment.fast_align", {})
    alignments = fast_align(source, target, *align)
    lexical = lexical_table([(source, target, alignments)], *map(len, vocabularies))
    pairs = extract_pairs(source, target, alignments, MAX_LENGTH, 1)
    table = score_pairs(pairs, lexical, *vocabularies, MAX_LENGTH, SMOOTHING, 1)
    language_model = NgramModel.from_tables(estimate(target, ORDER).tables, vocabularies[1])
    features = build_feature_set(("phrase", "language_model", "reordering"), 1)
    model = TranslationModel(table, (language_model,), {}, *vocabularies, features)
    decoder = Decoder(model, SEARCH, Weights.defaults(features))
    sentences, references = ([line.split() for line in side] for side in dev)
    lists = [translation.nbest for translation in decoder.decode(sentences, 100)]
    listed = [(number, entry) for number, entries in enumerate(lists) for entry in entries]
    found = [(number, entry.tokens) for number, entry in listed], np.array([entry.features for _, entry in listed])
    candidates = Candidates.empty(len(sentences), features.size).with_translations(*found, references)
    few = [side.take(np.arange(1000)) for side in (source, target)]
    tuning = section_settings("tuning", {"restarts": 3, "refinements": 0})
    shortlist = most_frequent(vocabularies[1], len(vocabularies[1]))
    cslm = CslmNetwork(CslmConfig(len(shortlist), projection=64, layers=(256, 64)))
    scorer = CslmScorer(Trained(cslm, shortlist), language_model, vocabularies[1])
    windows = np.lib.stride_tricks.sliding_window_view(target.values[:24_000], scorer.history + 1)
    contexts, words = np.ascontiguousarray(windows[:, :-1]), windows[:, -1].copy()
    estimating = scorer.estimating(contexts[:8192])
    lines = np.tile(target.values, 10), np.append(0, (target.offsets[1:] + target.offsets[-1] * np.arange(10)[:, None]))
    return {
        "tokenisation": lambda: list(tokenise_lines(parts["train"].source[:600], "en")),
        "fast_align": lambda: fast_align(*few, *align),
        "phrase extraction": lambda: extract_pairs(source, target, alignments, MAX_LENGTH, 1),
        "phrase scoring": lambda: score_pairs(pairs, lexical, *vocabularies, MAX_LENGTH, SMOOTHING, 1),
        "n-gram estimation": lambda: estimate(target, ORDER),
        "n-gram queries": lambda: score_sentences(language_model.arrays, *lines),
        "search": lambda: decoder.decode(sentences[:30]),
        "MERT": lambda: optima(ErrorSurface(candidates), [decoder.vector], tuning, np.random.default_rng(0)),
        "CSLM scoring": lambda: estimating(contexts, words),
    }


def network_paths() -> dict[str, Work]:
    """Networks with random weights on random words."""
    config, case, random = PAIR_SIZES["embedded"], CASES[0], np.random.default_rng(0)
    pairs, scorer = random_pairs(config, 1000), PairScorer(EncoderDecoder(config), "fp32")
    network = AttentionNetwork(AttentionConfig(case.words, case.words, **SIZES["small"]))
    source = Ragged.from_lists([random.integers(3, case.words, length) for length in (6, 10, 14, 18)])
    settings = section_settings("decoding.attention", {"beam": 12, "max_length_ratio": 1, "max_length_extra": 0})
    sets = random_sets(case, len(source))
    return {
        "encoder-decoder scoring": lambda: scorer.score(pairs.source, pairs.target, 1024),
        "attention decoding": lambda: beam_search(network, source, settings, sets),
    }


@kernel
def walk(successors: np.ndarray, steps: int) -> int:
    """Reads that each wait for the one before."""
    place = 0
    for _ in range(steps):
        place = successors[place]
    return place


def reference() -> Work:
    """A fixed piece of work of Numba, NumPy and PyTorch, which a core does in its own cache."""
    random = np.random.default_rng(0)
    order = random.permutation(1 << 14)
    successors = np.empty(len(order), dtype=np.int32)
    successors[order] = np.roll(order, -1)
    numbers, matrix = random.random(50_000), torch.rand(256, 256)

    def work() -> None:
        walk(successors, 2_000_000)
        np.sort(numbers)
        for _ in range(16):
            torch.mm(matrix, matrix)

    return work


def time_all(works: dict[str, Work]) -> pd.Series:
    """CPU seconds of the fastest call of each, as they take turns in ``ROUNDS`` rounds."""
    rounds = [{name: fastest(work, clock=time.process_time) for name, work in works.items()} for _ in range(ROUNDS)]
    return pd.DataFrame(rounds).min()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--update", action="store_true", help="write the figures anew")
    update = parser.parse_args().update
    torch.set_num_threads(1)
    works, processor = {REFERENCE: reference(), **phrase_based_paths(), **network_paths()}, get_host_cpu_name()
    figures = {"processor": processor, "ratios": {}} if update else read_json(RATIOS)
    if figures["processor"] != processor:
        print(f"the figures are of another processor, {figures['processor']}; make bench-check UPDATE=1 writes yours")
    kept = pd.Series(figures["ratios"], index=list(works)[1:], dtype=float)
    for work in works.values():
        work()  # compiles the kernels
    seconds = time_all(works)
    for _ in range(AGAIN):
        if not (seconds[1:] <= LIMIT * kept * seconds[REFERENCE]).all():
            seconds = np.minimum(seconds, time_all(works))
    now = seconds[1:] / seconds[REFERENCE]
    table = pd.DataFrame({"kept": kept, "now": now, "change, %": 100 * (now / kept - 1)})
    print(table.to_markdown(floatfmt=("", ".2f", ".2f", "+.0f")), flush=True)
    slower = now.index[now > LIMIT * kept]
    if update:
        write_json(RATIOS, {"processor": processor, "ratios": now.round(3).to_dict()})
    elif len(slower):
        sys.exit(f"slower by more than {LIMIT - 1:.0%}: {', '.join(slower)}")


if __name__ == "__main__":
    main()
