"""How lattices are rescored with the recurrent model."""

from dataclasses import dataclass
from typing import Literal, get_args

from neural_smt.errors import UserError

CandidateKind = Literal["lattice", "nbest"]


@dataclass(frozen=True)
class RescoringSettings:
    """What is rescored, and how thoroughly.

    candidates: the whole ``lattice`` or ``nbest`` lists; beam: k, recurrent states kept at a node of a lattice; nbest:
    distinct candidates per sentence; share_prefixes: whether what candidates begin with in common is computed once (the
    paper rescored each by itself).
    """

    candidates: CandidateKind = "lattice"
    beam: int = 1
    nbest: int = 100
    share_prefixes: bool = False

    def __post_init__(self) -> None:
        if self.candidates not in get_args(CandidateKind):
            raise UserError(f"rescoring: candidates is {self.candidates!r}; set it to lattice or nbest")
        if self.beam < 1 or self.nbest < 1:
            raise UserError(f"rescoring: beam is {self.beam} and nbest {self.nbest}; set both to 1 or more")
