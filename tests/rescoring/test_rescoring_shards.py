"""Columns in shards: blocks hold every pair once, and shards give the bytes of the whole."""

from pathlib import Path

import numpy as np
import pytest
import torch
from rescoring_world import load_words, save_table

from neural_smt.errors import UserError
from neural_smt.io.files import read_json
from neural_smt.io.ragged import Ragged
from neural_smt.networks.encoder_decoder import Conventions, EncoderDecoder, EncoderDecoderConfig
from neural_smt.networks.folder import Trained
from neural_smt.phrases.table import PhraseTable, load_column, save_column
from neural_smt.rescoring import steps
from neural_smt.rescoring.steps import Blocks, hash_phrases, join_columns, score_phrase_table
from neural_smt.shortlist import shortlist_ids

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
    save_table(place, [f"{f} ||| {e} ||| 1 1 1 1 ||| 0-0 ||| 1 1 1 ||| |||" for f, e in sorted(pairs)])
    _, shortlists = load_words(place, WORDS - 3)
    for direction in ("forward", "backward"):
        torch.manual_seed(7)
        config = EncoderDecoderConfig(WORDS, WORDS, 6, 5, 4, 3, Conventions(), "gated", direction)
        read = shortlists if direction == "forward" else shortlists[::-1]
        Trained(EncoderDecoder(config), *read).save(place / direction)
    return place


def word_ids(folder: Path) -> list[np.ndarray]:
    return [shortlist_ids(*both) for both in zip(*load_words(folder, WORDS - 3), strict=True)]


def score(folder: Path, direction: str, output: Path, shard: str | None = None) -> None:
    score_phrase_table(
        phrase_table=folder / "table",
        model=folder / direction,
        source_vocabulary=folder / "source",
        target_vocabulary=folder / "target",
        output=output,
        statistics=output.with_suffix(".json"),
        device="cpu",
        settings={"batch": 7},
        shard=shard,
    )


@pytest.mark.parametrize("size", [1, 9, 100, 10_000])
@pytest.mark.parametrize("backward", [False, True])
def test_blocks_hold_every_pair_once(folder: Path, monkeypatch: pytest.MonkeyPatch, backward: bool, size: int) -> None:
    monkeypatch.setattr(steps, "PAIRS", size)
    table, ids = PhraseTable.load(folder / "table"), word_ids(folder)
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
    join_columns(
        phrase_table=folder / "table",
        parts=parts,
        part_statistics=[part.with_suffix(".json") for part in parts],
        output=tmp_path / "joined",
        statistics=tmp_path / "joined.json",
    )
    assert (tmp_path / "joined").read_bytes() == (tmp_path / "whole").read_bytes()
    timed = {"seconds", "pairs_per_second"}
    whole, joined = (read_json(tmp_path / f"{name}.json") for name in ("whole", "joined"))
    assert {key: whole[key] for key in whole.keys() - timed} == {key: joined[key] for key in joined.keys() - timed}
    monkeypatch.setattr(steps, "PAIRS", 10_000)
    score(folder, direction, tmp_path / "one_block")
    table = PhraseTable.load(folder / "table")
    columns = [load_column(tmp_path / name, table) for name in ("whole", "one_block")]
    np.testing.assert_allclose(*columns, atol=1e-5)


def test_parts_that_do_not_make_a_column_are_refused(folder: Path, tmp_path: Path) -> None:
    table = PhraseTable.load(folder / "table")
    cost = tmp_path / "cost.json"
    cost.write_text(
        '{"pairs": 1, "words": 1, "sources": 1, "prefixes": 1, "steps": 1, "states": 1, "seconds": 1, "device": ""}'
    )
    outputs = {"output": tmp_path / "o", "statistics": tmp_path / "s"}
    half = np.arange(len(table) // 2)
    for name, rows in {"twice": np.repeat(half, 2), "half": half}.items():
        save_column(tmp_path / name, np.zeros(len(rows)), table, rows)
        with pytest.raises(UserError, match=r"o: \d+ scores do not make a column of \d+; score all shards again"):
            join_columns(phrase_table=folder / "table", parts=[tmp_path / name], part_statistics=[cost], **outputs)
    (tmp_path / "broken").write_bytes(b"no part")
    with pytest.raises(UserError, match="broken: not a score column"):
        join_columns(phrase_table=folder / "table", parts=[tmp_path / "broken"], part_statistics=[cost], **outputs)
    assert not (tmp_path / "o").exists()


def test_hashes_are_of_the_words_and_spread() -> None:
    phrases = Ragged.from_lists([[3], [3, 3], [4, 3], [3, 4], [3], [], [5, 6, 7], [4, 3]])
    hashes = hash_phrases(phrases).tolist()
    assert hashes[0] == hashes[4] and hashes[2] == hashes[7]
    assert len(set(hashes)) == 6
    many = hash_phrases(Ragged.from_lists([[i, j] for i in range(60) for j in range(60)])) % np.uint64(8)
    assert np.bincount(many.astype(np.int64)).min() > 360
