"""The experiment of a corpus: its text, sizes of networks and lengths of trainings that suit it, and its file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, StrictUndefined

from neural_smt.corpus.fetching import digest
from neural_smt.corpus.splitting import Survey, count_parts
from neural_smt.io.files import read_yaml
from neural_smt.planning.sizes import RATIOS

FOLDER = Path(__file__).parent

SOURCES = {"train": "corpus", "dev": "dev", "test": "test"}
"""Part of the split text -> the source that it is in the experiment."""

BATCH = 128
"""Phrase pairs of an update."""

NGRAMS = 512
"""N-grams of an update of the CSLM."""


EFLOMAL_PAIRS = 1_000_000
"""Pairs up to which the better aligner is quick enough."""

SHARD_PAIRS = 500_000
"""Pairs whose tables fit into the memory that a job asks for."""


def suit(pairs: int, words: int) -> dict[str, Any]:
    """Settings for a training text of so many pairs, with so many words on the target side."""
    networks = next(row for row in read_yaml(FOLDER / "networks.yaml") if pairs <= row["pairs"])
    rows = RATIOS["rows per word"] * words

    def updates(wanted: float) -> int:
        """In whole hundreds, within limits."""
        return int(min(max(round(wanted, -2), 500), networks["updates"]))

    return {
        "aligner": "eflomal" if pairs <= EFLOMAL_PAIRS else "fast_align",
        "shards": 1 + pairs // (2 * SHARD_PAIRS),
        "runs": 3,
        "networks": networks,
        "updates": updates(1.5 * rows / BATCH),
        "validation_pairs": int(min(max(rows // 20, 100), 2000)),
        "cslm_updates": updates(5 * words / NGRAMS),
        "held_out": 0.01 if pairs < 100_000 else 0.002,
        "batch": BATCH,
        "ngrams": NGRAMS,
    }


@dataclass(frozen=True)
class Sides:
    """The two sides of a corpus in the direction of translation.

    files: source and target side; languages: their codes; stated: whether the user named the languages; name: what the
    corpus is called, as experiments may be.
    """

    files: tuple[Path, Path]
    languages: tuple[str, str]
    stated: bool
    name: str


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
        return count_parts(self.sets, self.roles)

    @property
    def target_words(self) -> int:
        """Words of the target side of the training text, about."""
        return self.survey.spaced[1] * self.pairs["train"] // self.survey.pairs


def render(material: Material, written: Mapping[str, Sequence[Path]]) -> str:
    """The experiment's file, with what can be changed said beside it; written: the files of each part's sides."""
    pairs, languages = material.pairs, material.sides.languages
    settings = suit(pairs["train"], material.target_words)
    sources = {
        SOURCES[part]: [
            (language, file.name, digest(file, "sha256")) for language, file in zip(languages, files, strict=True)
        ]
        for part, files in written.items()
    }
    environment = Environment(
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, undefined=StrictUndefined
    )
    environment.filters |= {"quoted": _quoted, "one_line": _one_line}
    template = environment.from_string((FOLDER / "experiment.yaml.j2").read_text(encoding="utf-8"))
    return template.render(
        name=material.name,
        source=languages[0],
        target=languages[1],
        folder=material.output.resolve(),
        files=material.sides.files,
        sizes=", ".join(f"{pairs[part]:,} {source}" for part, source in SOURCES.items()),
        sources=sources,
        settings=settings,
        networks=settings["networks"],
        tokenised=material.tokenised,
        seed=material.seed,
    )


def _quoted(value: object) -> str:
    """A string in double quotes as YAML reads it, whatever is in it."""
    inside = (f"\\{c}" if c in '"\\' else c if c.isprintable() else f"\\U{ord(c):08x}" for c in str(value))
    return '"' + "".join(inside) + '"'


def _one_line(path: Path) -> str:
    """A path for a comment."""
    return "".join(c if c.isprintable() else "?" for c in str(path))
