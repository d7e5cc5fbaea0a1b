"""Tokenising, also in shards, cleaning and numbering words, with little of long texts in memory."""

import time
import tracemalloc
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from sacremoses import MosesPunctNormalizer

from neural_smt.corpus import steps, tokenisation
from neural_smt.evaluation.steps import detokenise_lines
from neural_smt.io.files import read_csv, read_lines, write_lines
from neural_smt.io.streams import stream_lines
from neural_smt.vocabulary import Vocabulary

TEXTS = yaml.safe_load(Path(__file__).with_name("tokens.yaml").read_text(encoding="utf-8"))


def tokenised(tmp_path, lines, language="en", **options):
    text, output = tmp_path / "raw.gz", tmp_path / "out.gz"
    write_lines(text, lines)
    steps.tokenise(text=text, language=language, output=output, **options)
    return read_lines(output)


@pytest.mark.parametrize("language", ["en", "fr"])
def test_tokenises_as_the_reference_data(shared, language):
    raw = list(stream_lines(shared / "data" / "multi30k" / f"train.{language}.gz", range(2000)))
    expected = read_lines(shared / "oracle" / "extraction" / f"train.{language}.gz")
    assert list(tokenisation.tokenise_lines(raw, language)) == expected


@pytest.mark.parametrize("row", TEXTS["tokens"], ids=[row["text"] for row in TEXTS["tokens"]])
def test_literal_tokens(tmp_path, row):
    found = tokenised(tmp_path, [row["text"]], row["language"], tokenised=row["tokenised"])
    assert found == [row["tokens"]]


@pytest.mark.parametrize("split", [False, True])
def test_strange_characters_never_change_the_line_count(tmp_path, split):
    assert tokenised(tmp_path, TEXTS["odd"], tokenised=split) == list(TEXTS["odd"].values())


@pytest.mark.parametrize(("language", "text"), TEXTS["again"])
def test_words_become_the_text_again(language, text):
    assert detokenise_lines(tokenisation.tokenise_lines([text], language), language) == [text]


@given(st.text(st.sampled_from("aé1 ,.;:!?%()[]\"'`´„“”‘’‚–—…«»\u00a0-º C")), st.sampled_from(["en", "fr"]))
def test_skipping_the_normaliser_changes_nothing(line, language):
    line = tokenisation.clean_characters(line)
    if not tokenisation._NORMALISABLE.search(line):
        assert MosesPunctNormalizer(language).normalize(line) == line.strip()


@given(st.text())
def test_escaping_twice_is_escaping_once(line):
    assert tokenisation.escape(tokenisation.escape(line)) == tokenisation.escape(line)


def cleaned(tmp_path, corpora, sides=("sources", "targets")):
    """The sides that are kept of corpora, and the table."""
    files = {side: [tmp_path / f"{name}.{side}" for name in corpora] for side in sides}
    for paths, texts in zip(files.values(), zip(*corpora.values(), strict=True), strict=True):
        for path, lines in zip(paths, texts, strict=True):
            write_lines(path, lines)
    outputs = {f"{side[:-1]}_output": tmp_path / f"o.{side}.gz" for side in sides}
    steps.clean(names=list(corpora), **files, **outputs, table=tmp_path / "t.csv", settings={})
    return [read_lines(path) for path in outputs.values()], read_csv(tmp_path / "t.csv")


def test_cleaning_says_what_was_dropped_and_why(tmp_path):
    long, ten = " ".join("x" * 81), " ".join("y" * 10)
    one = (["a b", "", " ", "c", long, "d", "e " * 80], ["A B", "X", "Y", ten, "Z", "D " * 9, "E " * 80])
    sides, table = cleaned(tmp_path, {"one": one, "two": (["f"], ["F"])})
    assert sides == [["a b", "d", "e " * 80, "f"], ["A B", "D " * 9, "E " * 80, "F"]]
    assert table == [
        {"source": "one", "pairs": "7", "kept": "3", "empty": "2", "too_long": "1", "ratio": "1"},
        {"source": "two", "pairs": "1", "kept": "1", "empty": "0", "too_long": "0", "ratio": "0"},
    ]


