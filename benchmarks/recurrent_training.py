"""Training speed of recurrent language models and joint models beside their matrix products alone.

Whole: updates (minibatch, forward, backward, AdaGrad) on sentences of Zipfian words, with direct features. Products:
the matrix products that they execute, recorded on the way, of the same shapes, layouts and types, on matrices made
before; both are timed in turn. A recurrent model has few products and many small steps, so their share says what is
left to gain at most. Outputs are those that the softmax computes for a word; words are predictions, ends of sentences
included. Writes benchmarks/results/recurrent_training.json.
"""

from typing import NamedTuple

import numpy as np
from lib import RESULTS, network_parser

import neural_smt  # noqa: F401  (before PyTorch: it sets up OpenMP)

import torch  # isort: skip
from lib.trainers import sentence_trainer, speed_of, zipfian  # isort: skip

from neural_smt.experiment.settings import network_settings
from neural_smt.io.files import write_json
from neural_smt.networks.device import describe_device, select_device
from neural_smt.networks.recurrent.configuration import RecurrentConfig
from neural_smt.networks.recurrent.network import RecurrentNetwork
from neural_smt.training.joint_texts import JointText
from neural_smt.training.recurrent import BUFFER
from neural_smt.training.word_classes import cheapest, expected_cost, predicted_counts

SENTENCES = 20_000


class Size(NamedTuple):
    """words: of the vocabulary; slots: of 50 numbers each, that f_t is made of; hidden: units."""

    words: int
    slots: int = 0
    hidden: int = 100


SIZES = {"captions": Size(6_000), "joint": Size(6_000, slots=10), "news": Size(40_000)}


def random_text(size: Size, device: torch.device) -> JointText:
    """Sentences of 4 to 22 Zipfian words, and random source words as their inputs."""
    random = np.random.default_rng(0)
    lengths = random.integers(4, 23, SENTENCES)
    # as often as in captions and in news: the most frequent word is every tenth or twentieth
    sentences = zipfian(random, size.words, lengths, 0.95)
    tokens = len(sentences.values) + len(lengths)
    if not size.slots:
        return JointText(sentences)
    table = np.random.default_rng(1).normal(0, 0.1, (9_000, 50)).astype(np.float32)
    return JointText(sentences, random.integers(0, 9_000, (tokens, size.slots)), torch.from_numpy(table).to(device))


def measure(size: Size, device: torch.device, precision: str, threads: int, seconds: float) -> dict[str, float]:
    """Speed of training and of its products alone."""
    torch.set_num_threads(threads)
    text = random_text(size, device)
    counts = predicted_counts(text.sentences, size.words)
    classes = cheapest(counts)
    given = {"slots": size.slots, "dimensions": 50} if size.slots else {}
    config = RecurrentConfig(size.words, len(classes), hidden=size.hidden, **given)
    network = RecurrentNetwork(config, classes).to(device)
    settings = network_settings("recurrent", {"precision": precision})
    # as many as share a buffer of sentences sorted by length, so that all lengths are among them
    speed = speed_of(sentence_trainer(network, settings, text), BUFFER, seconds)
    del speed["seconds"]
    return {"threads": threads, "classes": len(classes), "cost": expected_cost(classes, counts), **speed}


def main() -> None:
    """Measure every size and print a table."""
    parser = network_parser(__doc__, SIZES)
    parser.add_argument("--threads", nargs="*", type=int, default=(1, 2))
    arguments = parser.parse_args()
    device = select_device(arguments.device)
    results: dict[str, list[dict[str, float]]] = {}
    print(f"device: {describe_device(device)}, {arguments.precision}")
    print(f"{'size':10}{'threads':>8}{'outputs':>9}{'words/s':>9}{'GFLOP/s':>9}{'products alone':>16}{'share':>7}")
    for name in arguments.sizes:
        # Threads of the processor are of no use to a GPU.
        for threads in arguments.threads if device.type == "cpu" else (1,):
            row = measure(SIZES[name], device, arguments.precision, threads, arguments.seconds)
            print(
                f"{name:10}{threads:8}{row['cost']:9.0f}{row['words_per_second']:9.0f}{row['gflops']:9.1f}"
                f"{row['products_gflops']:16.1f}{row['share_of_products']:7.2f}",
                flush=True,
            )
            rounded = {key: round(value, 4) for key, value in row.items()}
            results.setdefault(name, []).append(rounded)
    description = {"device": describe_device(device), "precision": arguments.precision}
    write_json(RESULTS / "recurrent_training.json", description | {"sizes": results})


if __name__ == "__main__":
    main()
