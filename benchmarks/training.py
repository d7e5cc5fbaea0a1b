"""Training speed of the encoder-decoder beside its matrix products alone, at the sizes of experiments and of the paper.

Whole: updates (minibatch, forward, backward, clipping, AdaDelta) on pairs with Zipfian words, drawn anew all the time.
Products: the matrix products that some of them execute, recorded on the way, of the same shapes, layouts and types, on
matrices made before; both are timed in turn. Three ways: by PyTorch alone, which is how this began (its default
product, its operations for each step of gated units and of the optimiser), with a softmax over all words; by what is
chosen for this processor (with precision auto, tiles where it has them) and our kernels; and the same with a softmax
estimated from the words of a batch and 500 others. Tokens are target words with end symbols. Writes
benchmarks/results/training.json.
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import NamedTuple
from unittest.mock import patch

import pandas as pd
from lib import RESULTS, network_parser
from lib.pairs import SIZES

import neural_smt  # noqa: F401  (before PyTorch: it sets up OpenMP)

import torch  # isort: skip
from lib.trainers import phrase_trainer, speed_of  # isort: skip

from neural_smt.experiment.settings import network_settings
from neural_smt.io.files import write_json
from neural_smt.networks import device, recurrence
from neural_smt.networks.device import describe_device, select_device
from neural_smt.networks.encoder_decoder import EncoderDecoder, EncoderDecoderConfig
from neural_smt.training import loop, optimisers

BATCH = 128


class Way(NamedTuple):
    """ours: whether our kernels and choice of products count; samples: see ``WordSampler`` (0: all words)."""

    ours: bool
    samples: int


WAYS = {"PyTorch": Way(False, 0), "all words": Way(True, 0), "sampled": Way(True, 500)}


@contextmanager
def by_pytorch_alone() -> Iterator[None]:
    """Nothing but PyTorch multiplies, in float32 on a CPU, and takes steps."""
    with (
        patch.object(device, "onednn_chosen", lambda: False),
        patch.object(loop, "multiplies_in_tiles", lambda: False),
        patch.object(loop, "trained_by_onednn", lambda: False),
        patch.object(recurrence, "step_kernels", lambda *_: None),
        patch.object(optimisers, "kernels_for", lambda *_: None),
    ):
        yield


def measure(
    config: EncoderDecoderConfig, way: Way, place: torch.device, precision: str, threads: int, seconds: float
) -> dict:
    """Speed of training and of its products alone."""
    torch.set_num_threads(threads)
    network = EncoderDecoder(config).to(place)
    given = {"validation_pairs": 0, "precision": precision, "batch": BATCH}
    settings = network_settings("encoder_decoder", given)
    # buffers of minibatches, each of which holds pairs of all lengths
    updates = settings.buffer * (10 if config.hidden < 500 else 1)
    with nullcontext() if way.ours else by_pytorch_alone():
        speed = speed_of(phrase_trainer(network, settings, updates, way.samples), updates, seconds)
    seconds_per_update = speed.pop("seconds") / updates
    return {"threads": threads, "pairs_per_second": settings.batch / seconds_per_update, **speed}


def main() -> None:
    """Measure every size and print a table."""
    parser = network_parser(__doc__, SIZES)
    parser.add_argument("--threads", nargs="*", type=int, default=(1, 2))
    arguments = parser.parse_args()
    place = select_device(arguments.device)
    rows = []
    print(f"device: {describe_device(place)}, {arguments.precision}", flush=True)
    for name in arguments.sizes:
        # Threads of the processor are of no use to a GPU.
        for threads in arguments.threads if place.type == "cpu" else (1,):
            for way, chosen in WAYS.items():
                row = measure(SIZES[name], chosen, place, arguments.precision, threads, arguments.seconds)
                rows.append({"size": name, "way": way, **row})
    table = pd.DataFrame(rows)
    speeds = table.groupby(["size", "threads"])["pairs_per_second"]
    table["times"] = table["pairs_per_second"] / speeds.transform("first")
    print(table.to_markdown(index=False, floatfmt=".2f"))
    description = {"device": describe_device(place), "precision": arguments.precision}
    write_json(RESULTS / "training.json", description | {"rows": table.round(4).to_dict("records")})


if __name__ == "__main__":
    main()
