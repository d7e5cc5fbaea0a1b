"""What each feature and each phrase adds to the score of a translation."""

import numpy as np

from neural_smt.translation.results import Candidate, Translator

LEAST = 5e-7
"""Shares below this are none: sums of float32 and of float64 differ by as much."""


def feature_shares(translator: Translator, features: np.ndarray) -> dict[str, float]:
    """Weighted scores (float64 ``[F]``) by feature, those of one with several (``TranslationModel0_2``) added up."""
    shares: dict[str, float] = {}
    for name, share in zip(translator.names, (translator.weights * features).tolist(), strict=True):
        whole = _feature(name)
        shares[whole] = shares.get(whole, 0.0) + share
    return {name: share if abs(share) >= LEAST else 0.0 for name, share in shares.items()}


def rest_shares(translator: Translator, candidate: Candidate) -> dict[str, float]:
    """What a translation scores beside its phrases, by feature: networks that score whole sentences."""
    rest = candidate.features - np.sum([phrase.features for phrase in candidate.phrases], axis=0)
    shares = feature_shares(translator, rest)
    largest = max((abs(share) for share in feature_shares(translator, candidate.features).values()), default=0.0)
    return {name: share for name, share in shares.items() if abs(share) > 1e-4 * max(1.0, largest)}


def largest_first(shares: dict[str, float]) -> list[tuple[str, float]]:
    """The shares that are not 0, in the order of their size."""
    return sorted(((n, s) for n, s in shares.items() if s), key=lambda entry: -abs(entry[1]))


def _feature(name: str) -> str:
    """``TranslationModel0`` of the score ``TranslationModel0_2``."""
    head, line, number = name.rpartition("_")
    return head if line and number.isdecimal() else name
