"""Which words make up the target vocabulary of a sentence."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from neural_smt.errors import UserError
from neural_smt.settings import read_settings

PIECE = 1 << 14
"""Sentences whose sets are drawn together: what is held of them does not grow with the text."""


@dataclass(frozen=True)
class VocabularySettings:
    """Sizes of the parts; 0 switches a part off. The defaults are those the systems of Mi et al. (2016) were run with.

    UNK and EOS are in every set, whatever the settings.
    """

    dictionary: int = 10
    """V^D: most probable target words by w(t|s) of each source word."""
    phrases: int = 10
    """V^P: most probable target phrases by p(e|f) of each source phrase of the sentence, as sets of words."""
    frequent: int = 2000
    """V^T: most frequent target words."""
    max_length: int = 0
    """Longest source phrase in words; 0 for the longest of the table."""

    @classmethod
    def read(cls, values: Mapping[str, Any], where: str = "vocabularies") -> "VocabularySettings":
        """From a section of the configuration; raises ``UserError`` for an unknown key or a value below 0."""
        settings = read_settings(cls, values, where)
        for name, value in vars(settings).items():
            if value < 0:
                raise UserError(f"setting {where}.{name} is {value}; set it to 0 or more")
        return settings


def candidate_lists(first: int, per_word: int) -> VocabularySettings:
    """The candidate lists that Jean et al. (2015) decode with: the K most frequent words, K' for each source word."""
    return VocabularySettings(dictionary=per_word, phrases=0, frequent=first)
