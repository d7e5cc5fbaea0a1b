"""Training speed of the encoder-decoder beside its matrix products alone, at the sizes of experiments and of the paper.

Whole: updates (minibatch, forward, backward, clipping, AdaDelta) on pairs with Zipfian words; the same few updates, of
short and of long pairs, again and again. Products: the matrix products that they execute, recorded on the way, of the
same shapes, layouts and types, on matrices made before; both are timed in turn. Tokens are target words with end
symbols. Writes benchmarks/results/training.json.
"""

import tempfile
from pathlib import Path

import numpy as np
from lib import RESULTS, network_parser
from lib.pairs import SIZES, random_pairs

import neural_smt  # noqa: F401  (before PyTorch: it sets up OpenMP)

import torch  # isort: skip
from lib.training_speed import speed_of  # isort: skip

from neural_smt.experiment.settings import network_settings
from neural_smt.io.files import write_json
from neural_smt.networks.device import describe_device, select_device
from neural_smt.networks.encoder_decoder import EncoderDecoder, EncoderDecoderConfig
from neural_smt.training.adadelta import AdaDelta
from neural_smt.training.encoder_decoder import PhraseTask
from neural_smt.training.loop import BatchOrder, Trainer


def measure(config: EncoderDecoderConfig, device: torch.device, precision: str, threads: int, seconds: float) -> dict:
    """Speed of training and of its products alone."""
    torch.set_num_threads(threads)
    network = EncoderDecoder(config).to(device)
    settings = network_settings("encoder_decoder", {"validation_pairs": 0, "precision": precision})
    pairs = random_pairs(config, settings.batch * settings.buffer)
    with tempfile.TemporaryDirectory() as folder:
        order = BatchOrder(pairs.lengths, settings.batch, 1, settings.buffer, reshuffle=False)
        task = PhraseTask(network, pairs, pairs.take(np.arange(0)), order)
        # one buffer of minibatches, which hold pairs of all lengths
        trainer = Trainer(task, settings, Path(folder), "benchmark", AdaDelta.of(network, settings))
        speed = speed_of(trainer, settings.buffer, seconds)
    milliseconds = 1e3 * speed.pop("seconds") / settings.buffer
    return {"threads": threads, "milliseconds_per_update": milliseconds, **speed}


def main() -> None:
    """Measure every size and print a table."""
    parser = network_parser(__doc__, SIZES)
    parser.add_argument("--threads", nargs="*", type=int, default=(1, 2))
    arguments = parser.parse_args()
    device = select_device(arguments.device)
    results: dict[str, list[dict]] = {}
    print(f"device: {describe_device(device)}, {arguments.precision}")
    print(f"{'size':10}{'threads':>8}{'ms/update':>11}{'tokens/s':>10}{'GFLOP/s':>9}{'products alone':>16}{'share':>7}")
    for name in arguments.sizes:
        # Threads of the processor are of no use to a GPU.
        for threads in arguments.threads if device.type == "cpu" else (1,):
            row = measure(SIZES[name], device, arguments.precision, threads, arguments.seconds)
            print(
                f"{name:10}{threads:8}{row['milliseconds_per_update']:11.1f}{row['words_per_second']:10.0f}"
                f"{row['gflops']:9.1f}{row['products_gflops']:16.1f}{row['share_of_products']:7.2f}",
                flush=True,
            )
            rounded = {key: round(value, 4) if isinstance(value, float) else value for key, value in row.items()}
            results.setdefault(name, []).append(rounded)
    description = {"device": describe_device(device), "precision": arguments.precision}
    write_json(RESULTS / "training.json", description | {"sizes": results})


if __name__ == "__main__":
    main()
