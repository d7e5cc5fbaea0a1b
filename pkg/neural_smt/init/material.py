"""All that an experiment is made of."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from neural_smt.corpus.splitting import PARTS
from neural_smt.corpus.survey import Survey
from neural_smt.init.naming import Sides


@dataclass(frozen=True)
class Material:
    """A corpus that was looked through and split.

    output: the folder of the experiment; sets: what the user gave as dev or test; roles: what becomes of each pair of
    the corpus, see ``corpus.splitting``.
    """

    sides: Sides
    name: str
    output: Path
    survey: Survey
    sets: dict[str, Survey]
    roles: np.ndarray
    tokenised: bool
    seed: int

    @cached_property
    def pairs(self) -> dict[str, int]:
        """Pairs of each part."""
        drawn = {part: int((self.roles == role).sum()) for role, part in PARTS.items()}
        return drawn | {part: survey.pairs for part, survey in self.sets.items()}

    @property
    def target_words(self) -> int:
        """Words of the target side of the training text, about."""
        return self.survey.spaced[1] * self.pairs["train"] // self.survey.pairs
