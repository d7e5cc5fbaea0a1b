"""German sentences with their English translations, as many as are wanted, no two alike."""

import itertools
from pathlib import Path

import yaml


def sentences(count: int) -> list[tuple[str, str]]:
    """The first ``count`` of 1,920 pairs."""
    parts = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
    found = [
        tuple(f"{' '.join(part[side] for part in parts)}." for side in (0, 1))
        for parts in itertools.product(*parts.values())
    ]
    assert count <= len(found)
    # neighbours differ in all of their parts, so that the first ones have every word
    return [found[(number * 787) % len(found)] for number in range(count)]


def write_pairs(folder: Path, name: str, pairs: list[tuple[str, str]], languages: str = "de en") -> list[Path]:
    """Write the sides of pairs as ``<name>.de`` and ``<name>.en``."""
    paths = [folder / f"{name}.{language}" for language in languages.split()]
    for side, path in enumerate(paths):
        path.write_text("".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8")
    return paths


def write_corpus(folder: Path, count: int = 600) -> None:
    """Write ``corpus.de`` and ``corpus.en``."""
    write_pairs(folder, "corpus", sentences(count))
