"""The recurrent network against its equations; masking; both ways of computing its softmax; gradients."""

import itertools
from typing import Any

import numpy as np
import pytest
import torch
from network_cases import dense
from recurrent_reference import random_weights, reference_scores
from torch import Tensor

from neural_smt.io.ragged import Ragged
from neural_smt.networks.recurrent.configuration import RecurrentConfig, WordClasses
from neural_smt.networks.recurrent.network import (
    Backpropagation,
    Recurrence,
    RecurrentNetwork,
    SentenceBatch,
    pack_sentences,
)

CPU = torch.device("cpu")
CLASSES = WordClasses(np.array([3, 5, 0, 2, 6, 4, 7, 8], dtype=np.int32), np.array([0, 2, 3, 8]))
"""Nine words in classes of two, one (``UNK``) and five."""

SENTENCES = Ragged.from_lists([[3, 0, 4, 5, 5, 8], [], [7], [6, 4, 0, 0, 3, 4, 6, 7, 3], [8, 8, 3], [4, 5, 6]])
TOKENS = len(SENTENCES.values) + len(SENTENCES)

KINDS: dict[str, dict[str, Any]] = {
    "plain": {"direct_size": 0},
    "direct": {"direct_size": 128},
    "unigrams": {"direct_size": 64, "direct_order": 1},
    "inputs": {"direct_size": 128, "slots": 2, "dimensions": 3},
    "learned": {"direct_size": 0, "slots": 2, "dimensions": 3, "input_rows": 5},
}


def build(kind: str) -> tuple[RecurrentNetwork, dict[str, np.ndarray], np.ndarray | None, Tensor | None, np.ndarray]:
    """A network with random weights, these, the rows and the table of its inputs, and the inputs themselves."""
    config = RecurrentConfig(9, 3, **({"hidden": 6} | KINDS[kind]))
    random = np.random.default_rng(3)
    weights = random_weights(config, 4)
    if config.input_rows:
        weights["input_table"] = random.normal(size=(5, 3)).astype(np.float32)
    network = RecurrentNetwork(config, CLASSES)
    network.load_state_dict({name: torch.from_numpy(value) for name, value in weights.items()})
    if config.inputs == 0:
        return network, weights, None, None, np.zeros((TOKENS, 0))
    rows = random.integers(0, 5, (TOKENS, 2)).astype(np.int32)
    given = None if config.input_rows else torch.from_numpy(random.normal(size=(5, 3)).astype(np.float32))
    table = weights["input_table"] if given is None else given.numpy()
    return network, weights, rows, given, table[rows].reshape(TOKENS, -1)


def pack(network: RecurrentNetwork, sentences: Ragged, rows: np.ndarray | None, table: Tensor | None) -> SentenceBatch:
    return pack_sentences(network.config, network.classes, sentences, CPU, rows, table)


def in_order(scores: Tensor, batch: SentenceBatch) -> np.ndarray:
    result = np.empty(len(scores))
    result[batch.tokens] = scores.detach().numpy()
    return result


