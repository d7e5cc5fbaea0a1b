"""The phrase table made in shards: the same bytes as made at once."""

from pathlib import Path

import numpy as np
import pytest
from aligned_texts import random_text, write_inputs
from alignments import alignments_of
from hypothesis import given, settings
from hypothesis import strategies as st

from neural_smt.alignment.lexical import lexical_table
from neural_smt.alignment.pharaoh import read_alignments
from neural_smt.errors import UserError
from neural_smt.io.files import read_lines, write_lines
from neural_smt.io.ragged import Ragged, load_record
from neural_smt.phrases import merge
from neural_smt.phrases.merge import merge_phrases
from neural_smt.phrases.steps import (
    Partition,
    build_phrase_table,
    consolidate_phrases,
    count_targets,
    extract_phrases,
    find_partitions,
    score_phrases,
)
from neural_smt.phrases.table import PhraseTable
from neural_smt.vocabulary import Vocabulary

SMOOTHING = 0.5


def random_inputs(folder: Path, seed: int, sentences: int, words: int) -> dict[str, Path]:
    source, target, links = random_text(seed, sentences, words)
    spelt = ([" ".join(f"w{word}" for word in sentence) for sentence in side] for side in (source, target))
    return write_inputs(folder, tuple(spelt), alignments_of(links))


def build_at_once(inputs: dict[str, Path], folder: Path, max_length: int = 7) -> Path:
    build_phrase_table(**inputs, max_length=max_length, smoothing=SMOOTHING, output=folder / "table")
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
        extract_phrases(**text, shard=name, max_length=max_length, output=output)
    for name, output in zip(names, consolidated, strict=True):
        consolidate_phrases(extracted=extracted, shard=name, max_length=max_length, output=output)
    for name, output in zip(names, totals, strict=True):
        count_targets(consolidated=consolidated, shard=name, output=output)
    for name, own, output in zip(names, consolidated, parts, strict=True):
        score_phrases(consolidated=own, totals=totals, shard=name, **lexical, output=output)
    build_phrase_table(**inputs, parts=parts, max_length=max_length, smoothing=SMOOTHING, output=folder / "table")
    return folder / "table"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.parametrize("batch", [4, merge.BATCH])
@pytest.mark.parametrize("shards", [1, 4, 16])
def test_any_number_of_shards_makes_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shards: int, batch: int
) -> None:
    """Few words, so that phrases are frequent and their links differ and tie; batches down to one phrase of a part."""
    monkeypatch.setattr(merge, "BATCH", batch)
    inputs = random_inputs(tmp_path, seed=shards, sentences=150, words=5)
    whole = contents(build_at_once(inputs, tmp_path, 4))
    assert set(whole) == {"meta.json", *(f"{name}.npy" for name in ARRAYS)}
    assert contents(build_in_shards(inputs, tmp_path / "shards", 4, shards)) == whole


ARRAYS = (
    *(f"{name}_{kind}" for name in ("source", "target", "alignment") for kind in ("values", "offsets")),
    *("entry_offsets", "scores", "counts", "reordering", "source_index"),
)


@given(
    seed=st.integers(0, 10**6),
    sentences=st.integers(1, 40),
    words=st.integers(1, 30),
    shards=st.integers(1, 50),
    max_length=st.integers(1, 8),
)
@settings(max_examples=25)
def test_random_texts_in_shards(
    tmp_path_factory: pytest.TempPathFactory, seed: int, sentences: int, words: int, shards: int, max_length: int
) -> None:
    """Also more shards than sentences, empty partitions, and nothing to extract at all."""
    folder = tmp_path_factory.mktemp("shards")
    inputs = random_inputs(folder, seed, sentences, words)
    try:
        whole = contents(build_at_once(inputs, folder, max_length))
    except UserError as error:
        with pytest.raises(UserError, match=str(error)):
            build_in_shards(inputs, folder / "shards", max_length, shards)
    else:
        assert contents(build_in_shards(inputs, folder / "shards", max_length, shards)) == whole


def test_real_text_in_shards(shared: Path, tmp_path: Path) -> None:
    folder = shared / "oracle" / "extraction"
    lines = read_lines(folder / "train.en.gz"), read_lines(folder / "train.fr.gz")
    alignments = read_alignments(folder.parent / "symmetrization" / "grow-diag-final-and.align.gz")
    inputs = write_inputs(tmp_path, lines, alignments)
    whole = build_at_once(inputs, tmp_path)
    assert contents(build_in_shards(inputs, tmp_path / "shards")) == contents(whole)
    assert len(PhraseTable.load(whole)) > 50_000


