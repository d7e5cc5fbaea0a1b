"""Texts to select from, and ``select`` and ``take`` on them; what stands for French is in upper case."""

from pathlib import Path
from typing import Any

import numpy as np

from neural_smt.io.files import write_lines
from neural_smt.selection.steps import score_pool, select, take, train_selection_models

SETTINGS = {"method": "axelrod", "order": 3, "fractions": [0.1, 0.2, 0.4, 0.8], "random_samples": 2}
BOTH = ("en", "fr")
NEWS = ["minister", "president", "parliament", "budget", "election", "said", "rejected", "visited", "today", "new"]
LAWS = ["section", "regulation", "subsection", "applies", "pursuant", "licence", "shall", "paragraph", "to", "the"]


def sentences(words: list[str], count: int, seed: int) -> list[str]:
    """Sentences of a first-order chain over the words, so that n-grams repeat."""
    generator = np.random.default_rng(seed)
    steps = np.random.default_rng(len(words[0])).dirichlet(np.full(len(words), 0.3), size=len(words))
    lines = []
    for length in generator.integers(4, 12, count):
        chain = [int(generator.integers(len(words)))]
        while len(chain) < length:
            chain.append(int(generator.choice(len(words), p=steps[chain[-1]])))
        lines.append(" ".join(words[i] for i in chain))
    return lines


def write_texts(folder: Path, **texts: list[str]) -> Path:
    """Both sides of each text."""
    for name, lines in texts.items():
        write_lines(folder / f"{name}.en", lines)
        write_lines(folder / f"{name}.fr", [line.upper() for line in lines])
    return folder


def texts_of(folder: Path, name: str, sides: tuple[str, ...] = BOTH) -> list[Path]:
    """The files of a text."""
    return [folder / f"{name}.{side}" for side in sides]


def scored(folder: Path, output: Path, sides: tuple[str, ...], count: int) -> list[Path]:
    """The scores of the shards of a pool."""
    settings = SETTINGS | {"method": "axelrod" if len(sides) == 2 else "moore_lewis"}
    pool, inside = texts_of(folder, "pool", sides), texts_of(folder, "in", sides)
    train_selection_models(pool=pool, in_domain=inside, settings=settings, seed=7, output=output / "models")
    parts = [output / f"{number}-of-{count}.safetensors" for number in range(1, count + 1)]
    for part in parts:
        score_pool(pool=pool, models=output / "models", output=part, shard=part.stem, threads=len(sides))
    return parts


def selected(folder: Path, output: Path, sides: tuple[str, ...] = BOTH, **given: Any) -> dict[str, bytes]:
    """Everything that selection writes, by name of the file; ``given`` in the place of the usual arguments."""
    output.mkdir(exist_ok=True)
    files = {"scores": output / "scores.tsv.gz", "curve": output / "curve.csv", "plot": output / "curve.png"}
    names = {"pool": "pool", "in_domain": "in", "dev": "dev"}
    texts = {key: texts_of(folder, name, sides) for key, name in names.items()}
    settings = SETTINGS | {"method": "axelrod" if len(sides) == 2 else "moore_lewis"}
    outputs = texts_of(output, "out", sides)
    select(**texts | files | {"output": outputs, "settings": settings, "seed": 7} | given)
    return {path.name: path.read_bytes() for path in (*outputs, *files.values())}


def taken(folder: Path, in_domain: bool = True, **given: Any) -> list[list[str]]:
    """The lines of both sides that are taken of a pool."""
    outputs = texts_of(folder, "out")
    inside = texts_of(folder, "in") if in_domain else []
    take(**{"pool": texts_of(folder, "pool"), "in_domain": inside, "seed": 3, "output": outputs} | given)
    return [path.read_text().splitlines() for path in outputs]
