"""Scores of given translations under an attention network, against its pass over single pairs."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import attention_world as toys
import numpy as np
import pytest
import torch
from attention_world import KNOWN, TARGET
from candidates import whole_sets
from refusals import check_refused
from tiny_models import change_system, save_reranker, score_in_shards

from neural_smt.decoding import nbest
from neural_smt.decoding.nbest import ListedTranslation, read_nbest, write_entries
from neural_smt.decoding.reranking_steps import score_lists
from neural_smt.decoding.scorers.attention import AttentionTextScorer, with_words
from neural_smt.decoding.scorers.interface import SENTENCES, WORDS
from neural_smt.io.files import write_lines
from neural_smt.io.ragged import Ragged
from neural_smt.networks.attention.network import AttentionNetwork
from neural_smt.networks.folder import Trained
from neural_smt.vocabulary import EOS, UNK
from neural_smt.vocabulary_selection.candidates import CandidateSets


def lists(count: int, seed: int = 7) -> tuple[Ragged, np.ndarray]:
    """For each of ``count`` sentences up to nine translations of up to seven words, some of which begin alike, some
    equal, some without words; and the sentence of each.
    """
    random = np.random.default_rng(seed)
    targets: list[Sequence[int]] = []
    owner = []
    for sentence in range(count):
        common = [UNK, *random.integers(3, 400, 5).tolist()]
        for _ in range(random.integers(1, 10)):
            shared = common[: random.integers(0, 6)]
            targets.append([*shared, *random.integers(3, 6, random.integers(0, 3)).tolist()])
            owner.append(sentence)
    return Ragged.from_lists(targets), np.array(owner)


def scores(
    network: AttentionNetwork, source: Ragged, targets: Ragged, owner: np.ndarray, *options: Any, words: int = WORDS
) -> np.ndarray:
    """log p of the translations of some sentences; words: so many at most go through the network together."""
    scorer = AttentionTextScorer(network, source, *options)
    scorer.words = words
    return scorer.score(targets, owner)[0]


def one_by_one(
    network: AttentionNetwork, source: Ragged, targets: Ragged, owner: np.ndarray, sets: CandidateSets | None = None
) -> list[float]:
    """log p of each translation from the network's own pass over that pair alone."""
    own = [None if sets is None else np.unique(sets.of(sentence)).astype(np.int64) for sentence in range(len(source))]
    pairs = zip(owner, targets, strict=True)
    return [toys.log_probabilities(network, source[o].tolist(), [tuple(ids.tolist())], own[o])[0] for o, ids in pairs]


def material(
    count: int, limited: bool, readout: str = "current"
) -> tuple[AttentionNetwork, Ragged, Ragged, np.ndarray, CandidateSets | None]:
    """A network and translations of ``count`` sentences with their owners; limited: and the target words of each, those
    of its translations among them.
    """
    targets, owner = lists(count)
    of_word = np.repeat(owner, targets.lengths)
    sets = with_words(toys.random_sets(count, 400), targets.values, of_word) if limited else None
    return toys.lively(readout), toys.random_sentences(count, 20), targets, owner, sets


@pytest.mark.parametrize("limited", [False, True])
@pytest.mark.parametrize("readout", ["current", "previous"])
def test_scores_are_those_of_the_pairs_one_by_one(limited: bool, readout: str) -> None:
    network, source, targets, owner, sets = given = material(25, limited, readout)
    keys = {(o, ids.tobytes()) for o, ids in zip(owner, targets, strict=True)}
    assert len(keys) < len(owner) and (targets.lengths == 0).any() and (source.lengths == 0).any()
    found = scores(*given)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, one_by_one(*given), rtol=1e-11)
    if sets is not None:
        for sentence in range(25):
            listed = {word for row in np.flatnonzero(owner == sentence) for word in targets[row].tolist()}
            assert set(sets.of(sentence).tolist()) == set(toys.random_sets(25, 400).of(sentence).tolist()) | listed
        whole = whole_sets(Ragged.from_lists([sets.of(row) for row in range(len(sets))]), 400)
        np.testing.assert_allclose(scores(network, source, targets, owner, whole), found, rtol=1e-11)


