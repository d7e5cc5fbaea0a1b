"""The step that builds a phrase table: that of Moses, and the same bytes in shards as at once."""

from pathlib import Path

import numpy as np
import pytest
from aligned_texts import CASES, assert_same_table, entries, random_text, real_text, write_inputs
from alignments import alignments_of, rounded
from hypothesis import example, given
from hypothesis import strategies as st
from moses_tables import read_moses
from refusals import check_refused

from neural_smt.alignment.lexical import LexicalTable, lexical_table
from neural_smt.errors import UserError
from neural_smt.io.files import read_lines, write_lines
from neural_smt.io.ragged import Ragged
from neural_smt.io.records import load_record
from neural_smt.phrases import merge, steps
from neural_smt.phrases.merge import merge_phrases
from neural_smt.phrases.moses_format import write_moses
from neural_smt.phrases.table import PhraseTable
from neural_smt.vocabulary import Vocabulary

SMOOTHING = 0.5


def random_inputs(folder: Path, seed: int, sentences: int, words: int) -> dict[str, Path]:
    source, target, links = random_text(seed, sentences, words)
    spelt = ([" ".join(f"w{word}" for word in sentence) for sentence in side] for side in (source, target))
    return write_inputs(folder, tuple(spelt), alignments_of(links))


def build_at_once(inputs: dict[str, Path], folder: Path, max_length: int = 7) -> Path:
    steps.build_phrase_table(**inputs, max_length=max_length, smoothing=SMOOTHING, output=folder / "table", threads=2)
    return folder / "table"


def build_in_shards(inputs: dict[str, Path], folder: Path, max_length: int = 7, shards: int = 4) -> Path:
    """The steps in the order of the rules."""
    names = [f"{number}-of-{shards}" for number in range(1, shards + 1)]
    extracted, consolidated, totals, parts = (
        [folder / f"{step}-{name}" for name in names] for step in ("extracted", "consolidated", "totals", "part")
    )
    text = {name: path for name, path in inputs.items() if name != "lexical"}
    lexical = {"lexical": inputs["lexical"], "smoothing": SMOOTHING}
    for name, output in zip(names, extracted, strict=True):
        steps.extract_phrases(**text, shard=name, max_length=max_length, output=output)
    for name, output in zip(names, consolidated, strict=True):
        steps.consolidate_phrases(extracted=extracted, shard=name, max_length=max_length, output=output)
    for name, output in zip(names, totals, strict=True):
        steps.count_targets(consolidated=consolidated, shard=name, output=output)
    for name, own, output in zip(names, consolidated, parts, strict=True):
        steps.score_phrases(partition=own, totals=totals, shard=name, **lexical, output=output)
    steps.build_phrase_table(**inputs, parts=parts, max_length=max_length, smoothing=SMOOTHING, output=folder / "table")
    return folder / "table"


@pytest.mark.parametrize("limit", ["extraction.MOST_PAIRS", "steps.MOST_COUNTED"])
def test_more_pairs_than_there_are_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    monkeypatch.setattr(f"neural_smt.phrases.{limit}", 3)
    with pytest.raises(UserError, match="more than 3;"):
        build_in_shards(random_inputs(tmp_path, 1, 30, 4), tmp_path)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.slow
@given(
    seed=st.integers(0, 10**6),
    sentences=st.integers(1, 40),
    words=st.integers(1, 30),
    shards=st.integers(1, 50),
    batch=st.sampled_from([4, merge.BATCH]),
    max_length=st.integers(1, 8),
)
@example(seed=1, sentences=150, words=5, shards=1, batch=4, max_length=4)
@example(seed=4, sentences=150, words=5, shards=4, batch=4, max_length=4)
@example(seed=4, sentences=150, words=5, shards=4, batch=merge.BATCH, max_length=4)
@example(seed=16, sentences=150, words=5, shards=16, batch=4, max_length=4)
def test_any_number_of_shards_makes_the_same_bytes(tmp_path_factory, seed, sentences, words, shards, batch, max_length):
    """Few words, so that phrases are frequent and their links differ and tie; batches down to one phrase of a part;
    more shards than sentences, empty partitions, and nothing to extract at all.
    """
    folder = tmp_path_factory.mktemp("shards")
    inputs = random_inputs(folder, seed, sentences, words)
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(merge, "BATCH", batch)
        try:
            whole = contents(build_at_once(inputs, folder, max_length))
        except UserError as error:
            check_refused(str(error), build_in_shards, inputs, folder / "shards", max_length, shards)
        else:
            assert contents(build_in_shards(inputs, folder / "shards", max_length, shards)) == whole


