"""Training of recurrent models from text to a model folder; resuming; schedule; optimiser; measuring; refusals."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import training_runs
from refusals import check_refused
from torch import nn
from training_runs import Inputs

from neural_smt.experiment.settings import network_settings
from neural_smt.io.files import read_csv, read_json, write_lines
from neural_smt.io.ragged import Ragged
from neural_smt.io.tables import write_rows
from neural_smt.language_model.estimation import estimate
from neural_smt.language_model.model import NgramModel, measure_perplexity
from neural_smt.networks.folder import Trained
from neural_smt.networks.recurrent.configuration import RecurrentConfig, WordClasses
from neural_smt.networks.recurrent.network import RecurrentNetwork
from neural_smt.representations.steps import build_representation
from neural_smt.training import recurrent
from neural_smt.training.gradient_descent import EPSILON, GradientDescent, HalvingSchedule
from neural_smt.training.loop import Trainer
from neural_smt.training.recurrent import count_collisions, prepare
from neural_smt.training.steps import measure_network
from neural_smt.training.texts import draw_sentences
from neural_smt.vocabulary import UNK, Vocabulary

CPU = torch.device("cpu")


@pytest.fixture
def text(all_inputs: dict[str, Inputs]) -> Path:
    return all_inputs["recurrent"]["texts"][0]


def train(text: Path, folder: Path, further: dict[str, Any] | None = None, **settings: Any) -> None:
    training_runs.train("recurrent", {"texts": [text], **(further or {})}, folder, **settings)


def measure(output: Path, order: int = 5, **inputs: Any) -> None:
    measure_network(kind="recurrent", inputs=inputs, settings={"ngram_order": order}, output=output)


def test_a_small_run_beats_unigrams_and_says_what_it_did(text: Path, tmp_path: Path) -> None:
    train(text, tmp_path, epochs=12, classes={"method": "exchange", "count": 5}, rate=0.3)
    trained = Trained.load(tmp_path / "model", RecurrentNetwork, CPU)
    network, vocabulary = trained.network, trained.target
    lines = text.read_text().splitlines()
    everything = Vocabulary.from_sentences(lines)
    held_out = draw_sentences(everything.encode(lines), 0.1, 1)
    sentences = vocabulary.encode_words(lines)
    kept, chosen = (sentences.take(np.flatnonzero(part)) for part in (~held_out, held_out))
    # counts of words are those of the training sentences, which leave out words that occur once
    assert len(vocabulary) == 3 + 18 and not any(word.startswith("once") for word in vocabulary.words)
    assert vocabulary.counts[3:].tolist() == np.bincount(kept.values, minlength=21)[3:].tolist()
    found = read_json(tmp_path / "held_out.json")
    models = [NgramModel.from_tables(estimate(kept, order).tables, vocabulary) for order in (1, 3)]
    unigrams, trigrams = (measure_perplexity(model, chosen).value for model in models)
    assert found["network"] < 0.5 * unigrams
    assert found["ngram"] == pytest.approx(trigrams, abs=1e-3)
    curve = [float(row["validation_perplexity"]) for row in read_csv(tmp_path / "curve.csv")]
    assert found["network"] == pytest.approx(min(curve), rel=1e-4)
    assert found["mixture"] < 1.05 * min(found["network"], found["ngram"])
    assert (found["tokens"], found["unknown"]) == (len(chosen.values) + len(chosen), (chosen.values == UNK).sum())
    assert found["classes"]["method"] == "exchange" and found["classes"]["count"] == 5 == len(network.classes)
    assert 5 < found["classes"]["cost"] < 5 + 16
    assert found["direct_features"]["features"] > 100 and found["words_per_second"] > 0


def test_measuring_texts_agrees_with_training(text: Path, tmp_path: Path) -> None:
    train(text, tmp_path)
    lines = text.read_text().splitlines()
    held_out = draw_sentences(Vocabulary.from_sentences(lines).encode(lines), 0.1, 1)
    for name, part in (("rest", ~held_out), ("held_out", held_out)):
        write_lines(tmp_path / name, [lines[number] for number in np.flatnonzero(part)])
    texts = [tmp_path / "held_out", text]
    measure(tmp_path / "out.json", 3, model=tmp_path / "model", texts=texts, training=[tmp_path / "rest"])
    measured, expected = read_json(tmp_path / "out.json"), read_json(tmp_path / "held_out.json")
    assert measured["held_out"] == {name: expected[name] for name in measured["held_out"]}
    assert measured["text"]["sentences"] == 200


@pytest.fixture
def joint(tmp_path: Path) -> dict[str, Any]:
    """Random words s<i>, their translations t<i>, in order, and word vectors that are given or learned."""
    random = np.random.default_rng(1)
    lists = [random.integers(0, 18, length) for length in random.integers(1, 9, 300)]
    texts = {side: tmp_path / side for side in ("source", "target")}
    for side, path in texts.items():
        write_lines(path, training_runs.sentences(side[0], lists))
    write_lines(tmp_path / "alignment", [" ".join(f"{i}-{i}" for i in range(len(words))) for words in lists])
    for name, kind in (("given", "word_lsa"), ("learned", "learned")):
        settings = {"kind": kind, "dimensions": 12, "window": "c1"}
        places = {"output": tmp_path / name, "statistics": tmp_path / "statistics.json"}
        build_representation(settings=settings, **texts, **places, seed=1)
    return {"sources": [texts["source"]], "alignment": tmp_path / "alignment"}


@pytest.mark.parametrize("kind", ["given", "learned"])
def test_a_joint_model_knows_the_aligned_word(joint: dict[str, Any], tmp_path: Path, kind: str) -> None:
    """Target words are random, but for the source: only the end of the sentence (no links) is as unsure as it was."""
    target, folder = tmp_path / "target", tmp_path / "joint"
    settings = {"direct_bits": 0, "epochs": 15, "rate": 0.3}
    train(target, tmp_path / "alone", **settings)
    train(target, folder, further=joint | {"representation": tmp_path / kind}, **settings)
    alone, known = (read_json(path / "held_out.json") for path in (tmp_path / "alone", folder))
    assert alone["network"] > 10 and known["network"] < 2
    texts = {"texts": [target], "training": [target], "sources": joint["sources"], "alignments": [joint["alignment"]]}
    measure(tmp_path / "measured.json", model=folder / "model", representation=tmp_path / kind, **texts)
    assert read_json(tmp_path / "measured.json")["target"]["network"] < 2


def test_files_of_a_joint_model_must_go_together(joint: dict[str, Any], tmp_path: Path, text: Path) -> None:
    target, given = tmp_path / "target", {"representation": tmp_path / "given"}
    write_lines(tmp_path / "outside", ["40-40"] * 300)
    write_lines(tmp_path / "beside", ["40-0"] * 300)
    for trained, further, pieces in (
        (target, {}, ["source", "alignment"]),
        (text, joint, ["source", "300", "text", "200"]),
        (target, joint | {"alignment": tmp_path / "outside"}, ["outside", "not an alignment"]),
        (target, joint | {"alignment": tmp_path / "beside"}, ["beside", "not an alignment"]),
    ):
        check_refused(pieces, train, trained, tmp_path, further=given | further)
    train(target, tmp_path, epochs=1)
    given |= {"model": tmp_path / "model", "texts": [target], "training": [target]}
    check_refused(["representation", "joint"], measure, tmp_path / "out", **given)


def sides(text: Path, further: dict[str, Any] | None = None, seed: int = 1, **settings: Any) -> list[list[bytes]]:
    """The sentences that a network would learn from, and those held out."""
    given = {"settings": network_settings("recurrent", settings), "place": CPU, "seed": seed}
    training = prepare(texts=[text], **(further or {}), **given)
    return [[sentence.tobytes() for sentence in side] for side in training.data[:2]]


def words(side: list[bytes]) -> int:
    return sum(map(len, side)) // 4


def test_words_are_drawn_besides_those_held_out(tmp_path: Path) -> None:
    """Of 600 sentences of one to eight words, of which each stands there twice."""
    random = np.random.default_rng(2)
    lines = training_runs.sentences("w", [random.integers(0, 18, length) for length in random.integers(1, 9, 300)])
    write_lines(tmp_path / "text", lines * 2)
    kept, held_out = sides(tmp_path / "text", words=500, validation_words=200)
    assert abs(words(kept) - 500) < 20 and 200 <= words(held_out) < 220 and not {*kept} & {*held_out}
    assert sides(tmp_path / "text", words=500, validation_words=200) == [kept, held_out]
    assert sides(tmp_path / "text", seed=2, words=500, validation_words=200) != [kept, held_out]
    whole = sides(tmp_path / "text", words=10000, validation_words=200)
    assert sum(map(words, whole)) == 2 * sum(len(line.split()) for line in lines) and not {*whole[0]} & {*whole[1]}
    kept, held_out = sides(tmp_path / "text", words=900, validation=0.1)
    assert abs(words(kept) + words(held_out) - 1000) < 10 and abs(words(held_out) - 100) < 30


def test_a_joint_model_of_one_source_reads_its_lines_alone(joint: dict[str, Any], tmp_path: Path) -> None:
    """The pairs 100 to 199 are of another source, whose alignments would be refused."""
    write_rows(tmp_path / "in_domain.csv", ["source", "kept"], [["news", 100]])
    write_rows(tmp_path / "train.csv", ["source", "kept"], [["laws", 200], ["books", 200]])
    write_lines(tmp_path / "scores", [f"0.5\t{int(row < 100 or 200 <= row < 300)}" for row in range(400)])
    alignment = (tmp_path / "alignment").read_text().splitlines()
    write_lines(tmp_path / "alignment", [*alignment[:100], *["40-40"] * 100, *alignment[200:]])
    origins = [[tmp_path / "in_domain.csv"], [tmp_path / "train.csv", tmp_path / "scores"]]
    further = joint | {"representation": tmp_path / "learned", "origins": origins}
    kept, held_out = sides(tmp_path / "target", further, sources=["books", "news"])
    assert len(kept) + len(held_out) == 200
    chosen = sides(tmp_path / "target", further, sources=["news"])
    assert sum(map(words, chosen)) == sum(len(line.split()) for line in alignment[:100])
    for pieces, tables in ((["target", "300", "100"], origins[:1]), (["origins"], [])):
        check_refused(pieces, sides, tmp_path / "target", joint | {"origins": tables}, sources=["news"])


def test_the_rate_halves_and_training_stops_as_in_the_toolkit() -> None:
    parameters = {"w": nn.Parameter(torch.zeros(1))}
    optimiser = GradientDescent(parameters, 0.8)
    schedule = HalvingSchedule(optimiser, 0.8)
    perplexities = [math.exp(entropy) for entropy in (5.0, 4.0, 3.995, 3.9, 3.95)]
    rates, going_on = [], []
    for epochs in range(6):
        going_on.append(schedule.follow(perplexities[:epochs]))
        rates.append(optimiser.rate)
    # 4 to 3.995 is a gain of 0.13 %: from then on the rate halves; the fifth epoch is worse
    assert rates[:5] == [0.8, 0.8, 0.8, 0.4, 0.2]
    assert going_on == [True, True, True, True, True, False]
    assert not schedule.follow([20.0, math.nan, math.nan]), "what is no number is no gain"


def test_training_goes_back_to_the_best_weights(text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second epoch that seems worse is undone: the third starts from the weights of the first."""
    perplexities, seen = iter([10.0, 20.0, 9.0]), []
    monkeypatch.setattr(Trainer, "perplexity", lambda self: next(perplexities))
    original = Trainer.update

    def noted(self: Trainer) -> None:
        if self.progress.updates % self.task.updates_per_epoch == 0:
            seen.append(self.network.recurrent.detach().clone())
        original(self)

    monkeypatch.setattr(Trainer, "update", noted)
    train(text, tmp_path, epochs=3)
    assert not torch.equal(seen[0], seen[1]) and torch.equal(seen[1], seen[2])


