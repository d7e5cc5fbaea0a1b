"""The log-linear features, declared once: search, n-best lists, tuning and export all read this declaration.

Names, order and default weights are those of Moses, so that weights and n-best lists can be exchanged with it. Weights
are one small JSON file, feature name -> list of numbers.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from neural_smt.errors import UserError
from neural_smt.experiment.settings import read_described
from neural_smt.io.files import write_json
from neural_smt.phrases.table import LOG_FLOOR, floored_log

DISTORTION = "Distortion0"
REORDERING = "LexicalReordering0"
UNKNOWN_WORD = "UnknownWordPenalty0"

COLUMN_WEIGHT = 0.2
"""Default weight of the features that Moses does not know: score columns and networks."""

LARGEST = 1e100
"""No weight may be larger than this: sums of weighted scores must not overflow."""


@dataclass(frozen=True)
class Rules:
    """Phrase pairs as the features read them, R rows.

    scores: float32 ``[R, N]``, probabilities of the phrase table; target_lengths: int64 ``[R]``; unknown: bool
    ``[R]``, the rows that copy an unknown word (their probabilities are 1); columns: feature name -> float32 ``[R]``,
    natural log.
    """

    scores: np.ndarray
    target_lengths: np.ndarray
    unknown: np.ndarray
    columns: dict[str, np.ndarray]


@dataclass(frozen=True)
class Feature:
    """One feature function with ``len(weights)`` scores.

    A stateless feature reads its scores from a rule (``read``: Rules -> ``[R, size]``); the scores of a stateful one
    depend on the hypothesis that the rule extends, and search computes them. One that is not tunable keeps its weight.
    """

    name: str
    weights: tuple[float, ...]
    read: Callable[..., np.ndarray] | None = None
    tunable: bool = True

    @property
    def size(self) -> int:
        return len(self.weights)

    @property
    def stateful(self) -> bool:
        return self.read is None


class FeatureSet:
    """The features of a system, in the order of its score vectors."""

    def __init__(self, features: Iterable[Feature]):
        self.features = tuple(features)
        starts = np.cumsum([0, *(feature.size for feature in self.features)]).tolist()
        self.slices = {f.name: slice(starts[i], starts[i + 1]) for i, f in enumerate(self.features)}
        self.size = starts[-1]

    def __iter__(self) -> Iterator[Feature]:
        return iter(self.features)

    def __contains__(self, name: str) -> bool:
        return name in self.slices

    @cached_property
    def names(self) -> list[str]:
        """One name per score: ``Distortion0``, or ``TranslationModel0_2`` where a feature has several."""
        return [f.name if f.size == 1 else f"{f.name}_{i}" for f in self.features for i in range(f.size)]

    @cached_property
    def tunable(self) -> np.ndarray:
        """bool ``[F]``: the scores whose weights tuning may change."""
        return np.array([f.tunable for f in self.features for _ in range(f.size)], dtype=bool)

    @cached_property
    def language_models(self) -> list[str]:
        """The names of the n-gram models, in order."""
        return [f.name for f in self.features if f.name.startswith("LM")]

    @cached_property
    def stateless(self) -> np.ndarray:
        """int64: the positions of the stateless scores among all."""
        return np.array(
            [i for f in self.features if not f.stateful for i in range(self.size)[self.slices[f.name]]], dtype=np.int64
        )

    def read(self, rules: Rules) -> np.ndarray:
        """float32 ``[R, len(stateless)]``: the stateless scores of each rule."""
        columns = [feature.read(rules) for feature in self.features if feature.read is not None]
        return np.ascontiguousarray(np.concatenate(columns, axis=1), dtype=np.float32)

    def with_feature(self, name: str) -> "FeatureSet":
        """This set with the feature of a network after the stateful ones it has."""
        feature = Feature(name, (COLUMN_WEIGHT,))
        stateful = [f for f in self.features if f.stateful]
        return FeatureSet([*stateful, feature, *(f for f in self.features if not f.stateful)])


def column_name(group: str, number: int = 0) -> str:
    """The feature of a score column or of a kind of network: ``encoder_decoder`` -> ``EncoderDecoder0``; number: of the
    networks of this kind that rerank one list.
    """
    return "".join(part.capitalize() for part in group.split("_")) + str(number)


def is_column(group: str) -> bool:
    """Whether a feature group, not that of a network in the search, is a score column."""
    return group not in ("phrase", "language_model", "reordering")


def build_feature_set(groups: Sequence[str], language_models: int = 1, phrase_scores: int = 4) -> FeatureSet:
    """The features of a system's groups, with so many language models and scores in the phrase table.

    ``phrase`` (always needed), ``language_model`` (``LM0``, ``LM1``, ...), ``reordering``; every other group is a score
    column. A decoder adds the feature of its network. Stateful features come first, as in the n-best lists of Moses.
    """
    if "phrase" not in groups or "language_model" not in groups:
        raise UserError("a system needs the feature groups 'phrase' and 'language_model'; add them to its 'features'")
    if len(set(groups)) != len(groups):
        raise UserError(f"a feature group is named twice in {', '.join(groups)}; name each once")
    features = [Feature(REORDERING, (0.3,) * 6)] if "reordering" in groups else []
    features += [
        Feature(DISTORTION, (0.3,)),
        *(Feature(f"LM{number}", (0.5,)) for number in range(language_models)),
        Feature(UNKNOWN_WORD, (1.0,), lambda rules: LOG_FLOOR * rules.unknown[:, None], tunable=False),
        Feature("WordPenalty0", (-1.0,), lambda rules: -rules.target_lengths[:, None]),
        Feature("PhrasePenalty0", (0.2,), lambda rules: np.ones((len(rules.unknown), 1))),
        Feature("TranslationModel0", (0.2,) * phrase_scores, lambda rules: floored_log(rules.scores)),
    ]
    for name in map(column_name, filter(is_column, groups)):
        features.append(Feature(name, (COLUMN_WEIGHT,), lambda rules, name=name: rules.columns[name][:, None]))
    return FeatureSet(features)


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

    def vector(self, feature_set: FeatureSet) -> np.ndarray:
        """float64 ``[F]``, in the order of ``feature_set``.

        ``UserError`` where weights and features do not match, and for a weight that is not finite or beyond 1e100.
        """
        for name in self.values:
            if name not in feature_set:
                raise UserError(f"the weights name a feature {name} that the system does not have; tune it again")
        vector = np.zeros(feature_set.size)
        for feature in feature_set:
            values = self.values.get(feature.name, ())
            if len(values) != feature.size:
                raise UserError(
                    f"the weights hold {len(values)} of the {feature.size} numbers of feature {feature.name}; tune the "
                    "system again"
                )
            vector[feature_set.slices[feature.name]] = values
        for name, value in zip(feature_set.names, vector.tolist(), strict=True):
            if not abs(value) <= LARGEST:  # nor is what is not a number
                raise UserError(f"the weight {value} of {name} is not a finite number below 1e100; tune it again")
        return vector

    def save(self, path: Path) -> None:
        """Write the JSON file, atomically."""
        write_json(path, {name: list(values) for name, values in self.values.items()})

    @classmethod
    def load(cls, path: Path) -> "Weights":
        """Read the JSON file; ``UserError`` when it is not an object of lists of numbers."""
        values = read_described(path, "weights", "tune the system again")
        return cls({name: tuple(map(float, numbers)) for name, numbers in values.items()})
