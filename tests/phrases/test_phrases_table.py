"""The phrase table as folder and as text, and its lookup."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from aligned_texts import TABLES, assert_same_table, entries
from moses_tables import moses_vocabularies, read_moses
from refusals import check_refused

from neural_smt.io.files import read_lines, write_lines
from neural_smt.io.lookup_primitives import add_lists
from neural_smt.io.ragged import Ragged
from neural_smt.phrases.moses_format import write_moses
from neural_smt.phrases.primitives import find_phrase
from neural_smt.phrases.table import PhraseTable
from neural_smt.vocabulary import Vocabulary


@pytest.fixture(scope="module")
def vocabularies() -> tuple[Vocabulary, Vocabulary]:
    return moses_vocabularies(TABLES[0])


@pytest.fixture(scope="module")
def table(vocabularies: tuple[Vocabulary, Vocabulary]) -> PhraseTable:
    return read_moses(*TABLES, *vocabularies)


def test_text_comes_back_as_it_was(table: PhraseTable, vocabularies, tmp_path: Path) -> None:
    written = tmp_path / "again", tmp_path / "again-reordering.gz"
    write_moses(table, vocabularies, *written)
    assert [read_lines(path) for path in written] == [read_lines(path) for path in TABLES]


def test_rows_are_read_in_the_order_of_the_table(table: PhraseTable, vocabularies) -> None:
    pairs = entries(table, vocabularies)
    assert [source for source, _ in pairs] == ["a", "a", "été", "a house"]
    assert table.entry_offsets.tolist() == [0, 2, 3, 4]
    row = pairs.index(("a", "la"))
    np.testing.assert_allclose(table.scores[row], [0.25, 1e-7, 0.5, 0.25])
    np.testing.assert_allclose(table.reordering[row], [0.2, 0.6, 0.2, 0.6, 0.2, 0.2], rtol=1e-6)
    assert table.counts[row].tolist() == [4, 2, 1]
    assert table.alignment[row].tolist() == [[0, 0]]
    assert table.max_length == 2


def test_reordering_rows_may_be_missing_or_in_another_order(table: PhraseTable, vocabularies, tmp_path: Path) -> None:
    rows = read_lines(TABLES[1])
    write_lines(tmp_path / "r", [rows[n] for n in (2, 3, 1)])
    expected = table.reordering.copy()
    expected[int(table.entry_offsets[2])] = 1
    np.testing.assert_array_equal(read_moses(TABLES[0], tmp_path / "r", *vocabularies).reordering, expected)
    assert (read_moses(TABLES[0], None, *vocabularies).reordering == 1).all()


def test_extra_columns_are_written_as_probabilities(table: PhraseTable, vocabularies, tmp_path: Path) -> None:
    columns = {"network": np.log(np.float32([0.5, 0.125, 0.25, 1])), "other": np.full(4, -100, dtype=np.float32)}
    write_moses(table, vocabularies, tmp_path / "p", tmp_path / "r", columns)
    fields = (line.split(" ||| ") for line in read_lines(tmp_path / "p"))
    scores = {target: row.split()[4:] for _, target, row, *_ in fields}
    found = [scores[target] for _, target in entries(table, vocabularies)]
    assert found == [[score, "3.72008e-44"] for score in ("0.5", "0.125", "0.25", "1")]


def test_a_saved_table_is_loaded_as_it_was(table: PhraseTable, vocabularies, tmp_path: Path) -> None:
    table.save(tmp_path / "table")
    loaded = PhraseTable.load(tmp_path / "table", vocabularies)
    assert (len(loaded), loaded.max_length, loaded.digest) == (4, table.max_length, table.digest)
    assert_same_table(loaded, table, "scores", "counts", "reordering", "source_index")
    for number, phrase in enumerate(table.source):
        assert find_phrase(loaded.lookup, phrase, 0, len(phrase)) == number


def test_an_index_of_other_phrases_is_noticed(table: PhraseTable, tmp_path: Path) -> None:
    no_slots = table.source_index[:0]
    changed = [table.source_index.copy() for _ in range(2)]
    changed[0][np.flatnonzero(table.source_index < 0)[0]] = -9
    changed[1][table.source_index.argmax()] = 0
    nothing = {name: getattr(table, name)[:0] for name in ("scores", "counts", "reordering")}
    nothing |= {name: getattr(table, name).part(0, 0) for name in ("source", "target", "alignment")}
    empty = replace(table, entry_offsets=table.entry_offsets[:1], source_index=no_slots, **nothing)
    for wrong in [empty, *(replace(table, source_index=slots) for slots in (*changed, no_slots))]:
        wrong.save(tmp_path / "table")
        check_refused("source phrases", PhraseTable.load, tmp_path / "table")


def test_a_word_outside_the_vocabularies_is_named(vocabularies, tmp_path: Path) -> None:
    write_lines(tmp_path / "p", [*read_lines(TABLES[0]), "a ||| deux ||| 1 1 1 1 ||| 0-0 ||| 1 1 1"])
    check_refused(["p", "line 5", "'deux'", "target"], read_moses, tmp_path / "p", None, *vocabularies)


def test_other_vocabularies_are_noticed(table: PhraseTable, vocabularies, tmp_path: Path) -> None:
    table.save(tmp_path / "table")
    check_refused("another source vocabulary", PhraseTable.load, tmp_path / "table", vocabularies=[vocabularies[1]] * 2)


def test_phrases_are_found_inside_sentences_and_nothing_else_is() -> None:
    """Every slot but one is taken, so that a search runs over phrases it must not take for its own."""
    rng = np.random.default_rng(2)
    known = list({tuple(rng.integers(0, 6, size=rng.integers(1, 5)).tolist()) for _ in range(600)})[:255]
    assert len(known) == 255
    number = {phrase: n for n, phrase in enumerate(known)}
    phrases = Ragged.from_lists(known)
    index = np.full(256, -1, dtype=np.int32), phrases.values, phrases.offsets
    add_lists(*index)
    sentence = rng.integers(0, 7, size=200).astype(np.int32)
    found = 0
    for start in range(200):
        for end in range(start + 1, min(start + 6, 201)):
            expected = number.get(tuple(sentence[start:end].tolist()), -1)
            assert find_phrase(index, sentence, start, end) == expected
            found += expected >= 0
    assert found > 100
