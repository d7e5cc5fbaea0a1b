"""A trained model as one folder: weights, configuration, and the vocabularies its ids refer to.

PyTorch is loaded where weights are read or written, not for a look at them.
"""

import textwrap
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Self, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from neural_smt.errors import UserError
from neural_smt.io.arrays import Arrays, read_arrays, write_arrays
from neural_smt.io.files import atomic, read_json, write_json
from neural_smt.vocabulary import Vocabulary

if TYPE_CHECKING:
    import torch

CONFIG, VOCABULARY, WEIGHTS = "config.json", "vocabulary", "weights.safetensors"

_ADVICE = "train the model again"


@dataclass(frozen=True)
class NetworkConfig:
    """What a network is made of, as its folder's ``config.json`` has it; the settings of a kind have their ranges in
    the schema. kind: what the file calls the network; title: what a person does; sides: whose words it knows.
    """

    kind: ClassVar[str]
    title: ClassVar[str]
    sides: ClassVar[tuple[str, ...]] = ("source", "target")

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """From plain values; raises ``TypeError`` or ``KeyError`` on keys that are missing or unknown."""
        return cls(**{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()})

    @classmethod
    def of(cls, settings: Mapping[str, Any], **given: Any) -> Self:
        """Of the settings of a kind; given: what they do not have."""
        known = {**settings, **given}
        return cls.from_json({field.name: known[field.name] for field in fields(cls)})


def check_values(config: Any) -> None:
    """Raise ``TypeError`` for a size that is no whole number or an unknown choice, in a dataclass or one inside it."""
    for name, kind in get_type_hints(type(config)).items():
        value = getattr(config, name)
        plain = get_origin(kind) or kind
        if is_dataclass(kind):
            check_values(value)
        elif (plain is Literal and value not in get_args(kind)) or (
            plain in (int, tuple) and not isinstance(value, plain)
        ):
            raise TypeError(f"{name} is {value!r}")


class SavedNetwork:
    """What a network (a ``torch.nn.Module`` besides) needs to be saved in a folder, and to be trained. config: what it
    was made of; tables: names of parameters of which only rows that a batch needs have a gradient (``table_rows``).
    """

    Config: ClassVar[type[NetworkConfig]]
    tables: ClassVar[tuple[str, ...]]
    config: Any

    def other_tensors(self) -> "dict[str, torch.Tensor]":
        """What it is made of besides the configuration, as tensors by names that no weight has."""
        return {}

    @classmethod
    def build(cls, config: Any, tensors: "dict[str, torch.Tensor]") -> Self:
        """A network for these weights; takes those of ``other_tensors`` out of them."""
        return cls(config)  # type: ignore[call-arg]  # what a network is besides takes it


class DrawnNetwork(SavedNetwork):
    """One whose ``__init__(config, seed)`` draws its weights; with no seed it leaves them to be loaded."""

    @classmethod
    def build(cls, config: Any, tensors: "dict[str, torch.Tensor]") -> Self:
        """See ``SavedNetwork``."""
        return cls(config, seed=None)  # type: ignore[call-arg]  # what a network is besides takes them


Network = TypeVar("Network", bound=Any)

FAULTS = UserError, AttributeError, KeyError, TypeError, ValueError, IndexError, ArithmeticError, RuntimeError
"""What a network is made of, or loads its weights from, may raise where it was damaged."""


class Trained(Generic[Network]):
    """A network and the words that it knows of each side: ``source`` of what it reads, ``target`` of what it predicts,
    whichever languages these are.
    """

    def __init__(self, network: Network, *vocabularies: Vocabulary):
        self.network, self.vocabularies = network, vocabularies

    @property
    def source(self) -> Vocabulary:
        """The words that it reads."""
        return self.vocabularies[0]

    @property
    def target(self) -> Vocabulary:
        """The words that it predicts."""
        return self.vocabularies[-1]

    def save(self, folder: Path, training: dict[str, Any] | None = None) -> None:
        """Write the model's folder, all or nothing; training: JSON values for ``read_training``."""
        config, sides = self.network.config, dict(zip(self.network.config.sides, self.vocabularies, strict=True))
        with atomic(folder, directory=True) as temporary:
            tensors = self.network.state_dict() | self.network.other_tensors()
            write_arrays(temporary / WEIGHTS, {name: tensor.cpu().numpy() for name, tensor in tensors.items()})
            for side, vocabulary in sides.items():
                vocabulary.save(temporary / f"{VOCABULARY}.{side}")
            description = {
                "network": config.kind,
                "config": asdict(config),
                "vocabularies": {side: vocabulary.digest for side, vocabulary in sides.items()},
            }
            write_json(temporary / CONFIG, description | ({"training": training} if training else {}))

    @classmethod
    def load(cls, folder: Path, kind: type[Network], device: "torch.device") -> "Trained[Network]":
        """Read what ``save`` wrote, ready for use. Raises ``UserError`` where the folder is of another kind of network,
        a vocabulary is not the one saved with it, or a file is missing or broken.
        """
        folder, expected = Path(folder), kind.Config
        description = read_json(folder / CONFIG)
        try:
            if description["network"] != expected.kind:
                raise TypeError(f"it is of the network {description['network']!r}")
            config = expected.from_json(description["config"])
            check_values(config)
            digests = {side: description["vocabularies"][side] for side in expected.sides}
        except FAULTS as error:
            raise UserError(
                f"{folder / CONFIG}: not {expected.title}'s configuration ({error}); train it again"
            ) from None
        vocabularies = [Vocabulary.load(folder / f"{VOCABULARY}.{side}") for side in expected.sides]
        for vocabulary, (side, digest) in zip(vocabularies, digests.items(), strict=True):
            if vocabulary.digest != digest:
                raise UserError(
                    f"{folder / VOCABULARY}.{side}: not the vocabulary that the model was trained with; "
                    "put the original file back or train the model again"
                )
        tensors = read_weights(folder)
        try:
            network = kind.build(config, tensors)
            network.load_state_dict(tensors)
        except FAULTS as error:
            raise _broken(folder / WEIGHTS, error) from None
        return cls(network.to(device).eval(), *vocabularies)


def read_training(folder: Path) -> dict[str, Any]:
    """What a model's folder says of its training."""
    return read_json(Path(folder) / CONFIG).get("training", {})


def open_weights(folder: Path, mapped: bool = True) -> Arrays:
    """The weights of a model's folder by name; ``UserError`` where they cannot be read, or are not finite."""
    weights = read_arrays(Path(folder) / WEIGHTS, mapped=mapped, advice=_ADVICE)
    for name, values in weights.items():
        if not np.isfinite(values).all():
            raise weights.damaged(f"a number of '{name}' is not finite")
    return weights


def count_parameters(folder: Path) -> int:
    """Numbers in the weights of a model's folder."""
    return sum(values.size for values in open_weights(folder).values())


def read_weights(folder: Path) -> "dict[str, torch.Tensor]":
    """The tensors of a model's folder; ``UserError`` where they cannot be read."""
    import torch

    return {name: torch.from_numpy(values) for name, values in open_weights(folder, mapped=False).items()}


def _broken(path: Path, error: Exception) -> UserError:
    # PyTorch's first line only says that there are errors
    first, *further = str(error).splitlines()
    reason = further[0].strip().rstrip(". ") if further and first.endswith(":") else first
    return UserError(f"{path}: cannot be loaded ({textwrap.shorten(reason, 120)}); {_ADVICE}")
