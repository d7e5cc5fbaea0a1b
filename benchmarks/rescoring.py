"""Rescoring speed of the encoder-decoder beside its matrix products alone, at sizes of experiments and of the paper.

Whole: PairScorer over phrase pairs with Zipfian words, all spans of random sentences, or over pairs of a real table
with the network trained on it (--results, a folder like results/multi30k). Products: the matrix products that
this executes, recorded on the way, of the same shapes, layouts and types, in the same blocks and by as many threads,
on matrices made before; both are timed in turn. Sharing: what is computed of what a scorer without shared prefixes
would compute, and the time of one that sends every pair through the network by itself, in batches sorted by length.
GFLOP/s count the operations of the products executed. Writes benchmarks/results/rescoring.json.
"""

import time
from pathlib import Path

import numpy as np
from lib import RESULTS, network_parser
from lib.pairs import SIZES, random_pairs

import neural_smt  # noqa: F401  (before PyTorch: it sets up OpenMP)

import torch  # isort: skip
from lib.products import Bare, RecordingScorer, in_turn  # isort: skip

from neural_smt.io.files import write_json
from neural_smt.networks.device import describe_device, precision_context, select_device
from neural_smt.networks.encoder_decoder import EncoderDecoder
from neural_smt.networks.folder import Trained
from neural_smt.networks.packing import pack_pairs
from neural_smt.phrases.table import PhraseTable
from neural_smt.rescoring.scorer import PairScorer
from neural_smt.shortlist import shortlist_ids
from neural_smt.training.encoder_decoder import table_pairs
from neural_smt.training.texts import Pairs
from neural_smt.vocabulary import Vocabulary

BATCH = 1024
PAIRS = {"embedded": 40_000, "captions": 20_000, "news": 12_000, "paper": 8_000, "table": 20_000}
NAIVE_PAIRS = 2_000


def trained_network(results: Path, count: int, device: torch.device) -> tuple[EncoderDecoder, Pairs]:
    """The encoder-decoder of an experiment, and ``count`` rows of its phrase table from the middle."""
    trained = Trained.load(results / "training" / "encoder_decoder" / "model", EncoderDecoder, device)
    table = PhraseTable.load(results / "phrases" / "table")
    ids = []
    for shortlist in (trained.source, trained.target):
        paths = (results / "corpus").glob("vocabulary.*.tsv")
        digest = table.source_digest if shortlist is trained.source else table.target_digest
        vocabulary = next(v for v in map(Vocabulary.load, paths) if v.digest == digest)
        ids.append(shortlist_ids(vocabulary, shortlist))
    pairs = Pairs.joined(list(table_pairs(table, *ids, 1000)))
    start = max((len(pairs) - count) // 2, 0)
    return trained.network, pairs.take(np.arange(start, min(start + count, len(pairs))))


@torch.no_grad()
def score_alone(network: EncoderDecoder, pairs: Pairs, precision: str) -> tuple[np.ndarray, float]:
    """Scores of pairs that share nothing, and seconds."""
    device = network.output.weight.device
    scores = np.empty(len(pairs), dtype=np.float32)
    order = np.argsort(pairs.lengths, kind="stable")
    began = time.perf_counter()
    with precision_context(device, precision):
        for start in range(0, len(pairs), BATCH):
            rows = order[start : start + BATCH]
            chunk = pairs.take(rows)
            scores[rows] = network(pack_pairs(chunk.source, chunk.target, device)).cpu().numpy()
    return scores, time.perf_counter() - began


def measure(network: EncoderDecoder, pairs: Pairs, precision: str, threads: int, seconds: float) -> dict:
    """Speed of the scorer, of its products alone and of a scorer without sharing."""
    torch.set_num_threads(threads)
    workers = 1 if network.output.weight.is_cuda else threads
    recording = RecordingScorer(network, precision)
    arguments = pairs.source, pairs.target, BATCH
    scores, work = recording.score(*arguments)
    bare = Bare(recording.chunks, workers)
    began = time.perf_counter()
    scorer = PairScorer(network, precision)
    made = time.perf_counter() - began
    whole, products = in_turn(lambda: scorer.score(*arguments), lambda: bare.side_by_side(workers), seconds)
    few = pairs.take(np.arange(0, len(pairs), max(len(pairs) // NAIVE_PAIRS, 1)))
    score_alone(network, few, precision)
    alone, naive = score_alone(network, few, precision)
    difference = np.abs(scores[:: max(len(pairs) // NAIVE_PAIRS, 1)] - alone).max()
    return {
        "threads": threads,
        "pairs": work.pairs,
        "pairs_per_second": work.pairs / whole,
        "gflops": bare.operations / whole / 1e9,
        "products_gflops": bare.operations / products / 1e9,
        "share_of_products": products / whole,
        "normalisers_per_word": work.prefixes / work.words,
        "states_per_step": work.states / work.steps,
        "pairs_per_second_without_sharing": len(few) / naive,
        "seconds_to_make_the_scorer": made,
        "largest_difference": float(difference),
    }


def main() -> None:
    """Measure every size and print a table."""
    parser = network_parser(__doc__, SIZES)
    parser.add_argument("--threads", nargs="*", type=int, default=(1, 2))
    parser.add_argument("--results", type=Path, help="an experiment's results, measured too")
    arguments = parser.parse_args()
    device = select_device(arguments.device)
    results: dict[str, list[dict]] = {}
    print(f"device: {describe_device(device)}, {arguments.precision}")
    print(
        f"{'size':10}{'threads':>8}{'pairs/s':>10}{'GFLOP/s':>9}{'products alone':>16}{'share':>7}"
        f"{'normalisers':>13}{'states':>8}{'unshared pairs/s':>18}{'difference':>12}"
    )
    for name in [*arguments.sizes, *(["table"] if arguments.results else [])]:
        if name == "table":
            network, pairs = trained_network(arguments.results, PAIRS[name], device)
        else:
            network = EncoderDecoder(SIZES[name]).to(device)
            pairs = random_pairs(SIZES[name], PAIRS[name])
        # Threads of the processor are of no use to a GPU.
        for threads in arguments.threads if device.type == "cpu" else (1,):
            row = measure(network, pairs, arguments.precision, threads, arguments.seconds)
            print(
                f"{name:10}{threads:8}{row['pairs_per_second']:10.0f}{row['gflops']:9.1f}"
                f"{row['products_gflops']:16.1f}{row['share_of_products']:7.2f}{row['normalisers_per_word']:13.3f}"
                f"{row['states_per_step']:8.3f}{row['pairs_per_second_without_sharing']:18.0f}"
                f"{row['largest_difference']:12.1e}",
                flush=True,
            )
            rounded = {key: round(value, 6) if isinstance(value, float) else value for key, value in row.items()}
            results.setdefault(name, []).append(rounded)
    description = {"device": describe_device(device), "precision": arguments.precision}
    write_json(RESULTS / "rescoring.json", description | {"sizes": results})


if __name__ == "__main__":
    main()
