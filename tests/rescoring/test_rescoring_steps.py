"""Columns of a phrase table: scores of its pairs, in shards that give the bytes of the whole, and unknown words."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from moses_tables import save_table
from network_cases import CASES, CPU, enlarge
from refusals import check_refused

from neural_smt.io.files import read_json, write_json
from neural_smt.io.ragged import Ragged
from neural_smt.networks.encoder_decoder import EncoderDecoder
from neural_smt.networks.folder import Trained
from neural_smt.networks.packing import pack_pairs
from neural_smt.phrases.table import PhraseTable, load_column, save_column
from neural_smt.rescoring import steps
from neural_smt.rescoring.column_steps import count_unknown_words, join_columns
from neural_smt.rescoring.scorer import PairScorer, WorkDone
from neural_smt.rescoring.steps import Blocks, hash_phrases, score_phrase_table
from neural_smt.shortlist import most_frequent, shortlist_ids
from neural_smt.vocabulary import UNK, Vocabulary

WORDS = 6
"""Of the shortlists, with the reserved ones; the vocabularies have more."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of 400 pairs with phrases that recur on both sides, some alike but for unknown words; networks."""
    place, random = tmp_path_factory.mktemp("table"), np.random.default_rng(5)
    pairs = {
        tuple(" ".join(random.choice(list(words), random.integers(1, 4))) for words in ("abcdefg", "tuvwxyz"))
        for _ in range(430)
    }
    _, vocabularies = save_table(place, pairs)
    shortlists = [most_frequent(vocabulary, WORDS - 3) for vocabulary in vocabularies]
    for side, shortlist in zip(("source", "target"), shortlists, strict=True):
        shortlist.save(place / f"{side}_shortlist")
    for direction in ("forward", "backward"):
        network = CASES["code"].make(7, source_words=WORDS, target_words=WORDS, direction=direction)
        enlarge(network, 0.4)
        Trained(network, *(shortlists if direction == "forward" else shortlists[::-1])).save(place / direction)
    return place


def files(folder: Path) -> dict[str, Path]:
    return {name: folder / name for name in ("phrase_table", "source_vocabulary", "target_vocabulary")}


def word_ids(folder: Path) -> list[np.ndarray]:
    names = ([f"{side}_vocabulary", f"{side}_shortlist"] for side in ("source", "target"))
    return [shortlist_ids(*(Vocabulary.load(folder / name) for name in pair)) for pair in names]


def score(folder: Path, direction: str, output: Path, shard: str | None = None, **changes: Any) -> None:
    arguments = files(folder) | {"model": folder / direction, "device": "cpu", "settings": {"batch": 7}} | changes
    places = {name: output.with_suffix(f".{name}") for name in ("json", "state")}
    score_phrase_table(**arguments, output=output, statistics=places["json"], state=places["state"], shard=shard)


def work_of(column: Path) -> dict[str, Any]:
    """What is told of a column's cost, but for the time it took."""
    told = read_json(column.with_suffix(".json"))
    return {key: value for key, value in told.items() if key not in ("seconds", "pairs_per_second")}


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_a_column_is_aligned_with_the_table(folder: Path, tmp_path: Path, direction: str) -> None:
    """A backward network gives the source given the target."""
    score(folder, direction, tmp_path / "column")
    table = PhraseTable.load(folder / "phrase_table")
    column = load_column(tmp_path / "column", table)
    assert column.dtype == np.float32
    sides = table.source.take(table.entry_source), table.target
    pair = [Ragged(ids[side.values], side.offsets) for ids, side in zip(word_ids(folder), sides, strict=True)]
    network = Trained.load(folder / direction, EncoderDecoder, CPU).network
    with torch.no_grad():
        expected = network(pack_pairs(*(pair if direction == "forward" else pair[::-1]), CPU))
    assert expected.std() > 1
    np.testing.assert_allclose(column, expected, atol=1e-4)
    report = read_json(tmp_path / "column.json")
    assert report["pairs"] == len(table)
    assert report["seconds"] > 0
    assert report["pairs_per_second"] > 0


