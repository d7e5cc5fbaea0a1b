"""What Moses' tables may look like, what is named of each kind of damage, and whatever is written."""

from pathlib import Path

import numpy as np
import pytest
from aligned_texts import CASES, assert_same_table, entries
from hypothesis import given
from hypothesis import strategies as st
from refusals import check_refused

from neural_smt.phrases.moses_format import MosesText, read_moses_text
from neural_smt.phrases.primitives import find_phrase
from neural_smt.phrases.table import PhraseTable

ROWS = ["a ||| x ||| 0.5 0.25 ||| 0-0 ||| 3 2 1 |||", "a b ||| y x ||| 1 1 ||| 0-1 1-0 ||| 1 1 1 |||"]
REORDERING = ["a ||| x ||| 0.1 0.2 0.7 0.3 0.3 0.4", "a b ||| y x ||| 1 2 3 4 5 6"]


def read(folder: Path, rows: list[str] | bytes, reordering: list[str] | None = None) -> tuple[MosesText, PhraseTable]:
    paths = folder / "phrases", None if reordering is None else folder / "reordering"
    for path, lines in zip(paths, (rows, reordering), strict=True):
        if lines is not None:
            path.write_bytes(lines if isinstance(lines, bytes) else "".join(f"{row}\n" for row in lines).encode())
    text = read_moses_text(*paths)
    return text, text.table(*text.vocabularies)


def test_vocabularies_count_the_words_of_the_rows(tmp_path: Path) -> None:
    """Words that the reordering table alone has are in neither."""
    text, table = read(tmp_path, [*ROWS, "<s> ||| \u00a0 ||| 1 1 |||"], [*REORDERING, "c ||| z ||| 1 1 1 1 1 1"])
    source, target = text.vocabularies
    assert (source.words[3:], source.counts[3:].tolist()) == (["a", "b"], [2, 1])
    assert (target.words[3:], target.counts[3:].tolist()) == (["x", "y", "\u00a0"], [2, 1, 1])
    assert [phrase.tolist() for phrase in table.source] == [[1], [3], [3, 4]]
    assert table.scores.tolist() == [[1, 1], [0.5, 0.25], [1, 1]]
    np.testing.assert_allclose(table.reordering[1:], [[0.1, 0.2, 0.7, 0.3, 0.3, 0.4], [1, 2, 3, 4, 5, 6]], rtol=1e-6)


@pytest.mark.parametrize(("old", "new"), CASES["layouts"])
def test_layout_does_not_matter(tmp_path: Path, old: str, new: str) -> None:
    plain = "".join(f"{row}\n" for row in ROWS)
    changed = plain.replace(old, new)
    assert changed != plain
    (_, one), (_, other) = read(tmp_path, plain.encode()), read(tmp_path, changed.encode())
    assert_same_table(one, other, "scores", "counts")
    assert (one.source_digest, one.target_digest) == (other.source_digest, other.target_digest)


def test_phrases_of_twenty_words_and_more(tmp_path: Path) -> None:
    long = " ".join(f"w{n}" for n in range(255))
    moses = " ".join(f"w{n}" for n in range(20))
    rows = [f"{phrase} ||| {phrase} ||| 1 ||| 0-{len(phrase.split()) - 1} |||" for phrase in (moses, long)]
    text, table = read(tmp_path, rows)
    assert table.source.lengths.tolist() == [20, 255]
    assert [links.tolist() for links in table.alignment] == [[[0, 19]], [[0, 254]]]
    sentence = text.vocabularies[0].ids(f"w5 {moses}".split())
    assert find_phrase(table.lookup, sentence, 1, 21) == 0
    table.save(tmp_path / "table")
    assert PhraseTable.load(tmp_path / "table").scores.shape == (2, 1)
    check_refused(["phrases", "line 1", "256", "255"], read, tmp_path, [f"{long} w ||| x ||| 1 |||"])


@pytest.mark.parametrize(("row", "pieces"), CASES["phrases"])
def test_broken_rows(tmp_path: Path, row: str, pieces: list) -> None:
    check_refused([f"{tmp_path}/phrases", *pieces], read, tmp_path, [*ROWS, row])


@pytest.mark.parametrize(("rows", "pieces"), CASES["reordering"])
def test_broken_reordering_rows(tmp_path: Path, rows: list[str], pieces: list) -> None:
    check_refused([f"{tmp_path}/reordering", *pieces], read, tmp_path, ROWS, rows)


def test_many_pieces_and_many_words(tmp_path: Path) -> None:
    """Larger than a piece of the file and than the first room for words; the broken line is still named."""
    rows = [f"s{n} t{n % 7} ||| u{n} {'v' * 30}{n % 5000} ||| 0.5 ||| 0-0 1-1 ||| {n} 1 1" for n in range(40_000)]
    text, table = read(tmp_path, rows)
    assert len(table) == len(rows)
    assert list(map(len, text.vocabularies)) == [3 + 40_000 + 7, 3 + 40_000 + 5000]
    source, target = text.vocabularies
    row = int(table.entry_offsets[find_phrase(table.lookup, source.ids(["s39999", "t1"]), 0, 2)])
    assert target.text(table.target[row]) == f"u39999 {'v' * 30}4999"
    assert table.counts[row].tolist() == [39_999, 1, 1]
    rows.insert(39_000, "x ||| y ||| z |||")
    check_refused(["phrases", "line 39001", "'z'"], read, tmp_path, rows)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("corrupted")


words = st.lists(st.sampled_from(["a", "b|", "||", "é", "\u00a0", "c\u2028d", "|x"]), min_size=1, max_size=20)


@given(st.sets(st.tuples(words.map(tuple), words.map(tuple)), min_size=1, max_size=12), st.integers(1, 9), st.data())
def test_whatever_is_written_is_read(folder: Path, pairs: set, size: int, data: st.DataObject) -> None:
    """Phrases of up to 20 words, the longest that Moses takes, with any number of scores."""
    scores = data.draw(st.lists(st.lists(st.floats(0, 3, width=32), min_size=size, max_size=size), min_size=12))
    lines, expected = [], {}
    for number, (source, target) in enumerate(sorted(pairs)):
        links = [(len(source) - 1, len(target) - 1), (0, 0)]
        shown, spelt = " ".join(map(repr, scores[number])), " ".join(f"{i}-{j}" for i, j in links)
        lines.append(f"{' '.join(source)} ||| {' '.join(target)} ||| {shown} ||| {spelt} |||")
        expected[source, target] = np.float32(scores[number]).tolist(), [list(link) for link in links]
    text, table = read(folder, lines)
    phrases = [tuple(tuple(phrase.split(" ")) for phrase in pair) for pair in entries(table, text.vocabularies)]
    found = zip(phrases, table.scores.tolist(), (links.tolist() for links in table.alignment), strict=True)
    assert {pair: (scores, links) for pair, scores, links in found} == expected
    assert table.max_length == max(len(phrase) for pair in pairs for phrase in pair)
