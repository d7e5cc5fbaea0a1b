"""Training of the CSLM from text to a model folder; resuming; refusals; one step in the paper's sizes."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from refusals import check_refused
from training_runs import Inputs, kill_at, train, weights

from neural_smt.experiment.settings import network_settings
from neural_smt.io.files import read_csv, read_json, write_lines
from neural_smt.io.ragged import Ragged
from neural_smt.language_model.estimation import estimate
from neural_smt.language_model.model import NgramModel, measure_perplexity
from neural_smt.networks.cslm import CslmConfig, CslmNetwork, CslmScorer, word_classes
from neural_smt.networks.folder import Trained
from neural_smt.training.cslm import NgramTask, measure_perplexities
from neural_smt.training.loop import Trainer
from neural_smt.training.optimisers import optimiser_of
from neural_smt.training.steps import measure_network
from neural_smt.training.tasks import BatchOrder
from neural_smt.training.texts import NgramText, split_sentences
from neural_smt.vocabulary import BOS, EOS, Vocabulary

KIND = "cslm"


def test_a_tiny_text_is_learnt_by_heart(tmp_path: Path) -> None:
    """A text in which three words settle the next one: its perplexity goes to that of the first words."""
    lines = ["a b c d e", "c b a e d", "e a d b c"] * 30
    write_lines(tmp_path / "text", lines)
    vocabulary = Vocabulary.from_sentences(lines)
    vocabulary.save(tmp_path / "vocabulary")
    paths = {"vocabulary": tmp_path / "vocabulary", "shortlist": tmp_path / "vocabulary"}
    settings = {"projection": 16, "layers": [24, 16], "validation": 0, "patience": 0, "keep": "last", "updates": 600}
    train("cslm", {"texts": [tmp_path / "text"], **paths}, tmp_path, **settings)
    trained = Trained.load(tmp_path / "model", CslmNetwork, torch.device("cpu"))
    model = NgramModel.from_tables(estimate(vocabulary.encode(lines), 2).tables, vocabulary)
    text = NgramText.of(vocabulary.encode(lines[:3]), 3)
    scores = CslmScorer(trained, model, vocabulary)(*text.ngrams(np.arange(len(text))))
    # Of a sentence's six predictions only the first is open, between three words.
    assert -scores.mean() == pytest.approx(math.log(3) / 6, abs=0.05)
    assert read_json(tmp_path / "held_out.json") == {}


def test_what_is_measured_beside_the_ngram_model(inputs: Inputs, tmp_path: Path) -> None:
    train("cslm", inputs, tmp_path, updates=200, precision="fp32")
    found = read_json(tmp_path / "held_out.json")
    vocabulary, shortlist = Vocabulary.load(inputs["vocabulary"]), Vocabulary.load(inputs["shortlist"])
    lines = [line for text in inputs["texts"] for line in text.read_text().splitlines()]
    kept, held_out = split_sentences(vocabulary.encode(lines), 0.1, 1)
    model = NgramModel.from_tables(estimate(kept, 4).tables, vocabulary)
    known = int((held_out.values < len(shortlist)).sum())
    sizes = {"sentences": len(held_out), "tokens": len(held_out.values) + len(held_out)}
    assert found.items() >= (sizes | {"covered": known + len(held_out), "ngram_order": 4}).items()
    assert len(held_out) >= 20
    assert found["ngram"] == pytest.approx(measure_perplexity(model, held_out).value, abs=1e-3)
    # The network alone, all words outside the shortlist being one class, is what stops the training.
    network = Trained.load(tmp_path / "model", CslmNetwork, torch.device("cpu")).network
    best = min(float(row["validation_perplexity"]) for row in read_csv(tmp_path / "curve.csv"))
    ids = Ragged(np.where(held_out.values < len(shortlist), held_out.values, 0).astype(np.int32), held_out.offsets)
    text = NgramText.of(ids, 3)
    task = NgramTask(network, text, text, BatchOrder(text.lengths, 64, 1))
    settings = network_settings("cslm", {})
    trainer = Trainer(task, settings, tmp_path / "unused", "unused", optimiser_of(network, settings))
    assert trainer.perplexity() == pytest.approx(best, abs=1e-3)
    assert found["alone"] == pytest.approx(best, abs=1e-3)
    assert found["network_covered"] > best
    for name in ("network", "network_renormalised", "mixture", "ngram_covered"):
        assert 1 < found[name] < 100
    # All n-grams of the model count in what it gives the shortlist, those that the held-out text lacks too.
    trained = Trained(network, shortlist)
    whole = measure_perplexities(trained, model, vocabulary, held_out, "fp32")
    for name in ("network", "network_renormalised", "mixture"):
        assert found[name] == pytest.approx(whole[name], abs=2e-3)
    # By the inequality of the two means, token by token.
    assert found["mixture"] <= (found["network_renormalised"] * found["ngram"]) ** 0.5 + 1e-3

    model.save(tmp_path / "ngram")
    paths = {"model": tmp_path / "model", "language_model": tmp_path / "ngram"}
    paths |= {name: inputs[name] for name in ("vocabulary", "texts")}
    output = tmp_path / "measured.json"
    measure_network(kind="cslm", inputs=paths, settings={"precision": "fp32"}, device="cpu", output=output)
    measured = read_json(output)
    assert list(measured) == ["a.txt", "b.txt"]
    assert measured["b.txt"]["sentences"] == 50
    expected = measure_perplexity(model, vocabulary.encode(lines[150:])).value
    assert measured["b.txt"]["ngram"] == pytest.approx(expected, abs=1e-3)


def test_a_run_without_comparison_is_the_same(inputs: Inputs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train("cslm", inputs, tmp_path)
    before = weights(tmp_path)
    kill_at(monkeypatch, 0)  # would be reached by a run from the start
    train("cslm", inputs, tmp_path, ngram_order=0)
    assert weights(tmp_path) == before
    assert list(read_json(tmp_path / "held_out.json")) == ["alone"]


def test_the_held_out_perplexity_does_not_depend_on_batches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sentences = Ragged.from_lists([list(range(3, 3 + length)) for length in (1, 7, 3, 0, 5)])
    text = NgramText.of(sentences, 3)
    network = CslmNetwork(CslmConfig(12, 4, 5, (6, 7), 0.5)).double()
    settings, found = network_settings("cslm", {}), []
    for size in (1024, 4, 1):
        monkeypatch.setattr(NgramTask, "held_out_batch", size)
        task = NgramTask(network, text, text, BatchOrder(text.lengths, 8, 1))
        assert sum(batch.words for batch in task.validation) == 21
        found.append(Trainer(task, settings, tmp_path, "unused", optimiser_of(network, settings)).perplexity())
    assert found[1:] == pytest.approx([found[0]] * 2, rel=1e-12)
    # Each sentence by itself: nothing of its neighbours is read.
    monkeypatch.setattr(NgramTask, "held_out_batch", 1024)
    total = 0.0
    for number in range(len(sentences)):
        part = NgramText.of(sentences.take(np.array([number])), 3)
        alone = NgramTask(network, part, part, BatchOrder(part.lengths, 8, 1))
        total += network(alone.validation[0].inputs).sum().item()
    assert math.exp(-total / 21) == pytest.approx(found[0], rel=1e-12)


def test_patience_counts_epochs_and_the_best_weights_are_kept(
    inputs: Inputs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[np.ndarray] = []

    def rising(self: Trainer) -> float:
        seen.append(self.network.output.bias.detach().clone().numpy())
        return 10.0 + self.progress.updates

    monkeypatch.setattr(Trainer, "perplexity", rising)
    train("cslm", inputs, tmp_path, validate_every=0, patience=2, updates=10_000)
    examples = [int(row["examples"]) for row in read_csv(tmp_path / "curve.csv")]
    assert examples == [examples[0], 2 * examples[0], 3 * examples[0]]
    kept = Trained.load(tmp_path / "model", CslmNetwork, torch.device("cpu")).network.output.bias.detach().numpy()
    np.testing.assert_array_equal(kept, seen[0])
    assert not np.array_equal(kept, seen[-1])


def test_ngrams_of_a_text() -> None:
    text = NgramText.of(Ragged.from_lists([[5, 6, 7], [], [8]]), 2)
    contexts, words = text.ngrams(np.arange(len(text)))
    assert words.tolist() == [5, 6, 7, EOS, EOS, 8, EOS]
    assert contexts.tolist() == [[BOS, BOS], [BOS, 5], [5, 6], [6, 7], [BOS, BOS], [BOS, BOS], [BOS, 8]]


def test_every_ngram_is_seen_once_an_epoch() -> None:
    text = NgramText.of(Ragged.from_lists(np.random.default_rng(0).integers(3, 9, (40, 4)).tolist()), 3)
    task = NgramTask(CslmNetwork(CslmConfig(9, 4, 2, (2, 2))), text, text, BatchOrder(text.lengths, 32, 1))
    assert task.updates_per_epoch == 7
    epochs = []
    for epoch in range(2):
        batches = [task.minibatch(7 * epoch + update) for update in range(7)]
        assert [batch.examples for batch in batches] == [32] * 6 + [8]
        inputs = [batch.inputs for batch in batches]
        rows = torch.cat([torch.cat((b.contexts, b.classes[:, None]), 1) for b in inputs])
        epochs.append(rows.tolist())
    contexts, words = text.ngrams(np.arange(len(text)))
    everything = sorted(np.column_stack((contexts, word_classes(words))).tolist())
    assert sorted(epochs[0]) == sorted(epochs[1]) == everything
    assert epochs[0] != epochs[1]


def test_a_text_without_sentences_is_refused(inputs: Inputs, tmp_path: Path) -> None:
    write_lines(tmp_path / "empty", [])
    check_refused(["empty", "no sentences"], train, KIND, inputs | {"texts": [tmp_path / "empty"]}, tmp_path)