def test_cleaning_text(tmp_path):
    sides, table = cleaned(tmp_path, {"a": (["un", "", " ".join("x" * 81), "deux trois"],)}, sides=("sources",))
    assert sides == [["un", "deux trois"]]
    assert table == [{"source": "a", "pairs": "4", "kept": "2", "empty": "1", "too_long": "1", "ratio": "0"}]


def test_vocabulary(tmp_path):
    write_lines(tmp_path / "a", ["b a b", "c"])
    write_lines(tmp_path / "b", ["a b"])
    steps.build_vocabulary(texts=[tmp_path / "a", tmp_path / "b"], output=tmp_path / "v")
    vocabulary = Vocabulary.load(tmp_path / "v")
    assert vocabulary.words == ["<unk>", "<s>", "</s>", "b", "a", "c"]
    assert vocabulary.counts.tolist() == [0, 0, 0, 3, 2, 1]


@pytest.mark.parametrize("count", [1, 4, 16])
@pytest.mark.parametrize("tokenised", [False, True])
def test_shards_tokenise_the_whole_text(tmp_path: Path, count: int, tokenised: bool) -> None:
    write_lines(tmp_path / "raw.gz", [f"L\u2019eau, c'est {number} %\r" for number in range(11)])
    options = {"text": tmp_path / "raw.gz", "language": "fr", "tokenised": tokenised}
    steps.tokenise(**options, output=tmp_path / "whole", threads=2)
    parts = [tmp_path / f"{number}-of-{count}" for number in range(1, count + 1)]
    for part in parts:
        steps.tokenise(**options, output=part, shard=part.name)
    assert b"".join(part.read_bytes() for part in parts) == (tmp_path / "whole").read_bytes()
    assert len(read_lines(tmp_path / "whole")) == 11
    assert max(len(read_lines(part)) for part in parts) == -(-11 // count)


def test_processes_tokenise_a_stream_in_its_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenisation, "CHUNK", 7)
    read = []

    def lines():
        for number in range(400):
            read.append(number)
            yield f"Line {number}, it's."

    assert not list(tokenisation.tokenise_lines([], "en", threads=2))
    found = tokenisation.tokenise_lines(lines(), "en", threads=2)
    assert next(found) == "Line 0 , it &apos;s ."
    assert len(read) == 2 * 4 * 7, "no more of the text is read before the first line comes out"
    time.sleep(0.5)
    assert len(read) == 2 * 4 * 7, "nor while nobody asks for the next one"
    assert [next(found) for _ in range(399)] == [f"Line {number} , it &apos;s ." for number in range(1, 400)]
    assert next(found, None) is None


@pytest.mark.slow
def test_memory_does_not_grow_with_the_text(tmp_path: Path) -> None:
    line = "un deux trois quatre cinq six sept huit neuf dix"
    texts, peaks = [tmp_path / "t.en", tmp_path / "t.fr"], []
    for lines in (20_000, 80_000):
        for text in texts:
            write_lines(text, (line for _ in range(lines)))
        tracemalloc.start()
        steps.tokenise(text=texts[0], language="en", output=tmp_path / "o", tokenised=True)
        usual = {"names": ["t"], "source_output": tmp_path / "o.en", "table": tmp_path / "t.csv", "settings": {}}
        steps.clean(**usual, sources=texts[1:])
        steps.clean(**usual, sources=texts[:1], targets=texts[1:], target_output=tmp_path / "o.fr")
        steps.build_vocabulary(texts=texts[1:], output=tmp_path / "v")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert len(read_lines(tmp_path / "o.en")) == lines
    assert peaks[1] < 1.2 * peaks[0], "bytes"
    assert peaks[1] < texts[0].stat().st_size
