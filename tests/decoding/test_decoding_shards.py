"""Search in shards: the files of the whole, byte for byte, whatever the number of shards."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_models import SOURCE, decode_in_shards, random_model, save_system

from neural_smt.decoding import search
from neural_smt.decoding.joining_steps import join_translations
from neural_smt.decoding.search import SearchPlan
from neural_smt.decoding.statistics import sum_counts
from neural_smt.decoding.steps import decode
from neural_smt.errors import UserError
from neural_smt.io.files import read_lines, write_json, write_lines
from neural_smt.shards import Shard

SENTENCES = st.lists(st.lists(st.sampled_from("abc"), max_size=3), max_size=25)


@given(SENTENCES, st.integers(1, 7), st.integers(1, 9))
def test_shards_have_whole_batches_of_the_plan(sentences: list[list[str]], size: int, count: int) -> None:
    plan = SearchPlan.of(sentences, size)
    members = [plan.members(Shard(number, count)) for number in range(1, count + 1)]
    assert sorted(number for shard in members for number in shard) == sorted(set(plan.same))
    assert all(sentences[number] == sentences[same] for number, same in enumerate(plan.same))
    batches = {tuple(batch.tolist()) for batch in plan.batches}
    found = [
        tuple(np.array(shard)[batch].tolist())
        for shard in members
        for batch in SearchPlan.of([sentences[number] for number in shard], size).batches
    ]
    assert len(found) == len(batches) and set(found) == batches


@pytest.fixture(params=[3, 8])
def system(tmp_path: Path, request: pytest.FixtureRequest) -> dict[str, Any]:
    """A system's files as arguments of ``decode``; some of 70 sentences are equal or empty, some words are unknown."""
    model, weights = random_model(request.param)
    random = np.random.default_rng(request.param)
    words = ["a", "a", "b", "b", "c", "new", "other", "third"]
    write_lines(tmp_path / "text", [" ".join(random.choice(words, random.integers(0, 9))) for _ in range(70)])
    return {
        "text": tmp_path / "text",
        **save_system(tmp_path, model, weights, {"stack_size": 20}),
        "nbest_size": 5,
    }


def test_shards_make_the_whole(system: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "BATCH", 4)
    found = [decode_in_shards(system, tmp_path / str(count), count) for count in (1, 4, 16)]
    assert found[0] == found[1] == found[2]
    lines, statistics = read_lines(tmp_path / "16" / "o"), found[2][1]
    assert len(lines) == statistics["sentences"] == 70 and "" in lines and any("new" in line for line in lines)
    flat = " ".join(read_lines(system["text"])).split()
    assert statistics["unknown_words"] == sum(word not in SOURCE for word in flat) > 0
    monkeypatch.setattr(search, "BATCH", 16)
    assert decode_in_shards(system, tmp_path, 1) == found[0], "a sentence does not depend on those beside it"


def test_shards_without_sentences(system: dict[str, Any], tmp_path: Path) -> None:
    for lines in ([], [""], ["a b"]):
        write_lines(system["text"], lines)
        whole = decode_in_shards(system, tmp_path, 1)
        assert decode_in_shards(system, tmp_path, 4) == whole
        assert whole[1]["sentences"] == len(lines)


def test_shards_that_do_not_make_a_text_are_refused(system: dict[str, Any], tmp_path: Path) -> None:
    decode(**system, output=tmp_path / "p", statistics=tmp_path / "p.json", shard="1-of-2")
    files = {"text": system["text"], "output": tmp_path / "o", "statistics": tmp_path / "s.json"}
    with pytest.raises(UserError, match=r"p and other shards do not make a translation of .*text; decode all shards"):
        join_translations(parts=[tmp_path / "p"], part_statistics=[tmp_path / "p.json"], **files)
    write_json(tmp_path / "p.json", {"sentences": 3})
    with pytest.raises(UserError, match=r"p\.json: not the statistics of a shard"):
        join_translations(parts=[tmp_path / "p"], part_statistics=[tmp_path / "p.json"], **files)
    assert not (tmp_path / "o").exists()


def test_what_a_network_was_asked_is_added_up() -> None:
    exact = {"ngrams": 10, "cache_hits": 5, "cache_hit_rate": 0.5, "seconds": 0.5, "ngrams_per_second": 10.0}
    other = {"ngrams": 30, "cache_hits": 5, "cache_hit_rate": 0.1667, "seconds": 1.5, "ngrams_per_second": 16.7}
    both = {"ngrams": 40, "cache_hits": 10, "cache_hit_rate": 0.25, "seconds": 2.0, "ngrams_per_second": 15.0}
    assert sum_counts([{"cslm": exact}, {"cslm": other}]) == {"cslm": both}
    assert sum_counts([{"recurrent": {"hypotheses": 2}}] * 3) == {"recurrent": {"hypotheses": 6}}
    assert sum_counts([{}, {}]) == {}
