"""How systems made single translations, as the report's pages read it: phrases, links, attention, a lattice."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from html import unescape
from pathlib import Path
from typing import Any

from neural_smt.errors import UserError
from neural_smt.io.files import read_json


@dataclass(frozen=True)
class Chosen:
    """Numbers of lines, from 0: of the sentences that are shown, and of the one among them that is drawn (or None)."""

    sentences: list[int]
    drawn: int | None

    @classmethod
    def load(cls, path: Path) -> Chosen:
        """As ``choose_sentences`` wrote it."""
        return cls(**_known(read_json(path), path, {"sentences", "drawn"}))


@dataclass(frozen=True)
class Explained:
    """A translation of a sentence, its words as a person spells them.

    phrases: ``[source start, source stop, target start, target stop]`` of each phrase pair, half open, in target order,
    none of a system that uses none; links: ``[source, target]`` positions; attention: a row for each target word and
    for the end symbol, a column for each source word and for the end symbol, where that was asked for.
    """

    source: list[str]
    target: list[str]
    phrases: list[list[int]] = field(default_factory=list)
    links: list[list[int]] = field(default_factory=list)
    attention: list[list[float]] = field(default_factory=list)


@dataclass(frozen=True)
class Arc:
    """A phrase pair in a lattice: the nodes it joins, the source range it translates, its words; behind: how much worse
    the best translation through it scores than the best of all (0: it is part of that one).
    """

    tail: int
    head: int
    source: list[int]
    words: list[str]
    behind: float


@dataclass(frozen=True)
class DrawnLattice:
    """A pruned lattice. covered: of each node the number of source words that are translated; arcs: those kept of
    ``arcs_in_all``, as ``Arc``.
    """

    source: list[str]
    covered: list[int]
    arcs: list[Arc]
    arcs_in_all: int


@dataclass(frozen=True)
class Explanation:
    """What a system made of the chosen sentences, in their order; lattice: of the drawn one, if the system has any."""

    sentences: list[Explained]
    lattice: DrawnLattice | None = None

    def content(self) -> dict[str, Any]:
        """As JSON holds it."""
        return asdict(self)

    @classmethod
    def load(cls, path: Path) -> Explanation:
        """As ``explain_sentences`` wrote it."""
        content = _known(read_json(path), path, {"sentences", "lattice"})
        sentences = [Explained(**sentence) for sentence in content["sentences"]]
        lattice = content["lattice"]
        if lattice is not None:
            lattice = DrawnLattice(**lattice | {"arcs": [Arc(**arc) for arc in lattice["arcs"]]})
        return cls(sentences, lattice)


def spelled(tokens: list[str]) -> list[str]:
    """Words without the entities that the tokeniser writes."""
    return [unescape(token) for token in tokens]


def _known(content: Any, path: Path, names: set[str]) -> dict[str, Any]:
    if not isinstance(content, dict) or set(content) != names:
        raise UserError(f"{path}: not made by this version of the report; run its rule again")
    return content
