"""Training of attention networks: what an update touches, resuming, fixed embeddings, learning, refusals."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from refusals import check_refused
from torch.utils._python_dispatch import TorchDispatchMode
from training_runs import SETTINGS, Inputs, train, weights

from neural_smt.experiment.settings import network_settings
from neural_smt.io.files import read_csv, read_lines, write_lines
from neural_smt.io.ragged import Ragged
from neural_smt.networks.attention.network import AttentionConfig, AttentionNetwork
from neural_smt.networks.device import CPU
from neural_smt.networks.folder import Trained
from neural_smt.training import attention
from neural_smt.training.attention import AttentionTask, SentencePairs
from neural_smt.training.loop import Trainer
from neural_smt.training.optimisers import AdaDelta
from neural_smt.vocabulary import EOS, UNK
from neural_smt.vocabulary_selection.candidates import CandidateSets

KIND = "attention"


def sentence_pairs(count: int, words: int, seed: int = 0) -> SentencePairs:
    """Random sentences of 1 to 6 words; their sets hold the words of the reference and a few others."""
    random = np.random.default_rng(seed)
    source, target = (
        Ragged.from_lists([random.integers(3, words, random.integers(1, 7)) for _ in range(count)]) for _ in range(2)
    )
    own = Ragged.from_lists([np.setdiff1d([*line, *random.integers(3, words, 3)], [3, 4]) for line in target])
    return SentencePairs(source, target, CandidateSets(own, np.array([UNK, EOS, 3, 4], dtype=np.int32), words))


def trainer_of(pairs: SentencePairs, words: int, folder: Path, **settings: Any) -> Trainer:
    """Of batches that are not filled up, on any processor."""
    chosen = network_settings("attention", SETTINGS["attention"] | {"precision": "fp32"} | settings)
    network = AttentionNetwork(AttentionConfig(words, words, 8, 6, 7, 5, 4), seed=2)
    task = AttentionTask(network, pairs, pairs, chosen, seed=3)
    parameters = dict(network.named_parameters())
    trainer = Trainer(task, chosen, folder, "run", AdaDelta(parameters, 1e-6, 1.0, rows_only=True))
    task.filled = ""
    return trainer


def state_of(trainer: Trainer) -> dict[str, torch.Tensor]:
    """A copy of all weights and averages."""
    weights = {f"weights.{name}": tensor for name, tensor in trainer.network.state_dict().items()}
    return {name: tensor.clone() for name, tensor in (weights | trainer.optimiser.tensors()).items()}


@pytest.mark.parametrize("finite", [True, False])
def test_rows_outside_the_batch_keep_their_bits(tmp_path: Path, finite: bool) -> None:
    words = 300
    trainer = trainer_of(sentence_pairs(100, words), words, tmp_path, batch=4)
    if not finite:
        # in the gradients, not in the weights
        trainer.network.scorer_energy.register_hook(lambda gradient: gradient * torch.inf)
    for update in range(6):
        batch = trainer.task.minibatch(update).inputs
        seen = dict.fromkeys(("output.weight", "output.bias"), batch.vocabulary.ids)
        seen |= {f"{side}_embedding.weight": getattr(batch.pairs, side).words for side in ("source", "target")}
        before = state_of(trainer)
        trainer.update()
        after = state_of(trainer)
        for key, old in before.items():
            name = key.partition(".")[2]
            if name in seen:
                outside = torch.ones(words, dtype=torch.bool)
                outside[seen[name]] = False
                assert outside.sum() > 200, "nothing to look at"
                assert torch.equal(after[key][outside], old[outside]), key
        ids, key = batch.vocabulary.ids, "weights.output.weight"
        assert not finite or (after[key][ids] != before[key][ids]).any(1).all()
    assert trainer.progress.non_finite == (0 if finite else 6)


def test_the_words_of_a_batch_are_the_union_of_its_sets(tmp_path: Path) -> None:
    pairs = sentence_pairs(100, 60)
    task = trainer_of(pairs, 60, tmp_path, batch=8).task
    assert len(task.order.lengths) < 100  # some are too long
    unions = set()
    for update in range(2 * task.updates_per_epoch):
        rows = task.order.rows(update)
        expected = sorted(set().union(*(pairs.sets.of(row).tolist() for row in rows)))
        batch = task.minibatch(update).inputs
        assert batch.vocabulary.ids.tolist() == expected
        wanted = batch.pairs.target.words
        assert torch.equal(batch.vocabulary.ids[batch.vocabulary.words], wanted)
        assert batch.vocabulary.allowed is None
        unions.add(tuple(expected))
    assert len(unions) > 1.5 * task.updates_per_epoch  # other ones in the second epoch


@pytest.mark.parametrize("reshuffle", [False, True])
def test_the_words_of_a_batch_are_those_of_its_part(tmp_path: Path, reshuffle: bool) -> None:
    pairs = replace(sentence_pairs(100, 60), sets=None)
    trainer = trainer_of(pairs, 60, tmp_path, batch=4, tau=40, reshuffle=reshuffle)
    task, epoch = trainer.task, trainer.task.updates_per_epoch
    found = []
    for update in range(2 * epoch):
        batch = task.minibatch(update).inputs
        ids = batch.vocabulary.ids
        assert len(ids) == 40
        assert torch.equal(ids[batch.vocabulary.words], batch.pairs.target.words)
        found.append(tuple(ids.tolist()))
    assert 2 < len(set(found[:epoch])) < epoch  # several parts of several batches
    assert (found[:epoch] == found[epoch:]) == (not reshuffle)
    assert task.minibatch(0).inputs.vocabulary.ids.tolist() == list(found[0])
    trainer.update()


def test_held_out_sentences_keep_to_their_own_sets(tmp_path: Path) -> None:
    pairs = sentence_pairs(100, 60)
    trainer = trainer_of(pairs, 60, tmp_path)
    total = 0.0
    with torch.no_grad():
        for row in range(100):
            alone = SentencePairs(*(side.take([row]) for side in (pairs.source, pairs.target)))
            ids = pairs.sets.of(row).astype(np.int64)
            batch = attention.pack_batch(alone.source, alone.target, torch.device("cpu"), ids)
            total += trainer.network(batch).double().sum().item()
    words = len(pairs.target.values) + 100
    assert trainer.perplexity() == pytest.approx(np.exp(-total / words), rel=1e-6)


def test_uncovered_words_are_counted() -> None:
    sets = CandidateSets(Ragged.from_lists([[5, 7], [], [6]]), np.array([0, 2, 3], dtype=np.int32), 10)
    target = Ragged.from_lists([[5, 3, 9, 0], [5, 5, 3], [6]])
    assert SentencePairs(target, target, sets).uncovered() == 3
    assert SentencePairs(target, target).uncovered() == 0


def test_embeddings_stay_when_they_are_fixed(tmp_path: Path) -> None:
    trainer = trainer_of(sentence_pairs(100, 60), 60, tmp_path, fix_embeddings=1)
    first = trainer.network.target_embedding.weight.detach().clone()
    for _ in range(trainer.task.updates_per_epoch):
        trainer.update()
    assert not torch.equal(trainer.network.target_embedding.weight, first)
    before = state_of(trainer)
    trainer.update()
    after = state_of(trainer)
    changed = {name for name, tensor in before.items() if not torch.equal(tensor, after[name])}
    learnt = ("output.weight", "inner.weight", "hidden_readout.weight", "decoder.input_weight")
    assert {f"weights.{name}" for name in learnt} <= changed
    assert not any(name.startswith("weights.") and "embedding" in name for name in changed)


def test_epochs_end_the_training(inputs: Inputs, tmp_path: Path) -> None:
    train("attention", inputs, tmp_path, epochs=2, validate_every=0)
    short = sum(len(line.split()) <= 5 for line in read_lines(inputs["source"]))
    rows = [(int(row["examples"]), row["epochs"]) for row in read_csv(tmp_path / "curve.csv")]
    assert rows == [(short, "1.0000"), (2 * short, "2.0000")]


def test_from_right_to_left_is_what_mirrored_text_teaches(inputs: Inputs, tmp_path: Path) -> None:
    sides = ("target", "held_out_target")
    for side in sides:
        write_lines(tmp_path / side, (" ".join(line.split()[::-1]) for line in read_lines(inputs[side])))
    train("attention", inputs, tmp_path / "order", updates=6, order="right_to_left")
    train("attention", inputs | {side: tmp_path / side for side in sides}, tmp_path / "text", updates=6)
    assert weights(tmp_path / "order") == weights(tmp_path / "text")
    curves = [read_csv(tmp_path / name / "curve.csv")[-1]["validation_perplexity"] for name in ("order", "text")]
    assert curves[0] == curves[1]
    assert Trained.load(tmp_path / "order" / "model", AttentionNetwork, CPU).network.config.order == "right_to_left"


def test_sets_of_another_text_are_refused(inputs: Inputs, candidates: Inputs, tmp_path: Path) -> None:
    whole, other = CandidateSets.load(candidates["candidates"]), tmp_path / "other"
    CandidateSets(whole.own, whole.common, whole.size, {"vocabulary": "another"}).save(other)
    for wrong, pieces in (
        (candidates["held_out_candidates"], ["20 sentences", "200"]),
        (other, "made with another network vocabulary"),
    ):
        check_refused(pieces, train, "attention", inputs | candidates | {"candidates": wrong}, tmp_path)


def test_words_spelt_like_a_reserved_entry_are_unknown(inputs: Inputs, tmp_path: Path) -> None:
    """The end symbol stands at the end only."""
    results = []
    for word in ("</s>", "unheard"):
        folder = tmp_path / word.strip("</>")
        for side in ("source", "target"):
            write_lines(folder / side, (f"{line} {word}" for line in read_lines(inputs[side])))
        changed = {side: folder / side for side in ("source", "target")}
        train("attention", inputs | changed, folder, updates=2)
        results.append(weights(folder))
    assert results[0] == results[1]


class LargeResults(TorchDispatchMode):
    """Notes the operations with a dense result of at least ``size`` numbers."""

    def __init__(self, size: int):
        super().__init__()
        self.size = size
        self.operations: set[str] = set()

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(tensor, torch.Tensor) and not tensor.is_sparse and tensor.numel() >= self.size:
                self.operations.add(function.overloadpacket.__name__)
        return result


def test_no_update_touches_more_than_the_rows_of_its_batch(tmp_path: Path) -> None:
    words = 200_000
    trainer = trainer_of(sentence_pairs(60, words), words, tmp_path, batch=4)
    trainer.update()  # makes room for the averages
    with LargeResults(words) as limited:
        trainer.update()
    # views of the tables, and writing rows into them
    assert limited.operations <= {"detach", "alias", "index_add_", "index_put_", "_index_put_impl_"}
    trainer.task.text = replace(trainer.task.text, sets=None)
    with LargeResults(words) as full:
        trainer.update()
    assert full.operations & {"mm", "addmm", "_linear_pointwise"}
