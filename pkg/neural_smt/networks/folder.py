"""A trained model as one folder: weights, configuration, and the vocabularies its ids refer to.

PyTorch is loaded where weights are read or written, not for a look at them.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from safetensors import SafetensorError, safe_open

from neural_smt.errors import UserError
from neural_smt.io.files import atomic, read_json, write_json
from neural_smt.vocabulary import Vocabulary

if TYPE_CHECKING:
    import torch
    from torch import nn

CONFIG, VOCABULARY, WEIGHTS = "config.json", "vocabulary", "weights.safetensors"

ENCODER_DECODER, CSLM, RECURRENT, ATTENTION = "encoder_decoder", "cslm", "recurrent", "attention"
NAMES = {
    ENCODER_DECODER: "an encoder-decoder",
    CSLM: "a CSLM",
    RECURRENT: "a recurrent model",
    ATTENTION: "an attention network",
}
"""What a folder's ``config.json`` calls its network, and what a person does."""


@dataclass(frozen=True)
class NetworkConfig:
    """Sizes of a network, as its folder's ``config.json`` has them. kind: of ``NAMES``; sizes: those that must be
    positive, ``UserError`` where one is not.
    """

    kind: ClassVar[str]
    sizes: ClassVar[tuple[str, ...]]

    def __post_init__(self) -> None:
        for name in self.sizes:
            if getattr(self, name) < 1:
                title = NAMES[self.kind].partition(" ")[2]
                raise UserError(f"the {title}'s {name} is {getattr(self, name)}; set it to 1 or more")

    def to_json(self) -> dict[str, Any]:
        """The configuration as plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """Inverse of ``to_json``; raises ``TypeError`` or ``KeyError`` on keys that are missing or unknown."""
        return cls(**values)


Config = TypeVar("Config")
Network = TypeVar("Network", bound="nn.Module")


def save_folder(
    folder: Path,
    kind: str,
    network: nn.Module,
    vocabularies: Mapping[str, Vocabulary],
    further: Mapping[str, torch.Tensor] | None = None,
    training: Mapping[str, Any] | None = None,
) -> None:
    """Write a model's folder, all or nothing. kind: of ``NAMES``; further: tensors that are no weights; training: JSON
    values that the configuration says besides.
    """
    from safetensors.torch import save_file

    with atomic(folder, directory=True) as temporary:
        weights = {name: tensor.contiguous().cpu() for name, tensor in network.state_dict().items()}
        weights |= further or {}
        save_file(weights, temporary / WEIGHTS)
        for side, vocabulary in vocabularies.items():
            vocabulary.save(temporary / f"{VOCABULARY}.{side}")
        description = {
            "network": kind,
            "config": network.config.to_json(),
            "vocabularies": {side: vocabulary.digest for side, vocabulary in vocabularies.items()},
        }
        if training:
            description["training"] = dict(training)
        write_json(temporary / CONFIG, description)


def read_folder(
    folder: Path, kind: str, parse: Callable[[dict[str, Any]], Config], sides: Iterable[str]
) -> tuple[Config, dict[str, Vocabulary]]:
    """The configuration, as ``parse`` makes it of plain values, and the vocabulary of each side.

    Raises ``UserError`` where the folder is of another kind of network or a vocabulary is not the one saved with it.
    """
    folder = Path(folder)
    description = read_json(folder / CONFIG)
    vocabularies = {side: Vocabulary.load(folder / f"{VOCABULARY}.{side}") for side in sides}
    try:
        if description["network"] != kind:
            raise TypeError(f"it is of the network {description['network']!r}")
        config = parse(description["config"])
        digests = {side: description["vocabularies"][side] for side in vocabularies}
    except (KeyError, TypeError, AttributeError) as error:
        raise UserError(
            f"{folder / CONFIG}: not {NAMES.get(kind, kind)}'s configuration ({error}); train it again"
        ) from None
    for side, vocabulary in vocabularies.items():
        if vocabulary.digest != digests[side]:
            raise UserError(
                f"{folder / VOCABULARY}.{side}: not the vocabulary that the model was trained with; "
                "put the original file back or train the model again"
            )
    return config, vocabularies


@contextmanager
def open_weights(folder: Path, framework: str = "numpy") -> Iterator[safe_open]:
    """The weights of a model's folder, to be read one by one; framework: ``numpy`` or ``pt``, what they are read as."""
    path = Path(folder) / WEIGHTS
    try:
        with safe_open(path, framework=framework) as stream:
            yield stream
    except (OSError, SafetensorError) as error:
        raise UserError(f"{path}: cannot be read ({error}); train the model again") from None


def weight_shapes(stream: safe_open) -> dict[str, list[int]]:
    """The shapes of opened weights by name, read off their headers."""
    return {name: stream.get_slice(name).get_shape() for name in stream.keys()}  # noqa: SIM118


def count_parameters(folder: Path) -> int:
    """Numbers in the weights of a model's folder."""
    with open_weights(folder) as stream:
        return sum(map(math.prod, weight_shapes(stream).values()))


def read_weights(folder: Path) -> dict[str, torch.Tensor]:
    """The tensors of a model's folder; ``UserError`` where they cannot be read."""
    from safetensors.torch import load_file

    path = Path(folder) / WEIGHTS
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise _broken(path, error) from None


def with_weights(
    folder: Path, network: Network, device: torch.device, weights: dict[str, torch.Tensor] | None = None
) -> Network:
    """The network with the folder's weights (read already, if given), on ``device``, ready for use."""
    given = read_weights(folder) if weights is None else weights
    try:
        network.load_state_dict(given)
    except RuntimeError as error:
        raise _broken(Path(folder) / WEIGHTS, error) from None
    return network.to(device).eval()


def _broken(path: Path, error: Exception) -> UserError:
    # PyTorch's first line only says that there are errors
    first, *further = str(error).splitlines()
    reason = further[0].strip().rstrip(". ") if further and first.endswith(":") else first
    return UserError(f"{path}: cannot be loaded ({textwrap.shorten(reason, 120)}); train the model again")
