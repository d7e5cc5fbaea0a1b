"""Shortlists: which words are kept, how ids are mapped, what they cover."""

from pathlib import Path

import pytest

from neural_smt.errors import UserError
from neural_smt.io.files import read_csv, write_lines
from neural_smt.shortlist import build_shortlists, most_frequent, repeated_words, shortlist_ids
from neural_smt.vocabulary import RESERVED, UNK, Vocabulary


def test_most_frequent_words_first_and_ties_in_code_point_order() -> None:
    vocabulary = Vocabulary.from_sentences(["b b a c c d", "a b"])
    shortlist = most_frequent(vocabulary, 3)
    assert shortlist.words == [*RESERVED, "b", "a", "c"]
    assert shortlist.counts.tolist() == [0, 0, 0, 3, 2, 2]


def test_words_that_occur_once_can_be_left_out() -> None:
    vocabulary = repeated_words(["b a a", "c b b <unk> <unk>"])
    assert vocabulary.words == [*RESERVED, "b", "a"]
    assert vocabulary.counts.tolist() == [0, 0, 0, 3, 2]


def test_ids_outside_the_shortlist_and_reserved_spellings_become_unknown() -> None:
    vocabulary = Vocabulary.from_sentences(["x y z", "x y", "x"])
    shortlist = Vocabulary.from_sentences(["z x z"])
    assert shortlist_ids(vocabulary, shortlist).tolist() == [UNK, UNK, UNK, 4, UNK, 3]


def build(folder: Path, source: str | Path, target: str | Path, size: int, coverage: dict[str, list[str]]) -> None:
    """Write ``short.en``, ``short.fr`` and ``coverage.csv``."""
    build_shortlists(
        source_text=Path(source),
        target_text=Path(target),
        size=size,
        coverage=coverage,
        source_output=folder / "short.en",
        target_output=folder / "short.fr",
        table=folder / "coverage.csv",
    )


def test_files_and_coverage(tmp_path: Path) -> None:
    texts = {}
    for name, source, target in (("train", ["a b a", "a c"], ["x x", "y"]), ("dev", ["a d"], [""])):
        texts[name] = [str(tmp_path / f"{name}.en"), str(tmp_path / f"{name}.fr")]
        write_lines(Path(texts[name][0]), source)
        write_lines(Path(texts[name][1]), target)
    build(tmp_path, *texts["train"], 1, texts)
    assert Vocabulary.load(tmp_path / "short.en").words == [*RESERVED, "a"]
    assert Vocabulary.load(tmp_path / "short.fr").words == [*RESERVED, "x"]
    rows = {(r["set"], r["side"]): (r["running_words"], r["covered"]) for r in read_csv(tmp_path / "coverage.csv")}
    assert rows == {
        ("train", "source"): ("5", "3"),
        ("train", "target"): ("3", "2"),
        ("dev", "source"): ("2", "1"),
        ("dev", "target"): ("0", "0"),
    }


def test_an_empty_text_is_refused(tmp_path: Path) -> None:
    write_lines(tmp_path / "empty", [])
    with pytest.raises(UserError, match="empty: no words"):
        build(tmp_path, tmp_path / "empty", tmp_path / "empty", 10, {})
    assert not (tmp_path / "short.en").exists()
