"""The kernels of the scorer, in float32, against the formula in float64."""

import numpy as np
import pytest
import torch
from torch import Tensor

from neural_smt.networks.attention.decoder import Memory, add_gradients, energies

ROWS, LENGTH, UNITS = 5, 7, 33


def random_tensors(count: int = ROWS) -> tuple[Tensor, Memory, Tensor]:
    """Queries, memory (whose annotations are not read) and v; sentence i has ``LENGTH - i`` words."""
    random = np.random.default_rng(4)
    arrays = (random.normal(0, 2, shape) for shape in ((count, UNITS), (ROWS, LENGTH, UNITS), (UNITS,)))
    queries, keys, energy = (torch.from_numpy(array.astype(np.float32)) for array in arrays)
    padding = torch.arange(LENGTH) >= LENGTH - torch.arange(ROWS)[:, None]
    return queries, Memory(keys, keys, padding), energy


def test_energies_are_those_of_the_formula() -> None:
    queries, memory, energy = random_tensors()
    keys, padding = memory[1:]
    expected = (keys.double() + queries.double()[:, None]).tanh() @ energy.double()
    found = energies(queries, memory, energy)
    assert found.dtype == torch.float32
    assert (found[padding] == -torch.inf).all()
    np.testing.assert_allclose(found[~padding], expected[~padding], atol=2e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_rows_look_where_their_owner_is(dtype: torch.dtype) -> None:
    queries, memory, energy = random_tensors(9)
    queries, energy = queries.to(dtype), energy.to(dtype)
    memory = Memory(*(part.to(dtype) for part in memory[:2]), memory.padding)
    owner = torch.tensor([3, 3, 0, 1, 4, 4, 4, 2, 0])
    found = energies(queries, memory, energy, owner)
    for row, place in enumerate(owner):
        alone = energies(queries[row : row + 1], memory.take(place[None]), energy)
        np.testing.assert_allclose(found[row], alone[0], rtol=1e-6)


def test_large_numbers_and_small_ones() -> None:
    values = torch.tensor([[0.0, 1e-6, -1e-6, 0.5, -0.5, 9.0, -9.0, 60.0, -60.0, 1e30, -1e30]])
    none = torch.zeros(1, values.shape[1], dtype=torch.bool)
    keys = values[:, :, None].contiguous()
    found = energies(torch.zeros(1, 1), Memory(keys, keys, none), torch.ones(1))
    np.testing.assert_allclose(found, values.double().tanh(), atol=2e-7)


def test_gradients_are_those_of_autograd() -> None:
    queries, memory, energy = random_tensors()
    keys, padding = memory[1:]
    outer = torch.from_numpy(np.random.default_rng(6).normal(size=(ROWS, LENGTH))).masked_fill(padding, 0)
    exact = [part.double().requires_grad_() for part in (queries, keys, energy)]
    (((exact[1] + exact[0][:, None]).tanh() @ exact[2]) * outer).sum().backward()
    before = torch.ones_like(keys)
    d_queries, d_keys, d_energy = torch.full_like(queries, 7.0), before.clone(), torch.ones_like(energy)
    add_gradients(outer.float(), queries, memory, energy, d_queries, d_keys, d_energy)
    found = (d_queries, d_keys - 1, d_energy - 1)
    for name, own, expected in zip(("queries", "keys", "v"), found, exact, strict=True):
        np.testing.assert_allclose(own, expected.grad, atol=2e-5, err_msg=name)
    assert (d_keys[padding] == before[padding]).all()
