"""Training and scoring speed of the CSLM beside its matrix products alone, at a small size and at that of the paper.

Words are Zipfian. The products are those that are executed, recorded on the way, of the same shapes, layouts and types,
on matrices made before; they are timed in turn with what they are compared with, so that whatever else the machine does
slows both. Writes benchmarks/results/cslm_training.json.
"""

import time

import numpy as np
from lib import RESULTS, network_parser

import neural_smt  # noqa: F401  (before PyTorch: it sets up OpenMP)

from lib.products import Bare, Recorder, in_turn  # isort: skip
from lib.trainers import ngram_trainer, random_sentences, speed_of  # isort: skip

from neural_smt.experiment.settings import network_settings
from neural_smt.io.files import write_json
from neural_smt.language_model.estimation import estimate
from neural_smt.language_model.model import NgramModel
from neural_smt.networks.cslm import CslmConfig, CslmNetwork, CslmScorer
from neural_smt.networks.device import describe_device, select_device
from neural_smt.networks.folder import Trained
from neural_smt.training.texts import NgramText
from neural_smt.vocabulary import RESERVED, Vocabulary

SIZES = {"captions": (CslmConfig(11_565, projection=64, layers=(256, 128)), 256), "paper": (CslmConfig(15_003), 128)}
"""Name -> sizes, and n-grams per update."""

WORDS_PER_CONTEXT = 3
"""What hypotheses of a stack go on with after the same words, about."""


def measure_training(network: CslmNetwork, batch: int, seconds: float, precision: str) -> dict[str, float]:
    """N-grams per second, and the share of the time that the matrix products alone would take."""
    settings = network_settings("cslm", {"batch": batch, "precision": precision})
    speed = speed_of(ngram_trainer(network, settings), 1, seconds)
    return {
        "training_tokens_per_second": speed["words_per_second"],
        "training_gflops": speed["gflops"],
        "training_products_gflops": speed["products_gflops"],
        "training_share_of_products": speed["share_of_products"],
    }


def measure_scoring(network: CslmNetwork, contexts: int, seconds: float, precision: str) -> dict[str, float]:
    """N-grams per second of one stack, and the share of the time that the matrix products alone would take."""
    words = network.config.words
    vocabulary = Vocabulary([*RESERVED, *(f"w{word}" for word in range(3, words))], [0] * words)
    sentences = random_sentences(words, contexts // 12)
    language_model = NgramModel.from_tables(estimate(sentences, 3).tables, vocabulary)
    began = time.perf_counter()
    scorer = CslmScorer(Trained(network, vocabulary), language_model, vocabulary, precision)
    made = time.perf_counter() - began
    text = NgramText.of(sentences, network.config.history)
    before, following = text.ngrams(np.arange(len(text)))
    before, following = np.repeat(before, WORDS_PER_CONTEXT, axis=0), np.tile(following, WORDS_PER_CONTEXT)
    with Recorder() as recorder:
        scorer(before, following)
    bare = Bare([recorder.products])
    score, products = in_turn(lambda: scorer(before, following), bare.one_after_another, seconds)
    return {
        "scoring_ngrams_per_second": len(following) / score,
        "scoring_gflops": bare.operations / score / 1e9,
        "scoring_products_gflops": bare.operations / products / 1e9,
        "scoring_share_of_products": products / score,
        "seconds_to_make_the_scorer": made,
    }


def main() -> None:
    """Measure every size and print a table."""
    parser = network_parser(__doc__, SIZES)
    arguments = parser.parse_args()
    device = select_device(arguments.device)
    results: dict[str, dict[str, float]] = {}
    print(f"device: {describe_device(device)}, {arguments.precision}")
    print(f"{'size':10}{'what':>10}{'per second':>12}{'GFLOP/s':>10}{'products alone':>16}{'share':>8}")
    for name in arguments.sizes:
        config, batch = SIZES[name]
        network = CslmNetwork(config).to(device)
        row = measure_training(network, batch, arguments.seconds, arguments.precision)
        row |= measure_scoring(network, 1200 if name == "paper" else 6000, arguments.seconds, arguments.precision)
        for what, unit in (("training", "tokens"), ("scoring", "ngrams")):
            print(
                f"{name:10}{what:>10}{row[f'{what}_{unit}_per_second']:12.0f}{row[f'{what}_gflops']:10.1f}"
                f"{row[f'{what}_products_gflops']:16.1f}{row[f'{what}_share_of_products']:8.2f}",
                flush=True,
            )
        results[name] = {key: round(value, 4) for key, value in row.items()}
    write_json(
        RESULTS / "cslm_training.json",
        {"device": describe_device(device), "precision": arguments.precision, "sizes": results},
    )


if __name__ == "__main__":
    main()
