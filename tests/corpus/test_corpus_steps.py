"""Tokenising, cleaning and numbering words."""

import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacremoses import MosesPunctNormalizer

from neural_smt.corpus import steps, tokenisation
from neural_smt.errors import UserError
from neural_smt.io.files import read_csv, read_lines, write_lines
from neural_smt.vocabulary import Vocabulary

LIMITS = {"max_length": 80, "max_ratio": 9}


def tokenised(tmp_path, lines, language="en", **options):
    text, output = tmp_path / "raw.gz", tmp_path / "out.gz"
    write_lines(text, lines)
    steps.tokenise(text=text, language=language, output=output, **options)
    return read_lines(output)


@pytest.mark.parametrize("language", ["en", "fr"])
def test_tokenises_as_the_reference_data(shared, language):
    with gzip.open(
        shared / "data" / "multi30k" / f"train.{language}.gz", "rt", encoding="utf-8", newline="\n"
    ) as stream:
        raw = [next(stream).removesuffix("\n") for _ in range(2000)]
    expected = read_lines(shared / "oracle" / "extraction" / f"train.{language}.gz")
    assert tokenisation.tokenise_lines(raw, language) == expected


def test_literal_tokens(tmp_path):
    assert tokenised(tmp_path, ["Mr. Smith didn't pay 3.5% [of] it.", 'He said "yes".']) == [
        "Mr. Smith didn &apos;t pay 3.5 % &#91; of &#93; it .",
        "He said &quot; yes . &quot;",
    ]
    assert tokenised(tmp_path, ["L’eau n'est-elle pas « bonne » ?", "A\u0300 l'e\u0301cole."], "fr") == [
        "L&apos; eau n&apos; est-elle pas &quot; bonne &quot; ?",
        "À l&apos; école .",
    ]


def test_strange_characters_never_change_the_line_count(tmp_path):
    lines = ["a\u2028b", "c\u0085d", "e\x0bf\x0cg", "h\ri", "\ufeffj", "\x1c", "", "k\u00a0l\u00adm", "n\x00o\x7f"]
    assert tokenised(tmp_path, lines) == ["a b", "c d", "e f g", "h i", "j", "", "", "k lm", "no"]
    assert tokenised(tmp_path, lines, tokenised=True) == ["a b", "c d", "e f g", "h i", "j", "", "", "k lm", "no"]


def test_tokenised_text_keeps_its_tokens(tmp_path):
    lines = ["didn 't  |  [ x ]", "didn &apos;t &#124; &#91; x &#93;", "AT&T &amp; co"]
    assert tokenised(tmp_path, lines, tokenised=True) == [
        "didn &apos;t &#124; &#91; x &#93;",
        "didn &apos;t &#124; &#91; x &#93;",
        "AT&amp;T &amp; co",
    ]


def test_processes_keep_the_order(tmp_path, monkeypatch):
    monkeypatch.setattr(tokenisation, "CHUNK", 7)
    lines = [f"Line {number}, it's number {number}." for number in range(40)]
    expected = [f"Line {number} , it &apos;s number {number} ." for number in range(40)]
    assert tokenised(tmp_path, lines, threads=2) == expected
    assert tokenised(tmp_path, [], threads=2) == []


@settings(max_examples=300)
@given(st.text(st.sampled_from("aé1 ,.;:!?%()[]\"'`´„“”‘’‚–—…«»\u00a0-º C")), st.sampled_from(["en", "fr"]))
def test_skipping_the_normaliser_changes_nothing(line, language):
    line = tokenisation.clean_characters(line)
    if not tokenisation._NORMALISABLE.search(line):
        assert MosesPunctNormalizer(language).normalize(line) == line.strip()


@given(st.text())
def test_escaping_twice_is_escaping_once(line):
    assert tokenisation.escape(tokenisation.escape(line)) == tokenisation.escape(line)


