"""The file that holds the weights of a trained model; looking at it needs no PyTorch."""

import math
from pathlib import Path

from safetensors import SafetensorError, safe_open

from neural_smt.errors import UserError

WEIGHTS = "weights.safetensors"
"""Its name in a model's folder."""


def count_parameters(folder: Path) -> int:
    """Numbers in the weights of a model's folder, read off their headers."""
    path = Path(folder) / WEIGHTS
    try:
        with safe_open(path, framework="numpy") as stream:
            return sum(math.prod(stream.get_slice(name).get_shape()) for name in stream.keys())  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise UserError(f"{path}: cannot be read ({error}); train the model again") from None
