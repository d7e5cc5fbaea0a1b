"""What is said of parallel text before it is used."""

import gzip
from pathlib import Path

import pytest
from published_archives import packed

from neural_smt.corpus.splitting import Survey, check_start, survey_corpus
from neural_smt.errors import UserError

ENGLISH = "the cat is on the table and the dog was in the garden with a friend of this man"
GERMAN = "die Katze ist nicht auf dem Tisch und der Hund war mit dem Freund von Frau Groß für eine Stunde im Garten"


def corpus(folder: Path, source: list[str], target: list[str], ends: tuple[str, str] = ("en", "de")) -> Survey:
    paths = [folder / f"c.{end}" for end in ends]
    for path, lines in zip(paths, (source, target), strict=True):
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="")
    return Survey(*paths)


def numbered(text: str, count: int = 300) -> list[str]:
    return [f"{n} {text}" for n in range(count)]


@pytest.mark.parametrize(
    ("name", "data", "sentence"),
    [
        ("c.en", None, "c.en: no such file"),
        ("c.en", gzip.compress(b"a\n"), r"c\.en: compressed by gzip; let its name end in \.gz"),
        ("c.en.gz", b"a\n", r"c\.en\.gz: cannot be read"),
        ("c.en", "a\n".encode("utf-16"), r"c\.en: UTF-16 text; convert the file to UTF-8"),
        ("c.en", b"one\rtwo\rthree", r"c\.en: lines end with carriage returns alone; let them end with line feeds"),
        ("c.en", b"PK\x03\x04rest", r"c\.en: an archive of several files; unpack it and give its texts"),
        ("c.en", packed({"a": b""}, "w:"), "an archive of several files"),
    ],
)
def test_files_that_are_no_text_are_told_by_their_start(
    tmp_path: Path, name: str, data: bytes | None, sentence: str
) -> None:
    if data is not None:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(UserError, match=sentence):
        check_start(tmp_path / name)


@pytest.mark.parametrize("name", ["c.en", "c.en.gz"])
def test_marks_and_line_ends_are_told(tmp_path: Path, name: str) -> None:
    data = b"\xef\xbb\xbfone\r\ntwo\r\n"
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    told = check_start(tmp_path / name)
    assert [sentence.partition(name)[2] for sentence in told] == [
        " begins with a byte order mark, which is left out",
        " has Windows line ends, which become plain ones",
    ]


def test_the_line_of_the_first_fault_is_named(tmp_path: Path) -> None:
    (tmp_path / "c.en").write_bytes(b"one\ntwo\nthree\n")
    (tmp_path / "c.de").write_bytes(b"eins\nzw\xf6lf\ndrei\n")
    with pytest.raises(UserError, match=r"c\.de, line 2: not valid UTF-8 \(byte 0xf6\); convert the file to UTF-8"):
        Survey(tmp_path / "c.en", tmp_path / "c.de")
    (tmp_path / "c.de").write_bytes(b"eins\nzwei\n")
    with pytest.raises(UserError, match=r"c\.en has 3 lines but .*c\.de has 2; line i of one must be the translation"):
        Survey(tmp_path / "c.en", tmp_path / "c.de")


def test_pairs_are_counted_by_what_is_odd(tmp_path: Path) -> None:
    survey = corpus(
        tmp_path,
        ["\ufeffone two", "three \x07four", "", "OK", "12", "x " * 81, "Don &apos;t", "u\u0308"],
        ["eins zwei", "drei vier", "leer", "OK", "12", "y", "Nicht &apos;", "ü"],
    )
    assert (survey.pairs, survey.empty, survey.identical, survey.long, survey.altered) == (8, 1, 2, 1, 2)
    assert survey.spaced[0] == 2 + 2 + 0 + 1 + 1 + 81 + 2 + 1
    remarks = survey.remarks(tokenised=False)
    assert [remark for remark in remarks if remark.startswith(("2 ", "1 "))] == [
        "2 pairs with odd characters (controls, invisible ones, not NFC), which are replaced",
        "1 pair with an empty side, which are left out",
        "1 pair with more than 80 words on a side, which training leaves out",
        "2 pairs with the same text on both sides",
    ]
    assert "the text looks tokenised already, as by Moses; say --tokenised if it is" in remarks
    assert not any("tokenised" in remark for remark in survey.remarks(tokenised=True))


def test_small_corpora_and_copies_are_refused(tmp_path: Path) -> None:
    corpus(tmp_path, numbered(ENGLISH, 150), numbered(GERMAN, 150))
    with pytest.raises(UserError, match=r"c\.en: 150 pairs with text are too few; give 200 or more"):
        survey_corpus(tmp_path / "c.en", tmp_path / "c.de")
    corpus(tmp_path, numbered(ENGLISH), [*numbered(ENGLISH, 200), *numbered(GERMAN, 100)])
    with pytest.raises(UserError, match="200 of 300 lines are the same on both sides; give a text and its translation"):
        survey_corpus(tmp_path / "c.en", tmp_path / "c.de")


def test_swapped_and_wrong_sides_are_told(tmp_path: Path) -> None:
    right = corpus(tmp_path, numbered(ENGLISH), numbered(GERMAN))
    assert right.check_languages(("en", "de"), stated=False) == []
    swapped = corpus(tmp_path, numbered(GERMAN), numbered(ENGLISH))
    with pytest.raises(UserError) as caught:
        swapped.check_languages(("en", "de"), stated=False)
    assert str(caught.value) == (
        f"{tmp_path}/c.en looks like 'de' and {tmp_path}/c.de looks like 'en'; "
        "swap them, or say what they are: --source en --target de"
    )
    assert swapped.check_languages(("en", "de"), stated=True) == [
        f"{tmp_path}/c.en looks like 'de' and {tmp_path}/c.de looks like 'en'"
    ]
    wrong = corpus(tmp_path, numbered(ENGLISH), numbered(ENGLISH + " here"))
    with pytest.raises(UserError, match=r"c\.de looks like 'en', not 'de'; give another file, or say what they are"):
        wrong.check_languages(("en", "de"), stated=False)


def test_words_without_spaces_are_not_found(tmp_path: Path) -> None:
    chinese = corpus(tmp_path, numbered(ENGLISH), ["这是一个没有空格的中文句子，所以找不到词语。"] * 300)
    sentence = r"c\.de: 'zh' is written without spaces and sacremoses does not find its words"
    with pytest.raises(UserError, match=sentence):
        chinese.check_spaces(("en", "zh"))
    chinese.check_spaces(("en", "de"))
    corpus(tmp_path, numbered(ENGLISH), ["这 是 一个 没有 空格 的 中文 句子 。"] * 300).check_spaces(("en", "zh"))


def test_lines_that_do_not_belong_together_are_noticed(tmp_path: Path) -> None:
    lengths = [(7 * n) % 23 + 1 for n in range(300)]
    shuffled = [lengths[(n * 37) % 300] for n in range(300)]
    together = corpus(tmp_path, ["wort " * n for n in lengths], ["word " * n for n in lengths])
    assert together.correlation == pytest.approx(1.0)
    assert together.remarks(tokenised=False) == []
    apart = corpus(tmp_path, ["wort " * n for n in lengths], ["word " * n for n in shuffled])
    assert abs(apart.correlation) < 0.2
    assert any("long lines do not have long translations" in remark for remark in apart.remarks(tokenised=False))
