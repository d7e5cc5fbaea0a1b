"""Lexical tables: a text counted by hand, probabilities that sum to one, and Moses' own files."""

from pathlib import Path

import numpy as np
import pytest
from alignments import CASES, alignments_of

from neural_smt.alignment.lexical import LexicalTable, lexical_table
from neural_smt.alignment.pharaoh import read_alignments
from neural_smt.io.files import read_lines, read_parallel
from neural_smt.io.lookup_primitives import find_pair
from neural_smt.io.ragged import Ragged
from neural_smt.vocabulary import Vocabulary


@pytest.fixture
def table() -> LexicalTable:
    """Source words 1 2 | 1 1, target words 1 2 3 | 2, linked 0-0 1-0 1-1 | 0-0: target 3 and a source 1 are free."""
    source = Ragged.from_lists([[1, 2], [1, 1]])
    target = Ragged.from_lists([[1, 2, 3], [2]])
    links = alignments_of([[(0, 0), (1, 0), (1, 1)], [(0, 0)]])
    return lexical_table([(source, target, links)], 4, 5)


def test_counted_by_hand(table: LexicalTable) -> None:
    assert {name: values.tolist() for name, values in vars(table).items()} == CASES["lexical"]


def test_pairs_are_found(table: LexicalTable) -> None:
    assert table.pair(1, 2) == (1 / 2, 1 / 3)
    assert table.pair(3, 1) == (0.0, 0.0)
    assert find_pair(table.offsets, table.targets, 2, 2) == 3
    assert find_pair(table.offsets, table.targets, 2, 3) == -1
    assert find_pair(table.offsets, table.targets, 0, 1) == -1


def test_best_translations_come_first() -> None:
    source = Ragged.from_lists([[3] * 6])
    target = Ragged.from_lists([[5, 4, 4, 6, 6, 6]])
    diagonal = alignments_of([[(i, i) for i in range(6)]])
    best = lexical_table([(source, target, diagonal)], 5, 7).top_translations(2)
    assert [words.tolist() for words in best] == [[], [], [], [6, 4], []]


def test_saved_table_reads_back(table: LexicalTable, tmp_path: Path) -> None:
    table.save(tmp_path / "lexical")
    back = LexicalTable.load(tmp_path / "lexical")
    assert back.pair(2, 1) == table.pair(2, 1)
    assert back.null_given_source.tolist() == table.null_given_source.tolist()


@pytest.fixture(scope="module")
def real(shared: Path) -> tuple[LexicalTable, Vocabulary, Vocabulary]:
    """The table of the reference text, with its vocabularies."""
    folder = shared / "oracle" / "extraction"
    sides = read_parallel(folder / "train.en.gz", folder / "train.fr.gz")
    vocabularies = [Vocabulary.from_sentences(lines) for lines in sides]
    source, target = (v.encode(lines) for v, lines in zip(vocabularies, sides, strict=True))
    alignments = read_alignments(shared / "oracle" / "symmetrization" / "grow-diag-final-and.align.gz")
    return lexical_table([(source, target, alignments)], *map(len, vocabularies)), *vocabularies


def sources_of(table: LexicalTable) -> np.ndarray:
    """The source word id of each pair."""
    return np.repeat(np.arange(len(table.offsets) - 1), np.diff(table.offsets))


def test_moses_agrees_row_by_row(real: tuple, shared: Path) -> None:
    """Its e2f has lines ``s t w(s|t)``, f2e lines ``t s w(t|s)``, with seven decimals and NULL on either side."""
    table, source_words, target_words = real[0], *(np.array(v.words, dtype=object) for v in real[1:])
    free = [np.flatnonzero(shares) for shares in (table.null_given_source, table.null_given_target)]
    sources = [*source_words[sources_of(table)], *source_words[free[0]], *["NULL"] * len(free[1])]
    targets = [*target_words[table.targets], *["NULL"] * len(free[0]), *target_words[free[1]]]
    for name, sides, linked, given_null, null_given in (
        ("e2f", (sources, targets), "source_given_target", "source_given_null", "null_given_target"),
        ("f2e", (targets, sources), "target_given_source", "null_given_source", "target_given_null"),
    ):
        values = [getattr(table, linked), getattr(table, given_null)[free[0]], getattr(table, null_given)[free[1]]]
        found = [f"{one} {other} {w:.7f}" for one, other, w in zip(*sides, np.concatenate(values), strict=True)]
        assert sorted(found) == sorted(read_lines(shared / "oracle" / "extraction" / f"lex.{name}.gz"))


def test_probabilities_sum_to_one(real: tuple) -> None:
    table, *vocabularies = real
    for words, shares, null_given, given_null, vocabulary in (
        (
            sources_of(table),
            table.target_given_source,
            table.null_given_source,
            table.source_given_null,
            vocabularies[0],
        ),
        (table.targets, table.source_given_target, table.null_given_target, table.target_given_null, vocabularies[1]),
    ):
        assert np.allclose((np.bincount(words, shares, len(vocabulary)) + null_given)[3:], 1)
        assert np.isclose(given_null.sum(), 1)
