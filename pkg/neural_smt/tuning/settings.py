"""How a tuning run goes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from neural_smt.errors import UserError
from neural_smt.experiment.settings import read_settings
from neural_smt.tuning.mira import MiraSettings

Optimiser = Literal["mert", "mira"]
CandidateKind = Literal["nbest", "lattice"]
Select = Literal["best", "last"]


@dataclass(frozen=True)
class TuningSettings:
    """Settings of a run.

    optimiser: ``mert`` or, for many features, batch ``mira``; candidates: what is tuned on, ``nbest`` lists or whole
    lattices (``lattice``, MERT only); nbest: distinct candidates per sentence and iteration; density: arcs per target
    word that lattices are pruned to, 0 for all; iterations: at most; restarts: random starting points of each
    optimisation; refinements: further ones around the best point; mira: see ``MiraSettings``; min_gain: MERT ends when
    the candidates promise less than this over the decoder's own translations (BLEU, 0 to 100); select: the weights of
    the ``last`` iteration, as Moses does, or those whose translations scored ``best``.
    """

    optimiser: Optimiser = "mert"
    candidates: CandidateKind = "nbest"
    nbest: int = 100
    density: float = 50.0
    iterations: int = 25
    restarts: int = 20
    refinements: int = 20
    mira: Mapping[str, Any] = field(default_factory=dict)
    min_gain: float = 0.05
    select: Select = "best"

    def __post_init__(self) -> None:
        if self.nbest < 1 or self.iterations < 1 or self.select not in get_args(Select):
            raise UserError("tuning: set nbest and iterations to 1 or more, and select to best or last")
        if self.optimiser not in get_args(Optimiser) or self.candidates not in get_args(CandidateKind):
            raise UserError("tuning needs the optimiser 'mert' or 'mira', and the candidates 'nbest' or 'lattice'")
        if self.optimiser == "mira" and self.candidates == "lattice":
            raise UserError("MIRA learns from n-best lists: set tuning.candidates to nbest or tuning.optimiser to mert")
        if self.density < 0:
            raise UserError(f"tuning: density is {self.density}; set it to 0 (all arcs) or more")
        self.mira_settings()

    def mira_settings(self) -> MiraSettings:
        """The section ``mira``."""
        return read_settings(MiraSettings, self.mira, "tuning.mira")
