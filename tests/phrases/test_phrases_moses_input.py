"""What Moses' tables may look like, and the sentence that each kind of damage gets."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from aligned_texts import assert_same_table

from neural_smt.errors import UserError
from neural_smt.phrases.moses_format import MosesText, read_moses_text
from neural_smt.phrases.primitives import find_phrase
from neural_smt.phrases.table import PhraseTable

ROWS = ["a ||| x ||| 0.5 0.25 ||| 0-0 ||| 3 2 1 |||", "a b ||| y x ||| 1 1 ||| 0-1 1-0 ||| 1 1 1 |||"]
REORDERING = ["a ||| x ||| 0.1 0.2 0.7 0.3 0.3 0.4", "a b ||| y x ||| 1 2 3 4 5 6"]


def read(folder: Path, rows: list[str] | bytes, reordering: list[str] | None = None) -> tuple[MosesText, PhraseTable]:
    (folder / "phrases").write_bytes(rows if isinstance(rows, bytes) else "".join(f"{row}\n" for row in rows).encode())
    if reordering is not None:
        (folder / "reordering").write_bytes("".join(f"{row}\n" for row in reordering).encode())
    text = read_moses_text(folder / "phrases", folder / "reordering" if reordering is not None else None)
    return text, text.table(*text.vocabularies)


def test_vocabularies_count_the_words_of_the_rows(tmp_path: Path) -> None:
    text, table = read(tmp_path, [*ROWS, "<s> ||| \u00a0 ||| 1 1 |||"], REORDERING)
    source, target = text.vocabularies
    assert (source.words[3:], source.counts[3:].tolist()) == (["a", "b"], [2, 1])
    assert (target.words[3:], target.counts[3:].tolist()) == (["x", "y", "\u00a0"], [2, 1, 1])
    assert [phrase.tolist() for phrase in table.source] == [[1], [3], [3, 4]]
    assert table.scores.tolist() == [[1, 1], [0.5, 0.25], [1, 1]]
    assert table.reordering[2].tolist() == [1, 2, 3, 4, 5, 6]


def test_words_of_the_reordering_table_alone_are_in_no_vocabulary(tmp_path: Path) -> None:
    text, table = read(tmp_path, ROWS, [*REORDERING, "c ||| z ||| 1 1 1 1 1 1"])
    assert [vocabulary.words[3:] for vocabulary in text.vocabularies] == [["a", "b"], ["x", "y"]]
    np.testing.assert_allclose(table.reordering[0], [0.1, 0.2, 0.7, 0.3, 0.3, 0.4], rtol=1e-6)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace(b"\n", b"\r\n"),
        lambda text: text.rstrip(b"\n"),
        lambda text: text.replace(b" ", b"\t \t"),
        lambda text: text.replace(b" ||| ", b"|||"),
        lambda text: text.replace(b"0.25", b"2.5e-1").replace(b"0.5", b"+.5"),
        lambda text: text.replace(b"|||\n", b"||| sparse=1 ||| {{key value}}\n"),
        lambda text: text.replace(b"3 2 1 |||", b"3.4 2 0.6 17 |||"),
    ],
)
def test_layout_does_not_matter(tmp_path: Path, change) -> None:
    plain = "".join(f"{row}\n" for row in ROWS).encode()
    (_, one), (_, other) = read(tmp_path, plain), read(tmp_path, change(plain))
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
    with pytest.raises(UserError, match=r"line 1: a phrase has 256 words; 1 to 255 can be read"):
        read(tmp_path, [f"{long} w ||| x ||| 1 |||"])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("", "line 3: expected 'source"),
        ("c ||| z ||| 1 1", "line 3: expected 'source"),
        ("c ||| z ||| 1 1 1 ||| 0-0", "line 3: has 3 scores where line 1 has 2"),
        ("c ||| z |||  ||| 0-0", "line 3: has no scores"),
        ("c ||| z ||| 1 1e39 ||| 0-0", "line 3: a score is not a probability .'1e39'."),
        ("c ||| z ||| 1 -inf ||| 0-0", "line 3: a score is not a probability .'-inf'."),
        ("c ||| z ||| 1 -1 ||| 0-0", "line 3: a score is not a probability"),
        ("c ||| z ||| 1 nan ||| 0-0", "line 3: a score is not a probability"),
        (" ||| z ||| 1 1 ||| 0-0", "line 3: a phrase has 0 words"),
        ("c ||| z ||| 1 1 ||| 0:0", "line 3: a field cannot be read"),
        ("c ||| z ||| 1 1 ||| 0", "line 3: a field cannot be read"),
        ("c ||| z ||| 1 1 ||| 0-300", "line 3: a link lies outside"),
        ("c ||| z ||| 1 1 ||| 1-0", "line 3: a link lies outside"),
        ("c ||| z ||| 1 x ||| 0-0", "line 3: a field cannot be read"),
        ("c ||| z", "line 3: expected 'source"),
        ("c ||| z ||| 1 1_0 ||| 0-0", "line 3: a field cannot be read .'1_0' is not a number."),
        ("c ||| z ||| 1 1 ||| 0-", "line 3: a field cannot be read .'0-' is not a link i-j."),
        ("c ||| z ||| 1 1 ||| -0", "line 3: a field cannot be read .'-0' is not a link i-j."),
        ("c ||| z ||| 1 1 ||| 0-0-0", "line 3: a field cannot be read .'0-0-0' is not a link i-j."),
        ("c ||| z ||| 1 1 ||| 0-0 4294967296-0", "line 3: a link lies outside the phrases .'4294967296-0'."),
        ("c ||| z ||| 1 1 ||| 0-0 ||| 1 many 1", "line 3: a field cannot be read .'many' is not a count."),
        ("c ||| z ||| 1 1 ||| 0-0 ||| 1 -1 1", "line 3: a field cannot be read .'-1' is not a count."),
        ("c ||| z ||| 1 1 ||| 0-0 ||| 1 1 3e9", "line 3: a field cannot be read .'3e9' is not a count."),
        ("c ||| z\0 ||| 1 1 ||| 0-0", "line 3: holds a NUL byte"),
        ("a ||| x ||| 1 1 ||| 0-0", "line 3: this phrase pair stands here twice"),
    ],
)
def test_broken_rows(tmp_path: Path, row: str, message: str) -> None:
    with pytest.raises(UserError, match=f"phrases, {message}"):
        read(tmp_path, [*ROWS, row])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "reordering: holds no phrase pair"),
        ([*REORDERING, ""], "reordering, line 3: expected 'source ||| target ||| six probabilities'"),
        (["a ||| x ||| 1 1 1"], "reordering, line 1: expected 'source"),
        (["a ||| x ||| 1 1 1 1 1 1 1"], "reordering, line 1: expected 'source"),
        (["a ||| x ||| 1 1 1 1 1 1 ||| 0-0"], "reordering, line 1: expected 'source"),
        (["a ||| x ||| 1 1 1 1 1 x"], "reordering, line 1: a field cannot be read"),
        (["a ||| x"], "reordering, line 1: expected 'source"),
        (["a ||| x ||| 1 1 nan 1 1 1"], "reordering, line 1: a score is not a probability"),
        ([REORDERING[1], REORDERING[0], REORDERING[1]], "reordering, line 3: this phrase pair stands here twice"),
        (
            ["a ||| y ||| 1 1 1 1 1 1", "b ||| x ||| 1 1 1 1 1 1"],
            "reordering: has none of the phrase pairs of .*phrases",
        ),
    ],
)
def test_broken_reordering_rows(tmp_path: Path, rows: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message.replace("|", r"\|")):
        read(tmp_path, ROWS, rows)


def test_bytes_that_are_not_text(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"phrases, line 2: not valid UTF-8 \(byte 0xe9\)"):
        read(tmp_path, f"{ROWS[0]}\n\u00e9 ||| x ||| 1 1 |||\n".encode("latin-1"))
    whole = gzip.compress("\n".join(ROWS * 20).encode())
    for name, data in (("cut.gz", whole[:-9]), ("none.gz", b"a ||| x"), ("empty.gz", b"")):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(UserError, match=f"{name}: (cannot be read|holds no phrase pair)"):
            read_moses_text(tmp_path / name, None)
    with pytest.raises(UserError, match="missing: no such file"):
        read_moses_text(tmp_path / "missing", None)


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
    with pytest.raises(UserError, match="line 39001: a field"):
        read(tmp_path, [*rows[:39_000], "x ||| y ||| z |||", *rows[39_000:]])
