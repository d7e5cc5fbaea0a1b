"""What an update asks of a GPU, counted on the simulated one: kernels, copies, and calls that wait for it."""

import sys
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import fields
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch
from attention_world import decoding_settings, lively, random_sentences, random_sets
from training_runs import Inputs, arguments, sentences, write_ngrams, write_pairs, write_table

from neural_smt.decoding.attention.search import beam_search
from neural_smt.decoding.scorers.attention import AttentionPredictions, AttentionStates, AttentionTextScorer
from neural_smt.io.arrays import read_meta
from neural_smt.io.checkpoint import NAME as CHECKPOINT
from neural_smt.io.checkpoint import save_checkpoint
from neural_smt.io.files import read_yaml, write_lines
from neural_smt.io.ragged import Ragged, offsets_of
from neural_smt.networks import recurrence
from neural_smt.networks.encoder_decoder import EncoderDecoder, EncoderDecoderConfig
from neural_smt.networks.normalisers import Normalisers
from neural_smt.rescoring.scorer import PairScorer
from neural_smt.training.loop import Trainer
from neural_smt.training.steps import train_network

BUDGETS: dict[str, dict[str, Any]] = read_yaml(Path(__file__).with_name("budgets.yaml"))

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif("simulated_cuda" not in sys.modules, reason="counts on the simulated CUDA device alone"),
]


def write_phrases(folder: Path) -> Inputs:
    """Phrases of up to seven words."""
    random = np.random.default_rng(0)
    phrases = {tuple((random.zipf(1.3, length) % 2000).tolist()) for length in random.integers(1, 8, 1000)}
    return write_table(folder, sorted(phrases))


def write_sentences(folder: Path) -> Inputs:
    """Sentences of 5 to 40 words."""
    random = np.random.default_rng(0)
    lengths = random.integers(5, 41, 500)
    write_lines(folder / "text", sentences("w", [(random.zipf(1.3, length) % 2000).tolist() for length in lengths]))
    return {"texts": [folder / "text"]}


def write_long_pairs(folder: Path) -> Inputs:
    """Pairs of up to 50 words, each with words of its own that it is predicted from."""
    pairs, candidates = write_pairs(folder, words=3000, sizes=(400, 20), longest=50, frequent=200)
    return pairs | candidates


TEXTS: dict[str, Callable[[Path], Inputs]] = {
    "encoder_decoder": write_phrases,
    "cslm": write_ngrams,
    "recurrent": write_sentences,
    "attention": write_long_pairs,
}


@pytest.mark.parametrize("name", BUDGETS)
def test_an_update_costs_what_is_recorded(name: str, tmp_path: Path, simulation: Any) -> None:
    """Layers are small: what is counted does not depend on their sizes."""
    budget = BUDGETS[name]
    kind, settings = budget["kind"], budget["settings"]
    inputs, updates, update = TEXTS[kind](tmp_path), [], Trainer.update

    def counting(trainer: Trainer) -> None:
        before = {part.name: Counter(getattr(simulation, part.name)) for part in fields(simulation)}
        update(trainer)
        updates.append({part: getattr(simulation, part) - counts for part, counts in before.items()})

    with patch.object(Trainer, "update", counting):
        given = {"device": "cuda", "graphs": budget.get("graphs", False)}
        train_network(**arguments(kind, inputs, tmp_path, **settings) | given)
    # the first updates make what later ones find made
    found = {part: reduce(or_, [later[part] for later in updates[2:]]) for part in updates[0]}
    counts = {part: max(later[part].total() for later in updates[2:]) for part in ("launches", "uploads")}
    by_place = {part: dict(found[part]) for part in ("waits", "unaligned")}
    assert counts | by_place == {part: budget[part] for part in (*counts, *by_place)}, found["launches"].most_common(20)


def test_planted_faults_are_found(simulation: Any) -> None:
    there, here = torch.ones(3, device="cuda"), torch.ones(3)
    with pytest.raises(RuntimeError, match="CPU"):
        there + here
    with pytest.raises(TypeError, match="numpy"):
        there.numpy()
    assert not simulation.waits and simulation.uploads.total() == 0
    assert there.sum().item() == 3.0 and simulation.waits.total() == 1
    assert there[here > 0].tolist() == [1.0, 1.0, 1.0] and simulation.waits.total() == 3
    assert here.to("cuda").cpu().sum() == 3 and simulation.uploads.total() == 2 and simulation.waits.total() == 4
    wide = torch.ones(200, 4097, device="cuda", dtype=torch.bfloat16)
    assert (wide @ wide.t()).shape == (200, 200) and simulation.unaligned.total() == 1
    _ = wide[:, :4096].contiguous() @ wide[:, :4096].contiguous().t()
    assert simulation.unaligned.total() == 1


def test_a_graph_does_nothing_until_it_is_replayed(simulation: Any) -> None:
    total, numbers, graph = torch.zeros(2, device="cuda"), torch.ones(2, device="cuda"), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        total += 2 * numbers
    assert total.tolist() == [0, 0]
    numbers.fill_(3)
    launches = simulation.launches.total()
    graph.replay()
    graph.replay()
    assert total.tolist() == [12, 12] and simulation.launches.total() == launches + 2
    with pytest.raises(RuntimeError, match="not permitted when stream is capturing"), torch.cuda.graph(graph):
        torch.ones(2).to("cuda")