@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_those_of_the_equations(kind: str) -> None:
    network, weights, rows, table, inputs = build(kind)
    batch = pack(network, SENTENCES, rows, table)
    found = in_order(network(batch), batch)
    parts = np.split(inputs, np.cumsum(SENTENCES.lengths + 1)[:-1])
    expected = [
        reference_scores(network.config, CLASSES, weights, words.tolist(), part)
        for words, part in zip(SENTENCES, parts, strict=True)
    ]
    np.testing.assert_allclose(found, np.concatenate(expected), rtol=1e-5, atol=2e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_both_softmaxes_and_their_gradients_are_equal(kind: str) -> None:
    """Pairs in float64 against groups and kernels in float32, whose scores are those of the equations."""
    network, _, rows, table, _ = build(kind)
    double = build(kind)[0].double()
    weighting = torch.linspace(-1, 2, TOKENS)
    batch = pack(network, SENTENCES, rows, table)
    scores = network(batch)
    scores.mul(weighting).sum().backward()
    wide = batch._replace(inputs=batch.inputs.double()) if table is not None else batch
    expected = double(wide)
    expected.mul(weighting.double()).sum().backward()
    torch.testing.assert_close(scores.double(), expected, rtol=1e-5, atol=1e-5)
    for (name, one), other in zip(network.named_parameters(), double.parameters(), strict=True):
        torch.testing.assert_close(dense(one.grad).double(), dense(other.grad), rtol=1e-4, atol=1e-5, msg=name)


@pytest.mark.parametrize("kind", ["direct", "learned"])
def test_gradients_are_those_of_finite_differences(kind: str) -> None:
    network, _, rows, table, _ = build(kind)
    network.double()
    batch = pack(network, SENTENCES, rows, table)
    network(batch).sum().backward()
    random = np.random.default_rng(0)
    for name, parameter in network.named_parameters():
        gradient, flat = dense(parameter.grad).reshape(-1), parameter.data.reshape(-1)
        chosen = random.choice(len(flat), min(len(flat), 30), replace=False)
        if name == "direct":
            chosen = np.union1d(chosen, np.flatnonzero(gradient.numpy())[::7])
        for place in chosen.tolist():
            sums = []
            for step in (1e-5, -1e-5):
                flat[place] += step
                sums.append(network(batch).sum().item())
                flat[place] -= step
            assert gradient[place].item() == pytest.approx((sums[0] - sums[1]) / 2e-5, rel=1e-5, abs=1e-7), name


@pytest.mark.parametrize("kind", ["inputs", "learned"])
def test_states_do_not_leak_and_order_does_not_matter(kind: str) -> None:
    network, _, rows, table, _ = build(kind)
    batch = pack(network, SENTENCES, rows, table)
    together = np.split(in_order(network(batch), batch), np.cumsum(SENTENCES.lengths + 1)[:-1])
    starts = np.concatenate([[0], np.cumsum(SENTENCES.lengths + 1)])
    for number, scores in enumerate(together):
        alone = pack(network, SENTENCES.take(np.array([number])), rows[starts[number] : starts[number + 1]], table)
        np.testing.assert_allclose(in_order(network(alone), alone), scores, rtol=1e-6, atol=1e-6)
    turned = np.arange(len(SENTENCES))[::-1]
    other_rows = np.concatenate([rows[starts[number] : starts[number + 1]] for number in turned])
    batch = pack(network, SENTENCES.take(turned), other_rows, table)
    np.testing.assert_allclose(in_order(network(batch), batch), np.concatenate(together[::-1]), rtol=1e-6, atol=1e-6)


def steps_by_autograd(sums: Tensor, weight: Tensor, sizes: list[int], bptt: int) -> Tensor:
    states, start = [], 0
    for step, size in enumerate(sizes):
        total = sums[start : start + size]
        if states:
            before = states[-1].detach() if bptt and step % bptt == 0 else states[-1]
            total = total + before[:size] @ weight.t()
        states.append(total.sigmoid())
        start += size
    return torch.cat(states)


@pytest.mark.parametrize("bptt", [0, 1, 2, 3, 20])
def test_truncated_backpropagation_is_that_of_detached_chunks(bptt: int) -> None:
    sizes = [4, 4, 3, 2, 2, 1, 1]
    generator = torch.Generator().manual_seed(5)
    sums, weight, factors = (
        torch.randn(size, 5, generator=generator, dtype=torch.float64) for size in (sum(sizes), 5, sum(sizes))
    )
    results = []
    for function in (
        lambda *tensors: Recurrence.apply(*tensors, sizes, bptt, 0.0),
        lambda *t: steps_by_autograd(*t, sizes, bptt),
    ):
        leaves = [sums.clone().requires_grad_(), weight.clone().requires_grad_()]
        states = function(*leaves)
        (states * factors).sum().backward()
        results.append([states.detach(), *(leaf.grad for leaf in leaves)])
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other)


def test_errors_are_cut_off() -> None:
    sums = torch.zeros(3, 2, requires_grad=True)
    states = Recurrence.apply(sums, torch.eye(2), [1, 1, 1], 0, 0.5)
    states.backward(torch.tensor([[0.0, 1.0], [0.0, 0.0], [100.0, 1.0]]))
    last = states[2, 1].item()
    assert sums.grad[2].tolist() == [0.5, pytest.approx(last * (1 - last))]
    assert sums.grad[1, 0].item() == pytest.approx(0.5 * (states[1, 0] * (1 - states[1, 0])).item())


def test_truncation_changes_gradients_of_long_sentences_only() -> None:
    network = build("plain")[0]
    gradients = []
    for lengths, steps in itertools.product((5, 6), (0, 6)):
        network.zero_grad()
        network.backpropagation = Backpropagation(steps)
        network(pack(network, Ragged.from_lists([[3, 4, 5, 6, 7, 8][:lengths]]), None, None)).sum().backward()
        gradients.append(network.recurrent.grad.clone())
    assert torch.equal(gradients[0], gradients[1])
    assert not torch.equal(gradients[2], gradients[3])


def test_initial_weights_are_sums_of_three_and_reproducible() -> None:
    config = RecurrentConfig(9, 3, hidden=200, direct_size=64)
    network = RecurrentNetwork(config, CLASSES, seed=1)
    values = network.recurrent.detach()
    assert values.abs().max() < 0.3 and values.std().item() == pytest.approx(0.1, rel=0.02)
    assert not network.direct.any()
    assert torch.equal(values, RecurrentNetwork(config, CLASSES, seed=1).recurrent)
    assert not torch.equal(values, RecurrentNetwork(config, CLASSES, seed=2).recurrent)


def test_arrays_are_the_weights() -> None:
    network, weights, _, _, _ = build("inputs")
    arrays = network.arrays()
    assert arrays.keys() == weights.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, weights[name])


def test_what_does_not_fit_together_is_refused() -> None:
    network = build("inputs")[0]
    with pytest.raises(ValueError, match="auxiliary input"):
        pack_sentences(network.config, CLASSES, SENTENCES, CPU)
    with pytest.raises(ValueError, match="classes are not those"):
        RecurrentNetwork(RecurrentConfig(9, 4, direct_size=64), CLASSES)
