"""Scores of given translations under an attention network, against its pass over single pairs."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from attention_world import lively, log_probabilities, random_network, random_sentences, save_sets
from tiny_models import change_system, save_reranker

from neural_smt.decoding import nbest
from neural_smt.decoding.nbest import ListedTranslation, read_nbest, write_entries
from neural_smt.decoding.reranking_steps import join_scores, score_lists
from neural_smt.decoding.scorers import attention
from neural_smt.decoding.scorers.attention import AttentionTextScorer
from neural_smt.decoding.scorers.interface import SENTENCES
from neural_smt.errors import UserError
from neural_smt.io.files import write_lines
from neural_smt.io.ragged import Ragged
from neural_smt.networks.attention.network import AttentionNetwork, TrainedAttention, save_attention
from neural_smt.vocabulary import EOS, UNK, Vocabulary
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


def score_candidates(
    network: AttentionNetwork,
    source: Ragged,
    targets: Ragged,
    owner: np.ndarray,
    sets: CandidateSets | None = None,
    precision: str = "fp32",
    words: int | None = None,
) -> np.ndarray:
    """log p of the translations of some sentences; words: so many at most go through the network together."""
    scorer = AttentionTextScorer(network, source, sets, precision)
    scorer.words = words or scorer.words
    return scorer.score(targets, owner)[0]


def with_words(sets: CandidateSets, targets: Ragged, owner: np.ndarray) -> CandidateSets:
    """The sets with the words of all translations."""
    return attention.with_words(sets, targets.values, np.repeat(owner, targets.lengths))


def one_by_one(
    network: AttentionNetwork, source: Ragged, targets: Ragged, owner: np.ndarray, sets: CandidateSets | None = None
) -> np.ndarray:
    """log p of each translation from the network's own pass over that pair alone."""
    scores = []
    for sentence, words in zip(owner, targets, strict=True):
        own = None if sets is None else np.unique(sets.of(sentence)).astype(np.int64)
        scores.append(log_probabilities(network, source[sentence].tolist(), [tuple(words.tolist())], own)[0])
    return np.array(scores)


def few_words(count: int) -> CandidateSets:
    """UNK, EOS and two words in common, and a few for each."""
    random = np.random.default_rng(2)
    own = [np.unique(random.integers(5, 400, random.integers(0, 12))) for _ in range(count)]
    return CandidateSets(Ragged.from_lists(own), np.array([UNK, EOS, 3, 4], dtype=np.int32), 400)


def test_scores_are_those_of_the_pairs_one_by_one() -> None:
    network, source, (targets, owner) = lively(), random_sentences(25, 20), lists(25)
    keys = {(o, ids.tobytes()) for o, ids in zip(owner, targets, strict=True)}
    assert len(keys) < len(owner) and (targets.lengths == 0).any() and (source.lengths == 0).any()
    scores = score_candidates(network, source, targets, owner)
    assert scores.dtype == np.float64
    np.testing.assert_allclose(scores, one_by_one(network, source, targets, owner), rtol=1e-11)


def test_with_sets_the_softmax_is_over_the_set_and_all_words_of_the_list() -> None:
    network, source, (targets, owner) = lively(), random_sentences(25, 20), lists(25)
    sets = with_words(few_words(25), targets, owner)
    for sentence in range(25):
        listed = {word for row in np.flatnonzero(owner == sentence) for word in targets[row].tolist()}
        assert set(sets.of(sentence).tolist()) == set(few_words(25).of(sentence).tolist()) | listed
    scores = score_candidates(network, source, targets, owner, sets)
    np.testing.assert_allclose(scores, one_by_one(network, source, targets, owner, sets), rtol=1e-11)
    whole = CandidateSets.from_ids(Ragged.from_lists([sets.of(row) for row in range(len(sets))]), 400)
    np.testing.assert_allclose(score_candidates(network, source, targets, owner, whole), scores, rtol=1e-11)


def test_sets_keep_their_order_when_words_are_added() -> None:
    sets = CandidateSets(Ragged.from_lists([[9, 30], [], [7]]), np.array([UNK, EOS, 3], dtype=np.int32), 40)
    targets = Ragged.from_lists([[5, 3, 0, 30], [8, 5], [12], []])
    larger = with_words(sets, targets, np.array([0, 0, 1, 2]))
    assert [ids.tolist() for ids in larger.own] == [[5, 8, 9, 30], [12], [7]]
    assert larger.own.values.dtype == np.int32