def test_a_chunk_of_pairs_travels_once_and_is_waited_for_once(simulation: Any) -> None:
    """All pairs of up to seven words whose sources go through the network together."""
    random = np.random.default_rng(1)
    lengths = random.integers(1, 8, (2, 300))
    source, target = (
        Ragged(random.integers(3, 30, of_side.sum(), dtype=np.int32), offsets_of(of_side)) for of_side in lengths
    )
    network = EncoderDecoder(EncoderDecoderConfig(30, 30, hidden=16, embedding=8, maxout=8, rank=8)).to("cuda")
    scorer = PairScorer(network, "bf16")
    before = simulation.uploads.total(), simulation.waits.total()
    scores, work = scorer.score(source, target, batch=1000)
    assert (simulation.uploads.total() - before[0], simulation.waits.total() - before[1]) == (1, 1)
    assert work.pairs == 300 and (scores < 0).all()


def test_checkpoints_are_written_while_updates_go_on(tmp_path: Path, simulation: Any) -> None:
    went_on, update, modes = threading.Event(), Trainer.update, []

    def noticing(trainer: Trainer) -> None:
        update(trainer)
        modes.append(torch.get_deterministic_debug_mode())
        if trainer.progress.updates == 4:
            went_on.set()

    def waiting(*arguments: Any) -> None:
        assert went_on.wait(20)
        save_checkpoint(*arguments)

    given = arguments("cslm", write_ngrams(tmp_path), tmp_path, updates=5, checkpoint_every=3, validate_every=0)
    with patch.object(Trainer, "update", noticing), patch("neural_smt.training.loop.save_checkpoint", waiting):
        train_network(**given | {"device": "cuda"})
    assert read_meta(tmp_path / "state" / CHECKPOINT)["progress"]["updates"] == 5
    # what PyTorch cannot repeat it warns of
    assert modes == [1] * 5 and torch.get_deterministic_debug_mode() == 0


def test_minibatches_are_packed_by_a_thread_one_ahead(tmp_path: Path) -> None:
    packed, pack, update, begun = [], Trainer._pack, Trainer.update, []

    def noticing(trainer: Trainer, number: int) -> Any:
        packed.append((number, threading.current_thread() is threading.main_thread(), len(begun)))
        return pack(trainer, number)

    def counting(trainer: Trainer) -> None:
        begun.append(trainer.progress.updates)
        update(trainer)

    given = arguments("cslm", write_ngrams(tmp_path), tmp_path, updates=4, validate_every=0)
    with patch.object(Trainer, "_pack", noticing), patch.object(Trainer, "update", counting):
        train_network(**given | {"device": "cuda"})
    assert [row[:2] for row in packed] == [(0, True), (1, False), (2, False), (3, False)]
    assert all(number <= before <= number + 1 for number, _, before in packed)


def test_without_triton_networks_train_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recurrence, "_kernels", recurrence._kernels.__wrapped__)
    monkeypatch.setattr(recurrence, "find_spec", lambda name: None)
    given = arguments("encoder_decoder", write_phrases(tmp_path), tmp_path, updates=2, validate_every=2)
    train_network(**given | {"device": "cuda"})
    assert (tmp_path / "model").exists()


def test_normalisers_take_as_much_room_as_there_are_contexts(simulation: Any) -> None:
    """And neither these nor their logits come back from the device on the way."""
    random = np.random.default_rng(0)
    weight, bias, inner = (
        torch.from_numpy(random.normal(size=size).astype(np.float32)) for size in ((15003, 8), (15003,), (14, 8))
    )
    normalisers, made, room = Normalisers(weight.to("cuda"), bias.to("cuda")), [], Normalisers._buffer
    there, before = inner.to("cuda"), (simulation.uploads.total(), simulation.waits.total())
    with patch.object(Normalisers, "_buffer", lambda self, count: made.append(room(self, count)) or made[-1]):
        found = normalisers(there)
    assert [buffer.shape for buffer in made] == [(14, 15003)]
    assert (simulation.uploads.total(), simulation.waits.total()) == before
    np.testing.assert_allclose(found.cpu(), (inner @ weight.T + bias).logsumexp(1), rtol=1e-5)


@pytest.mark.parametrize("limited", [False, True])
def test_a_step_of_a_beam_search_is_one_copy_each_way(limited: bool, simulation: Any) -> None:
    """Besides what a batch needs before its first step, and one copy more whenever half of its sentences have ended."""
    network, source = lively().float().to("cuda"), random_sentences(16, 20)
    sets, steps = random_sets(16, 400) if limited else None, []
    predict = AttentionTextScorer.predict

    def counting(scorer: AttentionTextScorer, states: AttentionStates) -> AttentionPredictions:
        steps.append((simulation.uploads.total(), simulation.waits.total()))
        return predict(scorer, states)

    with patch.object(AttentionTextScorer, "predict", counting):
        beam_search(network, source, decoding_settings(batch=16), sets)
    uploads, waits = np.diff(steps, axis=0)[1:].T
    assert len(steps) > 20 and set(waits.tolist()) == {1}
    assert set(uploads.tolist()) <= {1, 2} and uploads.sum() <= len(uploads) + np.log2(16)