def test_counts_of_target_phrases_are_those_of_all_partitions(tmp_path: Path) -> None:
    """``x`` is the translation of three words that lie in different partitions of five."""
    lines = (["a", "b", "c", "a"], ["x", "x", "x", "y"])
    inputs = write_inputs(tmp_path, lines, alignments_of([[(0, 0)]] * 4))
    table = PhraseTable.load(build_in_shards(inputs, tmp_path / "shards", 1, shards=5))
    source, target = (Vocabulary.load(inputs[f"{side}_vocabulary"]) for side in ("source", "target"))
    pairs = zip(table.entry_source, table.target, strict=True)
    spelt = [(source.text(table.source[s]), target.text(t)) for s, t in pairs]
    assert spelt == [("a", "x"), ("a", "y"), ("b", "x"), ("c", "x")]
    assert table.counts.tolist() == [[3, 2, 1], [1, 2, 1], [3, 1, 1], [3, 1, 1]]
    np.testing.assert_allclose(table.scores[:, [0, 2]], [[1 / 3, 0.5], [1, 0.5], [1 / 3, 1], [1 / 3, 1]])
    folders = [tmp_path / "shards" / f"consolidated-{number}-of-5" for number in range(1, 6)]
    own = [load_record(Partition, folder) for folder in folders]
    assert sorted(len(part.source) for part in own) != [0, 0, 0, 0, 3], "all in one partition"
    assert sum(part.pairs.counts[:, 0].sum() for part in own) < table.counts[:, 0].sum()


def test_the_partition_of_a_phrase_follows_from_its_first_two_words() -> None:
    phrases = Ragged.from_lists([[5], [5, 6], [5, 6, 7], [5, 6, 8, 9], [6, 5], *([n, 1] for n in range(200))])
    found = find_partitions(phrases, 7)
    assert found[1] == found[2] == found[3]
    assert np.bincount(found[5:], minlength=7).min() > 10
    assert (find_partitions(phrases, 1) == 0).all()


@pytest.mark.parametrize("build", [build_at_once, build_in_shards])
@pytest.mark.parametrize(
    ("name", "place", "new", "message"),
    [
        ("alignment", slice(21, 22), ["40-0"], "alignment, line 22: link 40-0 lies outside the sentence pair"),
        ("alignment", slice(21, 22), ["1-x"], "alignment, line 22: expected links such as"),
        ("alignment", slice(29, 30), [], "alignment has 29 lines but .*source has 30; align"),
        ("alignment", slice(0, 30), [""] * 30, "no phrase pair"),
        ("target", slice(0, 30), [], "source has 30 lines but .*target has 0"),
    ],
)
def test_what_does_not_fit_is_named(
    tmp_path: Path, build, name: str, place: slice, new: list[str], message: str
) -> None:
    inputs = random_inputs(tmp_path, seed=2, sentences=30, words=4)
    lines = read_lines(inputs[name])
    lines[place] = new
    write_lines(inputs[name], lines)
    with pytest.raises(UserError, match=message):
        build(inputs, tmp_path)
    assert not (tmp_path / "table").exists()


@pytest.mark.parametrize(("build", "size"), [(build_at_once, 5), (build_at_once, 50), (build_in_shards, 5)])
def test_lexical_tables_of_other_vocabularies_are_refused(tmp_path: Path, build, size: int) -> None:
    inputs = random_inputs(tmp_path, seed=2, sentences=30, words=20)
    text = Ragged.from_lists([[1]])
    lexical_table(text, text, alignments_of([[(0, 0)]]), size, size).save(inputs["lexical"])
    with pytest.raises(UserError, match="lexical: made with other vocabularies"):
        build(inputs, tmp_path)


def test_merging_ends_with_the_first_list_that_goes_on() -> None:
    lists = [Ragged.from_lists(own) for own in ([[3], [1, 2]], [[4], [7, 1]], [], [[1], [9], [1, 1]])]
    assert merge_phrases(lists, [False] * 4).tolist() == [3, 0, 1, 3, 3, 0, 1]
    assert merge_phrases(lists, [True, False, False, False]).tolist() == [3, 0, 1, 3, 3, 0]
    assert merge_phrases(lists, [False, True, False, True]).tolist() == [3, 0, 1, 3, 3]


@given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=3), unique_by=tuple), st.integers(1, 9))
def test_merged_lists_are_sorted(phrases: list[list[int]], count: int) -> None:
    phrases = sorted(phrases, key=lambda words: (len(words), words))
    belongs = [hash(tuple(words)) % count for words in phrases]
    lists = [
        Ragged.from_lists([w for w, own in zip(phrases, belongs, strict=True) if own == part]) for part in range(count)
    ]
    assert merge_phrases(lists, [False] * count).tolist() == belongs
