"""The phrase table as folder and as text, its lookup, and the step that builds it."""

from pathlib import Path

import numpy as np
import pytest
from aligned_texts import PHRASE_TABLE, REORDERING_TABLE, assert_same_table, write_inputs
from alignments import alignments_of
from moses_tables import moses_vocabularies, read_moses

from neural_smt.errors import UserError
from neural_smt.io.files import read_lines, write_lines
from neural_smt.io.lookup_primitives import add_lists, empty_slots, hash_words
from neural_smt.io.ragged import Ragged
from neural_smt.phrases.moses_format import write_moses
from neural_smt.phrases.primitives import find_phrase
from neural_smt.phrases.steps import build_phrase_table
from neural_smt.phrases.table import PhraseTable
from neural_smt.vocabulary import Vocabulary


@pytest.fixture
def moses(tmp_path: Path) -> tuple[Path, Path]:
    paths = tmp_path / "phrase-table.gz", tmp_path / "reordering-table"
    write_lines(paths[0], PHRASE_TABLE)
    write_lines(paths[1], REORDERING_TABLE)
    return paths


@pytest.fixture
def vocabularies(moses: tuple[Path, Path]) -> tuple[Vocabulary, Vocabulary]:
    return moses_vocabularies(moses[0])


@pytest.fixture
def table(moses: tuple[Path, Path], vocabularies: tuple[Vocabulary, Vocabulary]) -> PhraseTable:
    return read_moses(*moses, *vocabularies)


def test_text_comes_back_as_it_was(table: PhraseTable, vocabularies, tmp_path: Path) -> None:
    written = tmp_path / "again", tmp_path / "again-reordering.gz"
    write_moses(table, vocabularies, *written)
    assert [read_lines(path) for path in written] == [PHRASE_TABLE, REORDERING_TABLE]


def test_rows_are_read_in_the_order_of_the_table(table: PhraseTable, vocabularies) -> None:
    source, target = vocabularies
    assert [source.text(phrase) for phrase in table.source] == ["a", "été", "a house"]
    assert table.entry_offsets.tolist() == [0, 2, 3, 4]
    assert table.entry_source.tolist() == [0, 0, 1, 2]
    row = [target.text(phrase) for phrase in table.target].index("la")
    np.testing.assert_allclose(table.scores[row], [0.25, 1e-7, 0.5, 0.25])
    np.testing.assert_allclose(table.reordering[row], [0.2, 0.6, 0.2, 0.6, 0.2, 0.2], rtol=1e-6)
    assert table.counts[row].tolist() == [4, 2, 1]
    assert table.alignment[row].tolist() == [[0, 0]]
    assert table.max_length == 2


def test_reordering_rows_may_be_missing_or_in_another_order(moses, table: PhraseTable, vocabularies) -> None:
    write_lines(moses[1], [REORDERING_TABLE[n] for n in (2, 3, 1)])
    expected = table.reordering.copy()
    expected[int(table.entry_offsets[2])] = 1
    np.testing.assert_array_equal(read_moses(*moses, *vocabularies).reordering, expected)
    assert (read_moses(moses[0], None, *vocabularies).reordering == 1).all()


def test_extra_columns_are_written_as_probabilities(table: PhraseTable, vocabularies, tmp_path: Path) -> None:
    columns = {
        "encoder_decoder": np.log(np.float32([0.5, 0.125, 0.25, 1])),
        "other": np.full(4, -100, dtype=np.float32),
    }
    write_moses(table, vocabularies, tmp_path / "p", tmp_path / "r", columns)
    fields = (line.split(" ||| ") for line in read_lines(tmp_path / "p"))
    scores = {target: row.split()[4:] for _, target, row, *_ in fields}
    found = [scores[vocabularies[1].text(phrase)] for phrase in table.target]
    assert found == [[score, "3.72008e-44"] for score in ("0.5", "0.125", "0.25", "1")]