@pytest.mark.parametrize("model", ["forward", "backward"])
def test_a_run_that_was_killed_goes_on(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    """Under the same network, and not with the scores of another."""
    monkeypatch.setattr(steps, "PAIRS", 100)
    whole, again = tmp_path / "whole", tmp_path / "again"
    score(folder, model, whole)
    compute, scored, limit = PairScorer.score, [], 2

    def counted(scorer: PairScorer, source: Ragged, *rest: Any) -> Any:
        if len(scored) == limit:
            raise KeyboardInterrupt
        scored.append(len(source))
        return compute(scorer, source, *rest)

    monkeypatch.setattr(PairScorer, "score", counted)
    with pytest.raises(KeyboardInterrupt):
        score(folder, "forward", again)
    assert not again.exists()
    done, limit = sum(scored), -1
    scored.clear()
    score(folder, model, again)
    pairs = len(PhraseTable.load(folder / "phrase_table"))
    assert sum(scored) == (pairs - done if model == "forward" else pairs)
    assert again.read_bytes() == whole.read_bytes()
    assert work_of(again) == work_of(whole)
    assert not again.with_suffix(".state").exists()


@pytest.mark.parametrize("size", [1, 9, 100, 10_000])
@pytest.mark.parametrize("backward", [False, True])
def test_blocks_hold_every_pair_once(folder: Path, monkeypatch: pytest.MonkeyPatch, backward: bool, size: int) -> None:
    monkeypatch.setattr(steps, "PAIRS", size)
    table, ids = PhraseTable.load(folder / "phrase_table"), word_ids(folder)
    found = Blocks(table, ids, backward)
    parts = [found[number] for number in range(found.count)]
    assert len(parts) == 1 or size < len(table)
    rows = np.concatenate([part[0] for part in parts])
    assert sorted(rows.tolist()) == list(range(len(table)))
    sides = [[ids[0][table.source[s]].tolist() for s in table.entry_source], [ids[1][e].tolist() for e in table.target]]
    sides = sides[::-1] if backward else sides
    owners: dict[tuple[int, ...], int] = {}
    for number, (rows, *phrases) in enumerate(parts):
        for side, found_side in zip(sides, phrases, strict=True):
            assert [phrase.tolist() for phrase in found_side] == [side[row] for row in rows]
        assert all(owners.setdefault(tuple(phrase.tolist()), number) == number for phrase in phrases[0]) or not backward


@pytest.mark.parametrize("count", [1, 4, 16, 300])
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_shards_give_the_column_of_the_whole(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, direction: str, count: int
) -> None:
    monkeypatch.setattr(steps, "PAIRS", 40)
    score(folder, direction, tmp_path / "whole")
    parts = [tmp_path / f"{number}-of-{count}" for number in range(1, count + 1)]
    for part in parts:
        score(folder, direction, part, part.name)
    outputs = {"output": tmp_path / "joined", "statistics": tmp_path / "joined.json"}
    told = [part.with_suffix(".json") for part in parts]
    join_columns(phrase_table=folder / "phrase_table", parts=parts, part_statistics=told, **outputs)
    assert (tmp_path / "joined").read_bytes() == (tmp_path / "whole").read_bytes()
    assert work_of(tmp_path / "whole") == work_of(tmp_path / "joined")
    monkeypatch.setattr(steps, "PAIRS", 10_000)
    score(folder, direction, tmp_path / "one_block")
    table = PhraseTable.load(folder / "phrase_table")
    columns = [load_column(tmp_path / name, table) for name in ("whole", "one_block")]
    np.testing.assert_allclose(*columns, atol=1e-5)


def test_parts_that_do_not_make_a_column_are_refused(folder: Path, tmp_path: Path) -> None:
    table, cost = PhraseTable.load(folder / "phrase_table"), tmp_path / "cost.json"
    write_json(cost, dict.fromkeys((*WorkDone._fields, "seconds", "device"), 1))
    given = {"phrase_table": folder / "phrase_table", "part_statistics": [cost]}
    given |= {"output": tmp_path / "o", "statistics": tmp_path / "s"}
    half = np.arange(len(table) // 2)
    for name, rows in {"twice": np.repeat(half, 2), "half": half}.items():
        save_column(tmp_path / name, np.zeros(len(rows)), table, rows)
        check_refused(["o", "scores", len(table)], join_columns, **given, parts=[tmp_path / name])
    (tmp_path / "broken").write_bytes(b"no part")
    check_refused(["broken", "damaged"], join_columns, **given, parts=[tmp_path / "broken"])
    assert not (tmp_path / "o").exists()


def test_hashes_are_of_the_words_and_spread() -> None:
    phrases = Ragged.from_lists([[3], [3, 3], [4, 3], [3, 4], [3], [], [5, 6, 7], [4, 3]])
    hashes = hash_phrases(phrases).tolist()
    assert hashes[0] == hashes[4] and hashes[2] == hashes[7]
    assert len(set(hashes)) == 6
    many = hash_phrases(Ragged.from_lists([[i, j] for i in range(60) for j in range(60)])) % np.uint64(8)
    assert np.bincount(many.astype(np.int64)).min() > 360


def test_words_unknown_to_the_networks_are_counted(folder: Path, tmp_path: Path) -> None:
    count_unknown_words(**files(folder), target_shortlist=folder / "target_shortlist", output=tmp_path / "column")
    table, ids = PhraseTable.load(folder / "phrase_table"), word_ids(folder)[1]
    expected = [-sum(ids[word] == UNK for word in phrase) for phrase in table.target]
    assert min(expected) < 0 == max(expected)
    assert load_column(tmp_path / "column", table).tolist() == expected


def test_a_column_belongs_to_its_table(folder: Path, tmp_path: Path) -> None:
    table, path = PhraseTable.load(folder / "phrase_table"), tmp_path / "column"
    scores = np.arange(float(len(table)))
    save_column(path, scores, table)
    np.testing.assert_array_equal(load_column(path, PhraseTable.load(folder / "phrase_table")), scores)
    other = replace(table, target=table.target.take(np.roll(np.arange(len(table)), 1)))
    assert other.digest != table.digest
    check_refused("another phrase table", load_column, path, other)
    scores[2] = np.nan
    save_column(path, scores, table)
    check_refused(["values", "'scores'", "float32"], load_column, path, table)
    path.write_bytes(b"no column")
    check_refused([path, "damaged"], load_column, path, table)
    check_refused(["nowhere", "no such file"], load_column, tmp_path / "nowhere", table)


def test_a_table_of_other_vocabularies_is_refused(folder: Path, tmp_path: Path) -> None:
    column, vocabulary = tmp_path / "column", folder / "source_vocabulary"
    check_refused("another target vocabulary", score, folder, "forward", column, target_vocabulary=vocabulary)
    assert not column.exists()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize(("precision", "tolerance"), [("fp32", 1e-3), ("bf16", 0.5)])
def test_cuda_scores(folder: Path, tmp_path: Path, precision: str, tolerance: float) -> None:
    columns = []
    for device, settings in (("cpu", {}), ("cuda", {"precision": precision})):
        score(folder, "forward", tmp_path / device, device=device, settings=settings)
        columns.append(load_column(tmp_path / device, PhraseTable.load(folder / "phrase_table")))
    np.testing.assert_allclose(columns[1], columns[0], atol=tolerance)
