"""Features, weights, n-best lists and the decode step, whole and in shards: byte for byte the same."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import check_refused
from tiny_models import GROUPS, SOURCE, TARGET, change_system, decode_in_shards, random_model, save_system

from neural_smt.decoding import search
from neural_smt.decoding.features import Weights, build_feature_set
from neural_smt.decoding.joining_steps import join_translations
from neural_smt.decoding.nbest import feature_matrix, read_nbest, write_nbest
from neural_smt.decoding.search import Decoder, SearchPlan, SearchSettings
from neural_smt.decoding.statistics import sum_counts
from neural_smt.decoding.steps import decode
from neural_smt.io.files import read_json, read_lines, write_json, write_lines
from neural_smt.io.ragged import Ragged
from neural_smt.phrases.table import PhraseTable, save_column
from neural_smt.shards import Shard


def test_features_are_those_of_moses():
    features = build_feature_set([*GROUPS, "encoder_decoder"])
    known = "LexicalReordering0 Distortion0 LM0 UnknownWordPenalty0 WordPenalty0 PhrasePenalty0 TranslationModel0"
    assert list(features.slices) == [*known.split(), "EncoderDecoder0"]
    assert features.size == 16 and features.tunable.sum() == 15
    assert features.names[6:9] == ["Distortion0", "LM0", "UnknownWordPenalty0"]
    assert features.names[11] == "TranslationModel0_0"
    vector = Weights.defaults(features).vector(features)
    assert vector.tolist() == [0.3] * 7 + [0.5, 1.0, -1.0, 0.2] + [0.2] * 5


def test_weights_go_through_json(tmp_path):
    features = build_feature_set(GROUPS)
    weights = Weights.from_vector(features, np.arange(15) / 8)
    weights.save(tmp_path / "weights.json")
    again = Weights.load(tmp_path / "weights.json")
    assert again == weights
    assert again.vector(features).tolist() == (np.arange(15) / 8).tolist()


@pytest.mark.parametrize("change", [{"LM0": (0.1, 0.2)}, {"LM7": (0.1,)}])
def test_weights_of_other_scores_are_refused(change):
    features = build_feature_set(GROUPS)
    check_refused(next(iter(change)), Weights(Weights.defaults(features).values | change).vector, features)


def test_nbest_lists_go_through_the_format_of_moses(tmp_path):
    model, weights = random_model(0)
    decoder = Decoder(model, SearchSettings(), weights)
    translations = decoder.decode([["a", "b"], [], ["c"]], nbest=4)
    write_nbest(tmp_path / "list.gz", translations, decoder.feature_set)
    entries = read_nbest(tmp_path / "list.gz")
    expected = [(number, entry) for number, t in enumerate(translations) for entry in t.nbest]
    assert [e.sentence for e in entries] == [number for number, _ in expected]
    assert [e.tokens for e in entries] == [entry.tokens for _, entry in expected]
    assert "UnknownWordPenalty0" not in entries[0].features
    shown = decoder.feature_set.tunable
    np.testing.assert_allclose(
        feature_matrix(entries, decoder.feature_set)[:, shown],
        np.array([entry.features for _, entry in expected])[:, shown],
        rtol=1e-5,
    )
    np.testing.assert_allclose([e.score for e in entries], [entry.score for _, entry in expected], rtol=1e-5)


def test_bad_nbest_line_is_named(tmp_path):
    (tmp_path / "list").write_text("0 ||| a b ||| LM0= -1 ||| -1\n1 ||| a ||| LM0= x ||| 2\n")
    check_refused(["list", "line 2"], read_nbest, tmp_path / "list")


@pytest.fixture(params=[(3, "cube"), (8, "stack")])
def system(tmp_path: Path, request: pytest.FixtureRequest) -> dict[str, Any]:
    """The files of a system with a score column as arguments of ``decode``; some of 70 sentences are equal or empty,
    some words are unknown.
    """
    seed, algorithm = request.param
    model, weights = random_model(seed, (*GROUPS, "encoder_decoder"))
    random = np.random.default_rng(seed)
    words = ["a", "a", "b", "b", "c", "new", "other", "third"]
    write_lines(tmp_path / "text", [" ".join(random.choice(words, random.integers(0, 9))) for _ in range(70)])
    files = save_system(tmp_path, model, weights, {"algorithm": algorithm, "stack_size": 20, "pop_limit": 50})
    return {"text": tmp_path / "text", **files, "nbest_size": 5}


@pytest.fixture
def outputs(tmp_path):
    return {"output": tmp_path / "output", "statistics": tmp_path / "statistics.json"}


def test_decode_step(system, outputs, tmp_path):
    write_lines(system["text"], ["a b c", "", "c unknown"])
    decode(**system, **outputs, nbest=tmp_path / "nbest", alignment=tmp_path / "alignment")
    lines = (tmp_path / "output").read_text().split("\n")
    assert len(lines) == 4 and lines[1] == "" and sorted(lines[2].split()) == ["c", "unknown"]
    assert len((tmp_path / "alignment").read_text().splitlines()) == 3
    assert {entry.sentence for entry in read_nbest(tmp_path / "nbest")} == {0, 1, 2}
    statistics = read_json(tmp_path / "statistics.json")
    assert statistics["sentences"] == 3 and statistics["unknown_words"] == 1


def test_decode_step_names_what_is_wrong(system, outputs, tmp_path):
    columns = read_json(system["system"])["columns"]
    change_system(system["system"], columns={})
    check_refused(["system.json", "encoder_decoder"], decode, **system, **outputs)
    change_system(system["system"], columns=columns)
    table = PhraseTable.load(tmp_path / "table")
    another = replace(table, target=Ragged(table.target.values[::-1].copy(), table.target.offsets))
    save_column(tmp_path / "EncoderDecoder0.safetensors", np.zeros(len(table), dtype=np.float32), another)
    check_refused(["EncoderDecoder0.safetensors", "another phrase table"], decode, **system, **outputs)
    TARGET.save(tmp_path / "source.tsv")
    check_refused("source vocabulary", decode, **system, **outputs)
    assert not (tmp_path / "output").exists()


SENTENCES = st.lists(st.lists(st.sampled_from("abc"), max_size=3), max_size=25)


@given(SENTENCES, st.integers(1, 7), st.integers(1, 9))
def test_shards_have_whole_batches_of_the_plan(sentences: list[list[str]], size: int, count: int) -> None:
    plan = SearchPlan.of(sentences, size)
    members = [plan.members(Shard(number, count)) for number in range(1, count + 1)]
    assert sorted(number for shard in members for number in shard) == list(range(len(sentences)))
    assert all(sentences[number] == sentences[same] for number, same in enumerate(plan.same))
    batches = {tuple(batch.tolist()) for batch in plan.batches}
    found = [
        tuple(np.array(shard)[batch].tolist())
        for shard in members
        for batch in SearchPlan.of([sentences[number] for number in shard], size).batches
    ]
    assert len(found) == len(batches) and set(found) == batches


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
    files |= {"parts": [tmp_path / "p"], "part_statistics": [tmp_path / "p.json"]}
    check_refused(["p", "shards", "text"], join_translations, **files)
    write_json(tmp_path / "p.json", {"sentences": 3})
    check_refused(["p.json", "statistics"], join_translations, **files)
    assert not (tmp_path / "o").exists()


def test_what_a_network_was_asked_is_added_up() -> None:
    exact = {"ngrams": 10, "cache_hits": 5, "cache_hit_rate": 0.5, "seconds": 0.5, "ngrams_per_second": 10.0}
    other = {"ngrams": 30, "cache_hits": 5, "cache_hit_rate": 0.1667, "seconds": 1.5, "ngrams_per_second": 16.7}
    both = {"ngrams": 40, "cache_hits": 10, "cache_hit_rate": 0.25, "seconds": 2.0, "ngrams_per_second": 15.0}
    assert sum_counts([{"cslm": exact}, {"cslm": other}]) == {"cslm": both}
    assert sum_counts([{"recurrent": {"hypotheses": 2}}] * 3) == {"recurrent": {"hypotheses": 6}}
    assert sum_counts([{}, {}]) == {}
