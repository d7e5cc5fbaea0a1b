"""How the recurrent network is trained: truncation, initial weights, and what is refused."""

import itertools

import numpy as np
import pytest
import torch
from network_cases import CASES, CLASSES, CPU
from torch import Tensor

from neural_smt.io.ragged import Ragged, offsets_of
from neural_smt.networks.recurrent.configuration import RecurrentConfig
from neural_smt.networks.recurrent.network import Backpropagation, Recurrence, RecurrentNetwork, pack_sentences


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


GPU = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")]
DEVICES = pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=GPU)])


def steps_of(sizes: list[int], device: str) -> tuple[list[int], Tensor]:
    return sizes, torch.from_numpy(offsets_of(np.array(sizes))).to(device)


@DEVICES
@pytest.mark.parametrize("bptt", [0, 1, 2, 3, 20])
def test_truncated_backpropagation_is_that_of_detached_chunks(bptt: int, device: str) -> None:
    sizes = [4, 4, 3, 2, 2, 1, 1]
    generator = torch.Generator().manual_seed(5)
    rows = sum(sizes), 5, sum(sizes)
    sums, weight, factors = (torch.randn(count, 5, generator=generator, dtype=torch.float64) for count in rows)
    results = []
    precise = torch.float64 if device == "cpu" else torch.float32
    ours = device, precise, Recurrence.apply, (*steps_of(sizes, device), bptt, 0.0)
    for where, dtype, function, further in (ours, ("cpu", torch.float64, steps_by_autograd, (sizes, bptt))):
        leaves = [leaf.to(where, dtype).requires_grad_() for leaf in (sums.clone(), weight.clone())]
        states = function(*leaves, *further)
        (states * factors.to(where, dtype)).sum().backward()
        results.append([states.detach(), *(leaf.grad for leaf in leaves)])
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one.cpu().to(precise), other.to(precise))


@DEVICES
def test_errors_are_cut_off(device: str) -> None:
    sums = torch.zeros(3, 2, device=device, requires_grad=True)
    states = Recurrence.apply(sums, torch.eye(2, device=device), *steps_of([1, 1, 1], device), 0, 0.5)
    states.backward(torch.tensor([[0.0, 1.0], [0.0, 0.0], [100.0, 1.0]], device=device))
    last = states[2, 1].item()
    assert sums.grad[2].tolist() == [0.5, pytest.approx(last * (1 - last))]
    assert sums.grad[1, 0].item() == pytest.approx(0.5 * (states[1, 0] * (1 - states[1, 0])).item())


def test_truncation_changes_gradients_of_long_sentences_only() -> None:
    case = CASES["recurrent"]
    network, gradients = case.random().float(), []
    for lengths, steps in itertools.product((5, 6), (0, 6)):
        network.zero_grad()
        network.backpropagation = Backpropagation(steps)
        example = np.arange(3, 3 + lengths), np.zeros((lengths + 1, 0), dtype=np.int64)
        network(case.pack([example], CPU)).sum().backward()
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
    network = CASES["inputs"].make()
    arrays, weights = network.arrays(), network.state_dict()
    assert arrays.keys() == weights.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, weights[name])


def test_what_does_not_fit_together_is_refused() -> None:
    with pytest.raises(ValueError, match="auxiliary input"):
        pack_sentences(CASES["inputs"].make().config, CLASSES, Ragged.from_lists([[3]]))
    with pytest.raises(ValueError, match="classes are not those"):
        RecurrentNetwork(RecurrentConfig(9, 4, direct_size=64), CLASSES)