def test_a_network_that_goes_from_right_to_left_is_asked_about_mirrored_translations() -> None:
    network, source, targets, owner, sets = material(25, limited=True)
    mirrored = Ragged.from_lists([ids[::-1] for ids in targets])
    expected = scores(network, source, mirrored, owner, sets)
    network.config = replace(network.config, order="right_to_left")
    np.testing.assert_array_equal(scores(network, source, targets, owner, sets), expected)


def test_sets_keep_their_order_when_words_are_added() -> None:
    sets = CandidateSets(Ragged.from_lists([[9, 30], [], [7]]), np.array([UNK, EOS, 3], dtype=np.int32), 40)
    targets = Ragged.from_lists([[5, 3, 0, 30], [8, 5], [12], []])
    larger = with_words(sets, targets.values, np.repeat([0, 0, 1, 2], targets.lengths))
    assert [ids.tolist() for ids in larger.own] == [[5, 8, 9, 30], [12], [7]]
    assert larger.own.values.dtype == np.int32


@pytest.mark.parametrize("limited", [False, True])
def test_scores_depend_neither_on_the_batch_nor_on_the_order(limited: bool) -> None:
    network, source, targets, owner, sets = material(SENTENCES + 20, limited)
    expected = scores(network.float(), source, targets, owner, sets)
    assert (targets.lengths + 1).sum() > 1000
    for words in (1, 40, 1000):
        found = scores(network, source, targets, owner, sets, words=words)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    order = np.random.default_rng(3).permutation(len(owner))
    found = scores(network, source, targets.take(order), owner[order], sets)
    np.testing.assert_allclose(found, expected[order], rtol=1e-5, atol=1e-5)


def test_prefixes_and_equal_translations_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    network = toys.lively()
    rows: list[int] = []
    look = network.look
    monkeypatch.setattr(network, "look", lambda states, *rest: rows.append(len(states)) or look(states, *rest))
    source = Ragged.from_lists([[3, 4], [5], [6]])
    targets = Ragged.from_lists([[9, 4], [9, 5], [9, 4], [9], [9, 4], [8, 8, 8]])
    found = scores(network, source, targets, np.array([0, 0, 0, 0, 2, 2]))
    # nothing, "9", "9 4" and "9 5" of the first sentence; nothing, "9", "9 4", "8", "8 8" and "8 8 8" of the third
    assert rows == [2, 3, 4, 1]
    assert found[0] == found[2] != found[4]


@pytest.mark.parametrize("limited", [False, True])
def test_bfloat16_is_near(limited: bool) -> None:
    network, *given = material(10, limited)
    exact, rounded = (scores(network.float(), *given, precision) for precision in ("fp32", "bf16"))
    np.testing.assert_allclose(rounded, exact, rtol=0.05, atol=0.3)
    assert (rounded != exact).any()


def test_nothing_to_score() -> None:
    none = np.zeros(0, dtype=np.int64)
    assert scores(toys.lively(), toys.random_sentences(4, 20), Ragged.from_lists([]), none).tolist() == []


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("limited", [False, True])
def test_cuda_scores_as_the_cpu_does(limited: bool) -> None:
    network, *given = material(25, limited)
    expected = scores(network, *given)
    np.testing.assert_allclose(scores(network.to("cuda"), *given), expected, rtol=1e-9)


TEXT = ["das Haus ist rot", "", "Berlin ist rot"]
LISTS = [(0, f"the {words}") for words in ("house is red", "house is <unk>", "building is red", "house is red")]
LISTS += [(1, ""), (2, "Berlin is red"), (2, ""), (2, "red")]


@pytest.fixture
def world(tmp_path: Path) -> dict[str, Any]:
    write_lines(tmp_path / "text", TEXT)
    entries = [
        ListedTranslation(sentence, words.split(), {"LM0": [-1.5 - n], "Attention0": [7.0]}, -3.0 - n)
        for n, (sentence, words) in enumerate(LISTS)
    ]
    write_entries(tmp_path / "nbest", entries)
    Trained(toys.small_network(), KNOWN, TARGET).save(tmp_path / "model")
    network = {"kind": "attention", "model": tmp_path / "model"}
    system = save_reranker(tmp_path / "system", tmp_path, networks=[network])
    return {"system": system} | {name: tmp_path / name for name in ("nbest", "text", "output")}


def score_world(world: dict[str, Any], **options: Any) -> list[float]:
    """Score the lists; the network's scores."""
    score_lists(**world, **options)
    return [entry.features["Attention0"][0] for entry in read_nbest(world["output"])]


