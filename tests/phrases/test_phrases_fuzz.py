"""Tables corrupted at random: what is read is a sound table, anything else one sentence naming the file."""

import gzip
import re
from pathlib import Path

import numpy as np
import pytest
from aligned_texts import PHRASE_TABLE, REORDERING_TABLE, assert_same_table
from corruption import corrupted
from hypothesis import given, settings
from hypothesis import strategies as st
from moses_tables import read_moses

from neural_smt.errors import UserError
from neural_smt.phrases.moses_format import read_moses_text, write_moses
from neural_smt.phrases.primitives import find_phrase
from neural_smt.phrases.table import PhraseTable

PHRASES, REORDERING = ("".join(f"{row}\n" for row in rows).encode() for rows in (PHRASE_TABLE, REORDERING_TABLE))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("corrupted")


def read(folder: Path, phrases: bytes, reordering: bytes) -> PhraseTable | None:
    """The table after its checks, or None where one sentence says what is wrong."""
    (folder / "phrases").write_bytes(phrases)
    (folder / "reordering").write_bytes(reordering)
    try:
        text = read_moses_text(folder / "phrases", folder / "reordering")
        table = text.table(*text.vocabularies)
    except UserError as error:
        assert re.match(rf"{folder}/(phrases|reordering)(, line \d+)?: ", str(error))
        assert len(str(error).splitlines()) == 1
        return None
    rows = len(table)
    assert rows == len([line for line in phrases.split(b"\n") if line])
    for name in ("scores", "counts", "reordering"):
        assert getattr(table, name).shape[0] == rows
        assert (getattr(table, name) >= 0).all()
        assert np.isfinite(getattr(table, name)).all()
    for row, source in enumerate(table.entry_source.tolist()):
        words, target, links = table.source[source], table.target[row], table.alignment[row]
        assert find_phrase(table.lookup, words, 0, len(words)) == source
        assert (links < [len(words), len(target)]).all()
    vocabularies = text.vocabularies
    assert min(map(len, vocabularies)) >= 3
    write_moses(table, vocabularies, folder / "again", folder / "again-reordering")
    again = read_moses(folder / "again", folder / "again-reordering", *vocabularies)
    assert_same_table(again, table, "counts")
    np.testing.assert_allclose(again.scores, table.scores, rtol=1e-5, atol=1e-44)
    return table


def test_the_good_table_is_read(folder: Path) -> None:
    assert read(folder, PHRASES, REORDERING) is not None


@given(data=corrupted(PHRASES))
@settings(max_examples=300)
def test_spoilt_phrase_tables(folder: Path, data: bytes) -> None:
    read(folder, data, REORDERING)


@given(data=corrupted(REORDERING))
@settings(max_examples=200)
def test_spoilt_reordering_tables(folder: Path, data: bytes) -> None:
    read(folder, PHRASES, data)


@given(data=st.binary(max_size=200))
@settings(max_examples=100)
def test_bytes_of_any_kind(folder: Path, data: bytes) -> None:
    (folder / "any").write_bytes(data)
    with pytest.raises(UserError, match="any"):
        read_moses_text(folder / "any", None)


@given(data=corrupted(gzip.compress(PHRASES, mtime=0)))
@settings(max_examples=100)
def test_spoilt_archives(folder: Path, data: bytes) -> None:
    (folder / "archive.gz").write_bytes(data)
    try:
        text = read_moses_text(folder / "archive.gz", None)
    except UserError as error:
        assert str(error).startswith(f"{folder}/archive.gz")
    else:
        assert text.rows.scores.shape == (4, 4)


words = st.lists(st.sampled_from(["a", "b|", "||", "é", "\u00a0", "c\u2028d", "|x"]), min_size=1, max_size=20)


@given(st.sets(st.tuples(words.map(tuple), words.map(tuple)), min_size=1, max_size=12), st.integers(1, 9), st.data())
@settings(max_examples=60)
def test_whatever_is_written_is_read(folder: Path, pairs: set, size: int, data: st.DataObject) -> None:
    """Phrases of up to 20 words, the longest that Moses takes, with any number of scores."""
    scores = data.draw(st.lists(st.lists(st.floats(0, 3, width=32), min_size=size, max_size=size), min_size=12))
    lines, expected = [], {}
    for number, (source, target) in enumerate(sorted(pairs)):
        links = [(len(source) - 1, len(target) - 1), (0, 0)]
        shown = " ".join(f"{score!r}" for score in scores[number])
        lines.append(
            f"{' '.join(source)} ||| {' '.join(target)} ||| {shown} ||| {' '.join(f'{i}-{j}' for i, j in links)} |||"
        )
        expected[source, target] = np.float32(scores[number]).tolist(), [list(link) for link in links]
    (folder / "any").write_text("\n".join(lines), encoding="utf-8", newline="\n")
    text = read_moses_text(folder / "any", None)
    table = text.table(*text.vocabularies)
    source_words, target_words = (vocabulary.words for vocabulary in text.vocabularies)
    found = {}
    for row, source in enumerate(table.entry_source.tolist()):
        pair = tuple(source_words[i] for i in table.source[source]), tuple(target_words[i] for i in table.target[row])
        found[pair] = table.scores[row].tolist(), table.alignment[row].tolist()
    assert found == expected
    assert table.max_length == max(len(phrase) for pair in pairs for phrase in pair)
