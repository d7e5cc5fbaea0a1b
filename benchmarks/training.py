"""Training and rescoring speed of the encoder-decoder at the sizes of the embedded experiment and of the paper.

Phrase pairs are all spans of up to seven words of random sentences with Zipfian words, so that phrases share prefixes
as those of a real table do. Rescoring is measured beside a scorer that sends every pair through the network by
itself, in batches sorted by length. Writes benchmarks/results/training.json.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "pkg"))

import neural_smt  # noqa: E402, F401  (before PyTorch: it sets up OpenMP)

RESULTS = ROOT / "benchmarks" / "results"

import numpy as np  # noqa: E402
import torch  # noqa: E402

from neural_smt.files import write_json  # noqa: E402
from neural_smt.networks.configuration import EncoderDecoderConfig  # noqa: E402
from neural_smt.networks.device import describe_device, precision_context, select_device  # noqa: E402
from neural_smt.networks.encoder_decoder import EncoderDecoder  # noqa: E402
from neural_smt.networks.packing import pack_pairs  # noqa: E402
from neural_smt.ragged import Ragged  # noqa: E402
from neural_smt.rescoring.scorer import PairScorer  # noqa: E402
from neural_smt.training.loop import Trainer  # noqa: E402
from neural_smt.training.pairs import PhrasePairs  # noqa: E402
from neural_smt.training.phrase_task import PhraseTask  # noqa: E402
from neural_smt.training.settings import TrainingSettings  # noqa: E402

SIZES = {
    "embedded": EncoderDecoderConfig(3_000, 6_000, hidden=128, embedding=48, maxout=64, rank=48),
    "captions": EncoderDecoderConfig(11_000, 11_500, hidden=200, embedding=64, maxout=100, rank=64),
    "paper": EncoderDecoderConfig(15_003, 15_003),
}

LONGEST = 7


def random_pairs(config: EncoderDecoderConfig, count: int) -> PhrasePairs:
    """``count`` pairs of spans: of each sentence all up to ``LONGEST`` words, every fourth translated a second way."""
    random = np.random.default_rng(0)
    sources, targets = [], []
    while len(sources) < count:
        source, target = (
            (random.zipf(1.3, 12) + 2) % (words - 3) + 3 for words in (config.source_words, config.target_words)
        )
        for start in range(12):
            for end in range(start + 1, min(start + LONGEST, 12) + 1):
                sources.append(source[start:end])
                targets.append(target[start:end])
                if random.random() < 0.25:
                    sources.append(source[start:end])
                    targets.append(target[max(start - 1, 0) : end][:LONGEST])
    return PhrasePairs(Ragged.from_lists(sources[:count]), Ragged.from_lists(targets[:count]))


def measure_training(network: EncoderDecoder, pairs: PhrasePairs, seconds: float) -> dict[str, float]:
    """Updates per second, and target words per second, end symbols included."""
    settings = TrainingSettings(validation_pairs=0)
    with tempfile.TemporaryDirectory() as folder:
        task = PhraseTask(network, pairs, pairs.take(np.arange(0)), settings, 1)
        trainer = Trainer(task, settings, Path(folder), "benchmark")
        trainer.update()
        updates, words = trainer.progress.updates, trainer.progress.words
        began = time.perf_counter()
        while (elapsed := time.perf_counter() - began) < seconds:
            trainer.update()
    updates, words = trainer.progress.updates - updates, trainer.progress.words - words
    return {"training_ms_per_update": 1e3 * elapsed / updates, "training_words_per_second": words / elapsed}


@torch.no_grad()
def measure_rescoring(network: EncoderDecoder, pairs: PhrasePairs, precision: str) -> dict[str, float]:
    """Pairs per second with and without sharing, and the largest difference of their scores."""
    device = network.output.weight.device
    began = time.perf_counter()
    scorer = PairScorer(network, precision)
    scores, work = scorer.score(pairs.source, np.arange(len(pairs)), pairs.target, batch=1024)
    shared = time.perf_counter() - began
    with precision_context(device, precision):
        order = np.argsort(pairs.lengths, kind="stable")
        alone = np.empty(len(pairs), dtype=np.float32)
        began = time.perf_counter()
        for start in range(0, len(pairs), 1024):
            rows = order[start : start + 1024]
            chunk = pairs.take(rows)
            alone[rows] = network(pack_pairs(chunk.source, chunk.target, device)).cpu().numpy()
        naive = time.perf_counter() - began
    return {
        "rescoring_pairs_per_second": len(pairs) / shared,
        "naive_pairs_per_second": len(pairs) / naive,
        "normalisers_per_word": work.prefixes / work.words,
        "largest_difference": float(np.abs(scores - alone).max()),
    }


def main() -> None:
    """Measure every size and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--precision", choices=("auto", "fp32", "bf16"), default="fp32")
    parser.add_argument("--seconds", type=float, default=4.0, help="of training per size")
    arguments = parser.parse_args()
    device = select_device(arguments.device)
    results: dict[str, dict[str, float]] = {}
    print(f"device: {describe_device(device)}")
    print(f"{'size':10}{'ms/update':>12}{'words/s':>12}{'pairs/s':>12}{'naive':>12}{'gain':>8}{'difference':>12}")
    for name, config in SIZES.items():
        network = EncoderDecoder(config).to(device)
        pairs = random_pairs(config, 2_000 if name == "paper" else 20_000)
        row = measure_training(network, pairs, arguments.seconds)
        row |= measure_rescoring(network, pairs, arguments.precision)
        gain = row["rescoring_pairs_per_second"] / row["naive_pairs_per_second"]
        print(
            f"{name:10}{row['training_ms_per_update']:12.1f}{row['training_words_per_second']:12.0f}"
            f"{row['rescoring_pairs_per_second']:12.0f}{row['naive_pairs_per_second']:12.0f}{gain:8.2f}"
            f"{row['largest_difference']:12.1e}"
        )
        results[name] = {key: round(value, 6) for key, value in row.items()}
    write_json(RESULTS / "training.json", {"device": describe_device(device), "sizes": results})


if __name__ == "__main__":
    main()