def expected_scores(own: Sequence[np.ndarray] | None = None, listed: Sequence[tuple[int, str]] = LISTS) -> list[float]:
    """Each pair alone; own: the target words of each sentence."""
    made, found = toys.small_network().double(), []
    for sentence, words in listed:
        source, target = KNOWN.ids(TEXT[sentence].split()).tolist(), tuple(TARGET.ids(words.split()).tolist())
        ids = None if own is None else own[sentence]
        found.append(toys.log_probabilities(made, source, [target], ids)[0] if words or source else 0.0)
    return found


def test_lists_get_one_more_feature_and_stay_as_they_are(world: dict[str, Any]) -> None:
    found = score_world(world)
    before, after = read_nbest(world["nbest"]), read_nbest(world["output"])
    assert [replace(e, features={**e.features, "Attention0": [7.0]}) for e in after] == before
    assert found == pytest.approx(expected_scores(), rel=1e-4)
    # a word that the network does not know is its unknown word; an empty translation is one only of an empty sentence
    assert found[0] == found[3] and found[4] == 0.0 and found[6] < 0.0
    assert found[2] == pytest.approx(expected_scores(listed=[(0, "the <unk> is red")])[0], rel=1e-4)


def test_networks_of_one_kind_have_features_of_their_own(world: dict[str, Any], tmp_path: Path) -> None:
    network = toys.small_network()
    network.config = replace(network.config, order="right_to_left")
    Trained(network, KNOWN, TARGET).save(tmp_path / "backwards")
    both = [{"kind": "attention", "model": tmp_path / name} for name in ("model", "backwards")]
    world["system"] = save_reranker(tmp_path / "both", tmp_path, networks=both)
    expected = score_world(world), [entry.features["Attention1"][0] for entry in read_nbest(world["output"])]
    mirrored = [(sentence, " ".join(words.split()[::-1])) for sentence, words in LISTS]
    assert expected[0] == pytest.approx(expected_scores(), rel=1e-4)
    assert expected[1] == pytest.approx(expected_scores(listed=mirrored), rel=1e-4)
    assert expected[0] != expected[1]


def sets_of(folder: Path) -> Path:
    """UNK and EOS for each line, and "house" for the second and the last."""
    return toys.save_sets(folder, [[UNK, EOS], [UNK, EOS, 4], [UNK, EOS, 4]], TEXT)


def test_the_words_of_a_sentence_are_its_set_and_those_of_its_kept_list(world: dict[str, Any], tmp_path: Path) -> None:
    candidates = sets_of(tmp_path / "sets")
    words = [["the", "house", "is", "red"], [TARGET.words[4]], [TARGET.words[4], "is", "red"]]
    own = [np.unique([UNK, EOS, *TARGET.ids(listed)]) for listed in words]
    expected = expected_scores(own)
    assert score_world(world, candidates=candidates) == pytest.approx(expected, rel=1e-4)
    change_system(world["system"], nbest=1)
    kept = [expected[n] for n in (0, 4, 5)]
    assert score_world(world, candidates=candidates) == pytest.approx(kept, rel=1e-4)


def test_shards_score_as_the_whole(world: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world["candidates"] = sets_of(tmp_path / "sets")
    change_system(world["system"], nbest=3)
    expected = score_world(world)
    assert len(expected) == 7
    monkeypatch.setattr(nbest, "BLOCK", 2)
    del world["output"]
    for count in (1, 4, 16):
        score_in_shards(world, tmp_path, count)
    found = [entry.features["Attention0"][0] for entry in read_nbest(tmp_path / "whole.gz")]
    assert found == pytest.approx(expected, rel=1e-4)


def test_sets_that_do_not_belong_are_refused(world: dict[str, Any], tmp_path: Path) -> None:
    for pieces, candidates in toys.misfits(tmp_path, TEXT).items():
        check_refused(pieces, score_lists, **world, candidates=candidates)
    assert not world["output"].exists()


def test_lists_of_another_text_are_refused(world: dict[str, Any]) -> None:
    write_lines(world["text"], TEXT[:2])
    check_refused(["nbest", "sentence 2", "text", 2], score_lists, **world)


def test_lists_without_translations(world: dict[str, Any]) -> None:
    write_lines(world["nbest"], [])
    score_lists(**world)
    assert read_nbest(world["output"]) == []
