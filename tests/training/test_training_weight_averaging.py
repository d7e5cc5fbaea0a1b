"""The running mean of weights: its numbers, and that it is the model of a run which is the same without it."""

import math
from pathlib import Path

import pandas as pd
import pytest
import torch
from torch import nn
from training_runs import Inputs, train

from neural_smt.io.arrays import read_arrays
from neural_smt.networks.folder import read_weights
from neural_smt.training.weight_averaging import DECAY, EVERY, WeightMean


def test_later_weights_count_more() -> None:
    """The t-th taking counts as much as there are ways to choose D of t + D - 1 things (the recursion, solved)."""
    parameter = nn.Parameter(torch.zeros(3, dtype=torch.float64))
    mean = WeightMean({"w": parameter})
    taken = []
    for update in range(1, 40 * EVERY + 5):
        with torch.no_grad():
            parameter.copy_(torch.tensor([update, math.sin(update), 1.0]))
        mean.follow(update)
        if update % EVERY == 0:
            taken.append(parameter.detach().clone())
    shares = torch.tensor([math.comb(t + DECAY - 1, DECAY) for t in range(1, len(taken) + 1)], dtype=torch.float64)
    expected = (shares[:, None] * torch.stack(taken)).sum(0) / shares.sum()
    torch.testing.assert_close(mean.tensors["w"], expected, rtol=1e-12, atol=1e-12)
    now = parameter.detach().clone()
    with mean.shown():
        assert torch.equal(parameter, mean.tensors["w"])
    assert torch.equal(parameter, now)


def test_before_the_first_taking_the_model_has_the_weights() -> None:
    parameter = nn.Parameter(torch.ones(3))
    mean = WeightMean({"w": parameter})
    mean.follow(EVERY - 1)
    with mean.shown():
        assert parameter.tolist() == [1, 1, 1]


@pytest.mark.parametrize("kind", ["encoder_decoder", "cslm", "attention"])
def test_the_mean_is_the_model_and_leaves_training_as_it_is(
    all_inputs: dict[str, Inputs], tmp_path: Path, kind: str
) -> None:
    """The weights themselves are those of a run without it, and held-out examples are predicted by the mean."""
    settings = {"keep": "last", "updates": 40, "validate_every": 20, "precision": "fp32"}
    train(kind, all_inputs[kind], tmp_path / "without", **settings)
    train(kind, all_inputs[kind], tmp_path / "with", **settings, average_weights=True)
    state = tmp_path / "with" / "state" / "checkpoint.safetensors"
    groups: dict[str, dict[str, torch.Tensor]] = {}
    for key, values in read_arrays(state, mapped=False).items():
        group, _, name = key.partition("/")
        groups.setdefault(group, {})[name] = torch.from_numpy(values)
    without, model = (read_weights(tmp_path / folder / "model") for folder in ("without", "with"))
    for name, own in model.items():
        assert torch.equal(groups["weights"][name], without[name])
        assert torch.equal(groups["mean"][name], own)
    assert any(not torch.equal(own, without[name]) for name, own in model.items())
    curves = [pd.read_csv(tmp_path / folder / "curve.csv") for folder in ("without", "with")]
    assert curves[0].train_cost.tolist() == curves[1].train_cost.tolist()
    assert (curves[0].validation_perplexity != curves[1].validation_perplexity).all()
