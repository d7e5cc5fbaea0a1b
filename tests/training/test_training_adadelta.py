"""AdaDelta against PyTorch's, row by row and as a whole; clipping."""

import math

import pytest
import torch
from torch import nn

from neural_smt.training import adadelta
from neural_smt.training.adadelta import AdaDelta, clipped_gradients


def test_dense_steps_are_those_of_torch() -> None:
    torch.manual_seed(0)
    mine = nn.Parameter(torch.randn(7, 3))
    theirs = nn.Parameter(mine.detach().clone())
    optimiser = AdaDelta({"w": mine})
    reference = torch.optim.Adadelta([theirs], lr=1.0, rho=0.95, eps=1e-6)
    for _ in range(50):
        theirs.grad = torch.randn(7, 3)
        reference.step()
        optimiser.step({"w": theirs.grad})
    torch.testing.assert_close(mine, theirs, rtol=1e-5, atol=1e-7)


def test_steps_do_not_depend_on_the_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    first = {"w": torch.randn(11, 6), "b": torch.randn(11), "s": torch.randn(())}
    steps = [{name: torch.randn_like(tensor) for name, tensor in first.items()} for _ in range(5)]
    results = []
    for tile in (1 << 17, 20, 1):
        monkeypatch.setattr(adadelta, "TILE", tile)
        parameters = {name: nn.Parameter(tensor.clone()) for name, tensor in first.items()}
        optimiser = AdaDelta(parameters)
        for step in steps:
            optimiser.step(step)
        results.append(parameters)
    for tiled in results[1:]:
        assert all(torch.equal(tiled[name], results[0][name]) for name in first)


def test_the_first_step_by_hand() -> None:
    weight = nn.Parameter(torch.tensor([1.0], dtype=torch.float64))
    AdaDelta({"w": weight}).step({"w": torch.tensor([2.0], dtype=torch.float64)})
    expected = 1.0 - math.sqrt(1e-6) / math.sqrt(0.05 * 4.0 + 1e-6) * 2.0
    assert weight.item() == pytest.approx(expected, rel=1e-14)


def test_sparse_steps_equal_dense_ones() -> None:
    """Rows that are rarely seen, a dense gradient in between (as after a non-finite norm), and rows never seen."""
    torch.manual_seed(1)
    sparse = nn.Parameter(torch.randn(20, 4, dtype=torch.float64))
    dense = nn.Parameter(sparse.detach().clone())
    by_rows, whole = AdaDelta({"w": sparse}), AdaDelta({"w": dense})
    for update in range(60):
        gradient = torch.zeros(20, 4, dtype=torch.float64)
        rows = torch.randperm(15)[:3]
        gradient[rows] = torch.randn(3, 4, dtype=torch.float64)
        by_rows.step({"w": gradient if update == 30 else gradient.to_sparse(1).coalesce()})
        whole.step({"w": gradient})
    torch.testing.assert_close(sparse, dense, rtol=1e-12, atol=1e-15)


def test_sparse_steps_of_vectors_equal_dense_ones() -> None:
    """A bias whose gradient is sparse; rows not seen keep their bits, and those of their averages."""
    torch.manual_seed(1)
    sparse = nn.Parameter(torch.randn(20, dtype=torch.float64))
    first = sparse.detach().clone()
    dense = nn.Parameter(first.clone())
    by_rows, whole = AdaDelta({"b": sparse}), AdaDelta({"b": dense})
    for _ in range(60):
        gradient = torch.zeros(20, dtype=torch.float64)
        gradient[torch.randperm(15)[:3]] = torch.randn(3, dtype=torch.float64)
        by_rows.step({"b": gradient.to_sparse().coalesce()})
        whole.step({"b": gradient})
    torch.testing.assert_close(sparse, dense, rtol=1e-12, atol=1e-15)
    assert torch.equal(sparse[15:], first[15:])
    assert not by_rows.squared_gradients["b"][15:].any()
    assert not by_rows.seen["b"][15:].any()


def test_state_can_be_saved_and_loaded() -> None:
    torch.manual_seed(2)
    first = {"e": nn.Parameter(torch.randn(6, 2)), "w": nn.Parameter(torch.randn(3))}
    optimiser = AdaDelta(first)

    def gradients() -> dict[str, torch.Tensor]:
        rows = torch.tensor([[1, 4]])
        return {"e": torch.sparse_coo_tensor(rows, torch.randn(2, 2), (6, 2)).coalesce(), "w": torch.randn(3)}

    for _ in range(3):
        optimiser.step(gradients())
    second = {name: nn.Parameter(parameter.detach().clone()) for name, parameter in first.items()}
    resumed = AdaDelta(second)
    resumed.load({name: tensor.clone() for name, tensor in optimiser.tensors().items()}, optimiser.updates)
    for _ in range(3):
        step = gradients()
        optimiser.step(step)
        resumed.step(step)
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_clipping_scales_dense_and_sparse_gradients_together() -> None:
    embedding, weight = nn.Parameter(torch.zeros(5, 1)), nn.Parameter(torch.zeros(1))
    # Word 2 is seen twice: its gradients add up before the norm is taken.
    embedding.grad = torch.sparse_coo_tensor(torch.tensor([[2, 2]]), torch.tensor([[1.0], [2.0]]), (5, 1))
    weight.grad = torch.tensor([4.0])
    gradients, norm = clipped_gradients({"e": embedding, "w": weight}, 1.0)
    assert norm == pytest.approx(5.0)
    assert gradients["e"].to_dense()[2].item() == pytest.approx(0.6)
    assert gradients["w"].item() == pytest.approx(0.8)


def test_a_gradient_that_is_not_finite_shrinks_the_weights() -> None:
    embedding, weight = nn.Parameter(torch.ones(2, 1)), nn.Parameter(torch.tensor([3.0]))
    embedding.grad = torch.sparse_coo_tensor(torch.tensor([[0]]), torch.tensor([[float("nan")]]), (2, 1))
    weight.grad = torch.tensor([1.0])
    gradients, norm = clipped_gradients({"e": embedding, "w": weight}, 1.0)
    assert math.isnan(norm)
    assert gradients["e"].tolist() == [[pytest.approx(0.1)], [pytest.approx(0.1)]]
    assert gradients["w"].item() == pytest.approx(0.3)


def test_a_gradient_that_is_not_finite_can_keep_to_its_rows() -> None:
    embedding, weight = nn.Parameter(torch.ones(3, 2)), nn.Parameter(torch.tensor([3.0]))
    embedding.grad = torch.sparse_coo_tensor(torch.tensor([[1]]), torch.tensor([[float("inf"), 1.0]]), (3, 2))
    weight.grad = torch.tensor([1.0])
    gradients, norm = clipped_gradients({"e": embedding, "w": weight}, 1.0, rows_only=True)
    assert math.isinf(norm)
    assert gradients["e"].indices().tolist() == [[1]]
    torch.testing.assert_close(gradients["e"].values(), torch.full((1, 2), 0.1))
    assert gradients["w"].item() == pytest.approx(0.3)


def test_fixed_parameters_take_no_part() -> None:
    fixed, weight = nn.Parameter(torch.ones(2)), nn.Parameter(torch.tensor([3.0]))
    weight.grad = torch.tensor([0.5])
    gradients, norm = clipped_gradients({"fixed": fixed, "w": weight}, 1.0)
    assert list(gradients) == ["w"]
    assert norm == pytest.approx(0.5)
