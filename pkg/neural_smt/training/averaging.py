"""The mean of a network's weights over several moments of its training."""

import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from neural_smt.errors import UserError
from neural_smt.io.files import atomic
from neural_smt.networks.weights import WEIGHTS


def write_average(models: Sequence[Path], output: Path) -> None:
    """Write the model folder ``output``, all or nothing: the last of ``models``, with the mean of their weights.

    models: folders of one network at different moments of its training. AdaDelta's steps do not shrink, so weights
    wander about what they have learnt; their mean lies in the middle (Polyak and Juditsky 1992, checkpoint averaging).
    Sums are float64, a tensor at a time; raises ``UserError`` where the models are not of one network.
    """
    with atomic(output, directory=True) as temporary:
        for file in Path(models[-1]).iterdir():
            if file.name != WEIGHTS:
                shutil.copyfile(file, temporary / file.name)
        save_file(mean_weights(models), temporary / WEIGHTS)


def mean_weights(models: Sequence[Path]) -> dict[str, Tensor]:
    """The mean of each tensor over the models, in the type that it has there."""
    with ExitStack() as stack:
        streams = []
        for model in models:
            path = Path(model) / WEIGHTS
            try:
                streams.append(stack.enter_context(safe_open(path, framework="pt")))
            except (OSError, SafetensorError) as error:
                raise UserError(f"{path}: cannot be read ({error}); train the model again") from None
        shapes = [
            {name: stream.get_slice(name).get_shape() for name in stream.keys()}  # noqa: SIM118
            for stream in streams
        ]
        for model, found in zip(models, shapes, strict=True):
            if found != shapes[0]:
                raise UserError(f"{model}: not the network of {models[0]}; train the model again")
        return {name: _mean([stream.get_tensor(name) for stream in streams]) for name in shapes[0]}


def _mean(tensors: list[Tensor]) -> Tensor:
    total = torch.zeros_like(tensors[0], dtype=torch.float64)
    for tensor in tensors:
        total += tensor
    return (total / len(tensors)).to(tensors[0].dtype)
