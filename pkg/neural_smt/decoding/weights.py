"""Feature weights: one small JSON file, feature name -> list of numbers."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from neural_smt.decoding.features import FeatureSet
from neural_smt.errors import UserError
from neural_smt.io.files import read_json, write_json

LARGEST = 1e100
"""No weight may be larger than this: sums of weighted scores must not overflow."""


@dataclass(frozen=True)
class Weights:
    """The weight of every score of a system's features."""

    values: dict[str, tuple[float, ...]]

    @classmethod
    def defaults(cls, feature_set: FeatureSet) -> "Weights":
        """The weights that the features declare (those Moses starts from)."""
        return cls({feature.name: feature.weights for feature in feature_set})

    @classmethod
    def from_vector(cls, feature_set: FeatureSet, vector: np.ndarray) -> "Weights":
        """Weights from a vector in the order of ``feature_set`` (``[F]``)."""
        return cls({name: tuple(np.asarray(vector)[part].tolist()) for name, part in feature_set.slices.items()})

    def extended(self, feature_set: FeatureSet) -> "Weights":
        """These weights, and 0 for features that they lack: the same search, with more that can be weighed.

        Raises ``UserError`` where these name a feature that is not in ``feature_set``.
        """
        new = {f.name: (0.0,) * f.size for f in feature_set if f.name not in self.values}
        return Weights.from_vector(feature_set, Weights({**new, **self.values}).vector(feature_set))

    def vector(self, feature_set: FeatureSet) -> np.ndarray:
        """float64 ``[F]``, in the order of ``feature_set``.

        ``UserError`` where weights and features do not match, and for a weight that is not finite or beyond 1e100.
        """
        for name in self.values:
            if name not in feature_set:
                raise UserError(f"the weights name a feature {name} that the system does not have; tune it again")
        vector = np.zeros(feature_set.size)
        for feature in feature_set:
            values = self.values.get(feature.name)
            if values is None or len(values) != feature.size:
                raise UserError(
                    f"the weights hold {0 if values is None else len(values)} of the {feature.size} numbers "
                    f"of feature {feature.name}; tune the system again"
                )
            vector[feature_set.slices[feature.name]] = values
        for name, value in zip(feature_set.names, vector.tolist(), strict=True):
            if not abs(value) <= LARGEST:  # nor is what is not a number
                raise UserError(
                    f"the weight {value} of {name} is not a finite number below 1e100; tune the system again"
                )
        return vector

    def save(self, path: Path) -> None:
        """Write the JSON file, atomically."""
        write_json(path, {name: list(values) for name, values in self.values.items()})

    @classmethod
    def load(cls, path: Path) -> "Weights":
        """Read the JSON file; ``UserError`` when it is not an object of lists of numbers."""
        content = read_json(path)
        good = isinstance(content, dict) and all(
            isinstance(values, list) and all(isinstance(v, int | float) for v in values) for values in content.values()
        )
        if not good:
            raise UserError(f"{path}: expected an object of feature names and lists of numbers; tune the system again")
        return cls({name: tuple(float(v) for v in values) for name, values in content.items()})