def test_real_text_gives_the_table_of_moses_at_once_and_in_shards(shared: Path, tmp_path: Path) -> None:
    """Lexical probabilities are rounded to seven decimals: Moses passes them on as such text."""
    real = real_text(shared)
    inputs = write_inputs(tmp_path, real.lines, real.text[2])
    rounded(LexicalTable.load(inputs["lexical"], mapped=False)).save(inputs["lexical"])
    whole = build_at_once(inputs, tmp_path)
    assert contents(build_in_shards(inputs, tmp_path / "shards")) == contents(whole)
    table = PhraseTable.load(whole)
    theirs = real.folder / "phrase-table.gz", real.folder / "reordering-table.wbe-msd-bidirectional-fe.gz"
    reference = read_moses(*theirs, *real.vocabularies)
    assert len(table) == 72517
    assert_same_table(table, reference, "counts")
    np.testing.assert_allclose(table.scores, reference.scores, rtol=1e-5)
    np.testing.assert_allclose(table.reordering, reference.reordering, rtol=1e-5)
    write_moses(table, real.vocabularies, tmp_path / "phrase-table", None)
    assert read_lines(tmp_path / "phrase-table") == read_lines(theirs[0])


def test_counts_of_target_phrases_are_those_of_all_partitions(tmp_path: Path) -> None:
    """``x`` is the translation of three words that lie in different partitions of five."""
    lines = (["a", "b", "c", "a"], ["x", "x", "x", "y"])
    inputs = write_inputs(tmp_path, lines, alignments_of([[(0, 0)]] * 4))
    table = PhraseTable.load(build_in_shards(inputs, tmp_path / "shards", 1, shards=5))
    vocabularies = tuple(Vocabulary.load(inputs[f"{side}_vocabulary"]) for side in ("source", "target"))
    assert entries(table, vocabularies) == [("a", "x"), ("a", "y"), ("b", "x"), ("c", "x")]
    assert table.counts.tolist() == [[3, 2, 1], [1, 2, 1], [3, 1, 1], [3, 1, 1]]
    np.testing.assert_allclose(table.scores[:, [0, 2]], [[1 / 3, 0.5], [1, 0.5], [1 / 3, 1], [1 / 3, 1]])
    folders = [tmp_path / "shards" / f"consolidated-{number}-of-5" for number in range(1, 6)]
    own = [load_record(steps.Partition, folder) for folder in folders]
    assert sorted(len(part.source) for part in own) != [0, 0, 0, 0, 3], "all in one partition"
    assert sum(part.pairs.counts[:, 0].sum() for part in own) < table.counts[:, 0].sum()


def test_the_partition_of_a_phrase_follows_from_its_first_two_words() -> None:
    phrases = Ragged.from_lists([[5], [5, 6], [5, 6, 7], [5, 6, 8, 9], [6, 5], *([n, 1] for n in range(200))])
    found = steps.find_partitions(phrases, 7)
    assert found[1] == found[2] == found[3]
    assert np.bincount(found[5:], minlength=7).min() > 10
    assert (steps.find_partitions(phrases, 1) == 0).all()


@pytest.mark.parametrize("build", [build_at_once, build_in_shards])
@pytest.mark.parametrize(("name", "first", "end", "new", "pieces"), CASES["misfits"])
def test_what_does_not_fit_is_named(tmp_path, build, name, first, end, new, pieces):
    inputs = random_inputs(tmp_path, seed=2, sentences=30, words=4)
    lines = read_lines(inputs[name])
    lines[first:end] = [] if new is None else [new] * (end - first)
    write_lines(inputs[name], lines)
    check_refused(pieces, build, inputs, tmp_path)
    assert not (tmp_path / "table").exists()


@pytest.mark.parametrize(("build", "size"), [(build_at_once, 5), (build_at_once, 50), (build_in_shards, 5)])
def test_lexical_tables_of_other_vocabularies_are_refused(tmp_path: Path, build, size: int) -> None:
    inputs = random_inputs(tmp_path, seed=2, sentences=30, words=20)
    text = Ragged.from_lists([[1]])
    lexical_table([(text, text, alignments_of([[(0, 0)]]))], size, size).save(inputs["lexical"])
    check_refused(["lexical", "other vocabularies"], build, inputs, tmp_path)


def test_merging_ends_with_the_first_list_that_goes_on() -> None:
    lists = [Ragged.from_lists(own) for own in ([[3], [1, 2]], [[4], [7, 1]], [], [[1], [9], [1, 1]])]
    assert merge_phrases(lists, [False] * 4).tolist() == [3, 0, 1, 3, 3, 0, 1]
    assert merge_phrases(lists, [True, False, False, False]).tolist() == [3, 0, 1, 3, 3, 0]
    assert merge_phrases(lists, [False, True, False, True]).tolist() == [3, 0, 1, 3, 3]


@given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=3), unique_by=tuple), st.integers(1, 9))
def test_merged_lists_are_sorted(phrases: list[list[int]], count: int) -> None:
    phrases = sorted(phrases, key=lambda words: (len(words), words))
    belongs = [hash(tuple(words)) % count for words in phrases]
    rows = (np.flatnonzero(np.array(belongs) == part) for part in range(count))
    lists = [Ragged.from_lists(phrases).take(own) for own in rows]
    assert merge_phrases(lists, [False] * count).tolist() == belongs