@pytest.mark.parametrize("limited", [False, True])
def test_scores_depend_neither_on_the_batch_nor_on_the_order(limited: bool) -> None:
    count = SENTENCES + 20
    network, source, (targets, owner) = lively().float(), random_sentences(count, 20), lists(count)
    sets = with_words(few_words(count), targets, owner) if limited else None
    expected = score_candidates(network, source, targets, owner, sets)
    assert (targets.lengths + 1).sum() > 1000
    for words in (1, 40, 1000):
        found = score_candidates(network, source, targets, owner, sets, words=words)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    order = np.random.default_rng(3).permutation(len(owner))
    found = score_candidates(network, source, targets.take(order), owner[order], sets)
    np.testing.assert_allclose(found, expected[order], rtol=1e-5, atol=1e-5)


def test_prefixes_and_equal_translations_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    network = lively()
    rows: list[int] = []
    look = network.look
    monkeypatch.setattr(network, "look", lambda states, *rest: rows.append(len(states)) or look(states, *rest))
    source = Ragged.from_lists([[3, 4], [5], [6]])
    targets = Ragged.from_lists([[9, 4], [9, 5], [9, 4], [9], [9, 4], [8, 8, 8]])
    scores = score_candidates(network, source, targets, np.array([0, 0, 0, 0, 2, 2]))
    # nothing, "9", "9 4" and "9 5" of the first sentence; nothing, "9", "9 4", "8", "8 8" and "8 8 8" of the third
    assert rows == [2, 3, 4, 1]
    assert scores[0] == scores[2] != scores[4]


def test_bfloat16_is_near() -> None:
    network, source, (targets, owner) = lively().float(), random_sentences(10, 20), lists(10)
    for sets in (None, with_words(few_words(10), targets, owner)):
        exact = score_candidates(network, source, targets, owner, sets)
        rounded = score_candidates(network, source, targets, owner, sets, precision="bf16")
        np.testing.assert_allclose(rounded, exact, rtol=0.05, atol=0.3)
        assert (rounded != exact).any()


def test_nothing_to_score() -> None:
    none = np.zeros(0, dtype=np.int64)
    assert score_candidates(lively(), random_sentences(4, 20), Ragged.from_lists([]), none).tolist() == []


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("limited", [False, True])
def test_cuda_scores_as_the_cpu_does(limited: bool) -> None:
    network, source, (targets, owner) = lively(), random_sentences(25, 20), lists(25)
    sets = with_words(few_words(25), targets, owner) if limited else None
    expected = score_candidates(network, source, targets, owner, sets)
    found = score_candidates(network.to("cuda"), source, targets, owner, sets)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


TEXT = ["das Haus ist rot", "", "Berlin ist rot"]
KNOWN = Vocabulary.from_sentences(["das Haus ist rot"])
TARGET = Vocabulary.from_sentences(["the house is red", "the"])
LISTS = [
    (0, "the house is red"),
    (0, "the house is <unk>"),
    (0, "the building is red"),
    (0, "the house is red"),
    (1, ""),
    (2, "Berlin is red"),
    (2, ""),
    (2, "red"),
]


@pytest.fixture
def world(tmp_path: Path) -> dict[str, Any]:
    write_lines(tmp_path / "text", TEXT)
    entries = [
        ListedTranslation(sentence, words.split(), {"LM0": [-1.5 - n], "Attention0": [7.0]}, -3.0 - n)
        for n, (sentence, words) in enumerate(LISTS)
    ]
    write_entries(tmp_path / "nbest", entries)
    save_attention(tmp_path / "model", TrainedAttention(network(), KNOWN, TARGET))
    system = save_reranker(tmp_path / "system", tmp_path, network={"kind": "attention", "model": tmp_path / "model"})
    return {"system": system} | {name: tmp_path / name for name in ("nbest", "text", "output")}


def network() -> AttentionNetwork:
    return random_network(len(KNOWN), len(TARGET))


def expected_scores(own: Sequence[np.ndarray] | None = None) -> list[float]:
    """Of ``LISTS``, each pair alone; own: the target words of each sentence."""
    sources, made, scores = KNOWN.encode_words(TEXT), network().double(), []
    for sentence, words in LISTS:
        if words or TEXT[sentence]:
            target = TARGET.encode_words([words])[0].tolist()
            ids = None if own is None else own[sentence]
            scores.append(log_probabilities(made, sources[sentence].tolist(), [tuple(target)], ids)[0])
        else:
            scores.append(0.0)
    return scores


