"""The kernels of the scorer, in float32, against the formula in float64."""

import numpy as np
import pytest
import torch
from torch import Tensor

from neural_smt.networks.attention.scorer import Memory, energies

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
