"""Aligned text at random and from Moses, its files, a literal reading of phrase extraction, and tables to compare."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from neural_smt.alignment.lexical import lexical_table
from neural_smt.alignment.pharaoh import read_alignments, write_alignments
from neural_smt.io.files import read_lines, read_yaml, write_lines
from neural_smt.io.ragged import Ragged
from neural_smt.phrases.extraction import DISCONTINUOUS, MONOTONE, SWAP, ExtractedPairs
from neural_smt.phrases.primitives import LONGEST_PHRASE
from neural_smt.phrases.table import PhraseTable
from neural_smt.vocabulary import Vocabulary

Links = list[tuple[int, int]]

FOLDER = Path(__file__).parent
CASES = read_yaml(FOLDER / "cases.yaml")
TABLES = FOLDER / "phrase-table", FOLDER / "reordering-table"


def random_text(seed: int, sentences: int, words: int) -> tuple[Ragged, Ragged, list[Links]]:
    """Sentences of 0 to 11 words out of ``words``, each link drawn with a probability of its sentence's own."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 12, size=(sentences, 2))
    texts = [Ragged.from_lists([rng.integers(3, 3 + words, size=n) for n in side]) for side in lengths.T]
    links = []
    for source_length, target_length in lengths.tolist():
        drawn = rng.random((source_length, target_length)) < rng.choice([0.03, 0.1, 0.2])
        links.append([(int(i), int(j)) for i, j in np.argwhere(drawn)])
    return texts[0], texts[1], links


def orientation_of(corner: tuple[int, int], other: tuple[int, int], linked: set[tuple[int, int]]) -> int:
    if corner in linked and other not in linked:
        return MONOTONE
    return SWAP if other in linked and corner not in linked else DISCONTINUOUS


def slow_pairs(source: list[int], target: list[int], links: Links, longest: int) -> list[tuple]:
    """All consistent pairs: (source words, target words, links inside by target then source, previous, next)."""
    found = []
    linked = {*links, (-1, -1), (len(source), len(target))}
    for a in range(len(source)):
        for b in range(a, min(a + longest, len(source))):
            for c in range(len(target)):
                for d in range(c, min(c + longest, len(target))):
                    touching = [(i, j) for i, j in links if a <= i <= b or c <= j <= d]
                    if not touching or any(not (a <= i <= b and c <= j <= d) for i, j in touching):
                        continue
                    inside = tuple(sorted(((i - a, j - c) for i, j in touching), key=lambda link: link[::-1]))
                    previous = orientation_of((a - 1, c - 1), (b + 1, c - 1), linked)
                    following = orientation_of((b + 1, d + 1), (a - 1, d + 1), linked)
                    words = tuple(source[a : b + 1]), tuple(target[c : d + 1])
                    found.append((*words, inside, previous, following))
    return found


def spelt(pairs: ExtractedPairs) -> list[tuple]:
    """The extracted pairs in the form of ``slow_pairs``."""
    rows = []
    for number in range(len(pairs)):
        bits = int(pairs.links[number])
        inside = tuple((bit % LONGEST_PHRASE, bit // LONGEST_PHRASE) for bit in range(64) if bits >> bit & 1)
        source = tuple(pairs.source_phrases[int(pairs.source[number])].tolist())
        target = tuple(pairs.target_phrases[int(pairs.target[number])].tolist())
        rows.append((source, target, inside, *divmod(int(pairs.orientation[number]), 3)))
    return rows


class RealText(NamedTuple):
    """2,000 sentence pairs, what Moses made of them (in ``folder``), and their alignment."""

    folder: Path
    lines: list[list[str]]
    vocabularies: tuple[Vocabulary, Vocabulary]
    text: tuple[Ragged, Ragged, Ragged]


def real_text(shared: Path) -> RealText:
    folder = shared / "oracle" / "extraction"
    lines = [read_lines(folder / f"train.{side}.gz") for side in ("en", "fr")]
    vocabularies = tuple(map(Vocabulary.from_sentences, lines))
    sides = [vocabulary.encode(side) for vocabulary, side in zip(vocabularies, lines, strict=True)]
    alignments = read_alignments(folder.parent / "symmetrization" / "grow-diag-final-and.align.gz")
    return RealText(folder, lines, vocabularies, (*sides, alignments))


def entries(table: PhraseTable, vocabularies: tuple[Vocabulary, Vocabulary]) -> list[tuple[str, str]]:
    """The source and the target phrase of each entry, spelt."""
    pairs = zip(table.entry_source.tolist(), table.target, strict=True)
    return [(vocabularies[0].text(table.source[source]), vocabularies[1].text(target)) for source, target in pairs]


def write_inputs(folder: Path, lines: Sequence[list[str]], alignments: Ragged) -> dict[str, Path]:
    """Text, alignment, vocabularies and lexical tables, as the steps take them."""
    paths = {name: folder / name for name in ("source", "target", "alignment", "lexical")}
    vocabularies = [Vocabulary.from_sentences(side) for side in lines]
    for side, vocabulary, own in zip(("source", "target"), vocabularies, lines, strict=True):
        write_lines(paths[side], own)
        paths[f"{side}_vocabulary"] = folder / f"{side}_vocabulary"
        vocabulary.save(paths[f"{side}_vocabulary"])
    write_alignments(paths["alignment"], [alignments])
    texts = [vocabulary.encode(side) for vocabulary, side in zip(vocabularies, lines, strict=True)]
    lexical_table([(*texts, alignments)], *map(len, vocabularies)).save(paths["lexical"])
    return paths


def assert_same_table(one: PhraseTable, other: PhraseTable, *arrays: str) -> None:
    """The same phrases, links and entries, and the same numbers in the arrays named."""
    for name in ("source", "target", "alignment"):
        np.testing.assert_array_equal(getattr(one, name).values, getattr(other, name).values)
        np.testing.assert_array_equal(getattr(one, name).offsets, getattr(other, name).offsets)
    for name in ("entry_offsets", *arrays):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
