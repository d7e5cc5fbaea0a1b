"""Shortlists: which words are kept, how ids are mapped, what they cover."""

from pathlib import Path

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


def test_files_and_coverage(tmp_path: Path) -> None:
    texts = {}
    for name, source, target in (("train", ["a b a", "a c"], ["x x", "y"]), ("dev", ["a d"], [""])):
        texts[name] = [str(tmp_path / f"{name}.en"), str(tmp_path / f"{name}.fr")]
        write_lines(Path(texts[name][0]), source)
        write_lines(Path(texts[name][1]), target)
    source, target = map(Path, texts["train"])
    outputs = {f"{side}_output": tmp_path / f"short.{name}" for side, name in (("source", "en"), ("target", "fr"))}
    table = tmp_path / "coverage.csv"
    build_shortlists(source_text=source, target_text=target, size=1, coverage=texts, table=table, **outputs)
    assert Vocabulary.load(tmp_path / "short.en").words == [*RESERVED, "a"]
    assert Vocabulary.load(tmp_path / "short.fr").words == [*RESERVED, "x"]
    rows = {(r["set"], r["side"]): (r["running_words"], r["covered"]) for r in read_csv(table)}
    train = {("train", "source"): ("5", "3"), ("train", "target"): ("3", "2")}
    assert rows == train | {("dev", "source"): ("2", "1"), ("dev", "target"): ("0", "0")}