@pytest.mark.parametrize("mapped", [True, False])
def test_a_saved_table_is_loaded_as_it_was(table: PhraseTable, vocabularies, tmp_path: Path, mapped: bool) -> None:
    table.save(tmp_path / "table")
    loaded = PhraseTable.load(tmp_path / "table", mapped)
    assert (len(loaded), loaded.max_length, loaded.digest) == (4, table.max_length, table.digest)
    loaded.check_vocabularies(*vocabularies)
    assert_same_table(loaded, table, "scores", "counts", "reordering", "source_index")
    for number, phrase in enumerate(table.source):
        assert find_phrase(loaded.lookup, phrase, 0, len(phrase)) == number


def test_a_word_outside_the_vocabularies_is_named(moses: tuple[Path, Path], vocabularies) -> None:
    write_lines(moses[0], [*PHRASE_TABLE, "a ||| deux ||| 1 1 1 1 ||| 0-0 ||| 1 1 1"])
    with pytest.raises(UserError, match="line 5: 'deux' is not in the target vocabulary"):
        read_moses(moses[0], None, *vocabularies)


def test_other_vocabularies_and_spoilt_folders_are_noticed(table: PhraseTable, vocabularies, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="another source vocabulary"):
        table.check_vocabularies(vocabularies[1], vocabularies[1])
    table.save(tmp_path / "table")
    np.save(tmp_path / "table" / "scores.npy", table.scores[1:])
    with pytest.raises(UserError, match="differ in length"):
        PhraseTable.load(tmp_path / "table")


def test_phrases_are_found_inside_sentences_and_nothing_else_is() -> None:
    rng = np.random.default_rng(2)
    known = sorted({tuple(rng.integers(0, 6, size=rng.integers(1, 5)).tolist()) for _ in range(400)})
    number = {phrase: n for n, phrase in enumerate(known)}
    phrases = Ragged.from_lists(known)
    index = empty_slots(len(phrases)), phrases.values, phrases.offsets
    add_lists(*index, 0)
    sentence = rng.integers(0, 7, size=200).astype(np.int32)
    found = 0
    for start in range(200):
        for end in range(start + 1, min(start + 6, 201)):
            expected = number.get(tuple(sentence[start:end].tolist()), -1)
            assert find_phrase(index, sentence, start, end) == expected
            found += expected >= 0
    assert found > 100


def test_phrases_that_meet_in_a_slot_are_told_apart_by_their_words() -> None:
    """Every slot but one is taken, so that a search runs over phrases it must not take for its own."""
    phrases = Ragged.from_lists([[number] for number in range(31)])
    slots = np.full(32, -1, dtype=np.int32)
    for number in range(31):
        slot = int(hash_words(phrases.values, number, number + 1)) % 32
        while slots[slot] >= 0:
            slot = (slot + 1) % 32
        slots[slot] = number
    words = np.arange(100, dtype=np.int32)
    found = [find_phrase((slots, phrases.values, phrases.offsets), words, n, n + 1) for n in range(100)]
    assert found == [*range(31), *[-1] * 69]


def test_the_step_writes_a_table(tmp_path: Path) -> None:
    lines = ["a red house", "the house", "a house"], ["une maison rouge", "la maison", "une maison"]
    links = [[(0, 0), (1, 2), (2, 1)], [(0, 0), (1, 1)], [(0, 0), (1, 1)]]
    inputs = write_inputs(tmp_path, lines, alignments_of(links))
    build_phrase_table(**inputs, max_length=7, smoothing=0.5, output=tmp_path / "table", threads=2)
    table = PhraseTable.load(tmp_path / "table")
    write_moses(table, tuple(map(Vocabulary.from_sentences, lines)), tmp_path / "text", None)
    rows = read_lines(tmp_path / "text")
    assert len(rows) == len(table) == 8
    for pair, inside in (
        ("a red house ||| une maison rouge", "0-0 2-1 1-2"),
        ("the ||| la", "0-0"),
        ("a house ||| une maison", "0-0 1-1"),
    ):
        assert f"{pair} ||| 1 1 1 1 ||| {inside} ||| 1 1 1 ||| |||" in rows