@pytest.mark.parametrize("adaptive", [False, True])
def test_sparse_gradients_step_as_dense_ones(adaptive: bool) -> None:
    random = np.random.default_rng(0)
    dense, sparse = ({"single": nn.Parameter(torch.ones(40)), "rows": nn.Parameter(torch.ones(6, 3))} for _ in range(2))
    optimisers = [GradientDescent(parameters, 0.1, 0.0, adaptive) for parameters in (dense, sparse)]
    for _ in range(3):
        for name, size in (("single", 40), ("rows", 6)):
            index = torch.from_numpy(random.integers(0, size, 30))
            values = torch.from_numpy(random.normal(size=(30, *dense[name].shape[1:])).astype(np.float32))
            gradient = torch.sparse_coo_tensor(index[None], values, dense[name].shape, check_invariants=False)
            dense[name].grad, sparse[name].grad = gradient.to_dense(), gradient
        for optimiser in optimisers:
            assert optimiser.update() > 0
    for name in dense:
        torch.testing.assert_close(dense[name], sparse[name], rtol=1e-5, atol=1e-6)


def test_steps_are_those_of_the_formula() -> None:
    for adaptive, expected in ((False, 2 - 0.5 * (4 + 0.1 * 2)), (True, 2 - 0.5 * (4 / (4 + EPSILON) + 0.1 * 2))):
        weight = {"w": nn.Parameter(torch.tensor([2.0, 3.0]))}
        optimiser = GradientDescent(weight, 0.5, 0.1, adaptive)
        weight["w"].grad = torch.sparse_coo_tensor([[0, 0]], [3.0, 1.0], (2,), check_invariants=False)
        assert optimiser.update() == pytest.approx(math.sqrt(10))
        assert weight["w"].tolist() == [pytest.approx(expected), 3]
        weight["w"].grad = torch.tensor([math.nan, 1.0])
        assert not math.isfinite(optimiser.update())
        assert weight["w"].tolist() == [pytest.approx(expected), 3]


def test_collisions_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """One word and the end, in classes of their own: histories of lengths 0 and 1 at two predictions are 8 features."""
    classes = WordClasses(np.array([3, 2, 0], dtype=np.int32), np.array([0, 1, 2, 3]))
    sentences = Ragged.from_lists([[3], [3]])
    roomy = count_collisions(RecurrentConfig(4, 3, direct_size=1 << 26, direct_order=2), classes, sentences)
    assert roomy == {"features": 8, "sharing": 0}
    crowded = Ragged.from_lists([[3, 0], [3, 3, 3], [0, 3]])
    found = count_collisions(RecurrentConfig(4, 3, direct_size=16, direct_order=3), classes, crowded)
    assert 0 < found["sharing"] <= found["features"]
    monkeypatch.setattr(recurrent, "COUNTED", 2)
    assert count_collisions(RecurrentConfig(4, 3, direct_size=16, direct_order=3), classes, crowded) == found
    assert not any(count_collisions(RecurrentConfig(4, 3, direct_size=0), classes, sentences).values())