def test_lists_get_one_more_feature_and_stay_as_they_are(world: dict[str, Any]) -> None:
    score_lists(**world)
    before, after = read_nbest(world["nbest"]), read_nbest(world["output"])
    assert [replace(e, features={**e.features, "Attention0": [7.0]}) for e in after] == before
    scores = [entry.features["Attention0"][0] for entry in after]
    assert scores == pytest.approx(expected_scores(), rel=1e-4)
    # a word that the network does not know is its unknown word; an empty translation is one only of an empty sentence
    assert scores[0] == scores[3] and scores[4] == 0.0 and scores[6] < 0.0
    assert scores[2] == pytest.approx(scores_of_one("the <unk> is red"), rel=1e-4)


def scores_of_one(words: str) -> float:
    target = TARGET.ids(words.split())
    return log_probabilities(network().double(), KNOWN.ids(TEXT[0].split()).tolist(), [tuple(target.tolist())])[0]


def test_the_first_of_each_list_are_kept(world: dict[str, Any]) -> None:
    change_system(world["system"], nbest=2)
    score_lists(**world)
    listed = [(entry.sentence, " ".join(entry.tokens)) for entry in read_nbest(world["output"])]
    assert listed == [LISTS[n] for n in (0, 1, 4, 5, 6)]


def sets_of(folder: Path, lines: list[str], **origins: str) -> Path:
    """UNK and EOS for each line, and "house" for the second and the last."""
    return save_sets(folder, [[UNK, EOS], [UNK, EOS, 4], [UNK, EOS, 4]], lines, TARGET, **origins)


def test_the_words_of_a_sentence_are_its_set_and_those_of_its_kept_list(world: dict[str, Any], tmp_path: Path) -> None:
    candidates = sets_of(tmp_path / "sets", TEXT)
    words = [["the", "house", "is", "red"], [TARGET.words[4]], [TARGET.words[4], "is", "red"]]
    own = [np.unique([UNK, EOS, *TARGET.ids(listed)]) for listed in words]
    score_lists(**world, candidates=candidates)
    scores = [entry.features["Attention0"][0] for entry in read_nbest(world["output"])]
    assert scores == pytest.approx(expected_scores(own), rel=1e-4)
    change_system(world["system"], nbest=1)
    score_lists(**world, candidates=candidates)
    scores = [entry.features["Attention0"][0] for entry in read_nbest(world["output"])]
    assert scores == pytest.approx([expected_scores(own)[n] for n in (0, 4, 5)], rel=1e-4)


@pytest.mark.parametrize("limited", [False, True])
def test_shards_score_as_the_whole(
    world: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limited: bool
) -> None:
    monkeypatch.setattr(nbest, "BLOCK", 2)
    options = {"candidates": sets_of(tmp_path / "sets", TEXT)} if limited else {}
    change_system(world["system"], nbest=3)
    score_lists(**world, **options)
    for count in (1, 4, 16):
        parts = [tmp_path / f"{number}-of-{count}" for number in range(1, count + 1)]
        for part in parts:
            score_lists(**world | {"output": part}, **options, shard=part.name)
        join_scores(parts=parts, output=tmp_path / "joined")
        assert (tmp_path / "joined").read_bytes() == world["output"].read_bytes()
    scores = [entry.features["Attention0"][0] for entry in read_nbest(world["output"])]
    monkeypatch.setattr(nbest, "BLOCK", 100)
    score_lists(**world, **options)
    assert [entry.features["Attention0"][0] for entry in read_nbest(world["output"])] == pytest.approx(scores, rel=1e-4)
    assert len(scores) == 7


def test_sets_that_do_not_belong_are_refused(world: dict[str, Any], tmp_path: Path) -> None:
    refused = {
        "another source text": sets_of(tmp_path / "a", [*TEXT[:-1], "grün"]),
        "another network vocabulary": sets_of(tmp_path / "b", TEXT, vocabulary=KNOWN.digest),
        "holds the words of references": sets_of(tmp_path / "c", TEXT, reference="abc"),
    }
    for message, candidates in refused.items():
        with pytest.raises(UserError, match=message):
            score_lists(**world, candidates=candidates)
    assert not world["output"].exists()


def test_lists_of_another_text_are_refused(world: dict[str, Any]) -> None:
    write_lines(world["text"], TEXT[:2])
    with pytest.raises(UserError, match=r"nbest: a list of sentence 2, but .*text has 2; give the text of the lists"):
        score_lists(**world)


def test_lists_without_translations(world: dict[str, Any]) -> None:
    write_lines(world["nbest"], [])
    score_lists(**world)
    assert read_nbest(world["output"]) == []