def cleaned(tmp_path, corpora, limits=LIMITS):
    files = {"names": [], "sources": [], "targets": []}
    for name, (source, target) in corpora.items():
        files["names"].append(name)
        for side, lines in (("sources", source), ("targets", target)):
            files[side].append(tmp_path / f"{name}.{side}")
            write_lines(files[side][-1], lines)
    outputs = {
        "source_output": tmp_path / "o.en.gz",
        "target_output": tmp_path / "o.fr.gz",
        "table": tmp_path / "t.csv",
    }
    steps.clean_pairs(**files, **outputs, settings=limits)
    return read_lines(outputs["source_output"]), read_lines(outputs["target_output"]), read_csv(outputs["table"])


def test_cleaning_says_what_was_dropped_and_why(tmp_path):
    long, ten = " ".join("x" * 81), " ".join("y" * 10)
    one = (["a b", "", " ", "c", long, "d", "e " * 80], ["A B", "X", "Y", ten, "Z", "D " * 9, "E " * 80])
    two = (["f"], ["F"])
    source, target, table = cleaned(tmp_path, {"one": one, "two": two})
    assert source == ["a b", "d", "e " * 80, "f"]
    assert target == ["A B", "D " * 9, "E " * 80, "F"]
    assert table == [
        {"source": "one", "pairs": "7", "kept": "3", "empty": "2", "too_long": "1", "ratio": "1"},
        {"source": "two", "pairs": "1", "kept": "1", "empty": "0", "too_long": "0", "ratio": "0"},
    ]


def test_nothing_left_is_an_error_that_names_the_source(tmp_path):
    with pytest.raises(UserError, match=r"europarl: none of the 2 lines of .*europarl.sources is left after cleaning"):
        cleaned(tmp_path, {"europarl": (["", "a"], ["b", ""])})
    assert not (tmp_path / "o.en.gz").exists() and not (tmp_path / "t.csv").exists()


def test_different_line_counts_are_an_error(tmp_path):
    with pytest.raises(UserError, match=r"europarl.sources has 2 lines but .*europarl.targets has 1"):
        cleaned(tmp_path, {"europarl": (["a", "b"], ["c"])})


def test_invalid_utf8_is_named_with_its_line(tmp_path):
    (tmp_path / "bad.txt").write_bytes(b"good\nbad \xff\n")
    with pytest.raises(UserError, match=r"bad.txt, line 2: not valid UTF-8"):
        steps.tokenise(text=tmp_path / "bad.txt", language="en", output=tmp_path / "out.gz")
    assert not (tmp_path / "out.gz").exists()


def test_cleaning_text(tmp_path):
    write_lines(tmp_path / "a.fr", ["un", "", " ".join("x" * 81), "deux trois"])
    steps.clean_text(
        names=["a"], texts=[tmp_path / "a.fr"], output=tmp_path / "o.fr", table=tmp_path / "t.csv", settings=LIMITS
    )
    assert read_lines(tmp_path / "o.fr") == ["un", "deux trois"]
    assert read_csv(tmp_path / "t.csv") == [
        {"source": "a", "pairs": "4", "kept": "2", "empty": "1", "too_long": "1", "ratio": "0"}
    ]


def test_vocabulary(tmp_path):
    write_lines(tmp_path / "a", ["b a b", "c"])
    write_lines(tmp_path / "b", ["a b"])
    steps.build_vocabulary(texts=[tmp_path / "a", tmp_path / "b"], output=tmp_path / "v")
    vocabulary = Vocabulary.load(tmp_path / "v")
    assert vocabulary.words == ["<unk>", "<s>", "</s>", "b", "a", "c"]
    assert vocabulary.counts.tolist() == [0, 0, 0, 3, 2, 1]
    write_lines(tmp_path / "empty", ["", " "])
    with pytest.raises(UserError, match="empty: no words"):
        steps.build_vocabulary(texts=[tmp_path / "empty"], output=tmp_path / "w")
