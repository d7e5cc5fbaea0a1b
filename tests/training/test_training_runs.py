"""Trainings of all kinds of networks: resuming, starting afresh, refusals."""

from pathlib import Path
from typing import Any

import pytest
from training_runs import Inputs, check_going_on, kill_at, train, weights

from neural_smt.errors import UserError


@pytest.mark.parametrize(
    ("kind", "settings", "updates"),
    [
        # before the first checkpoint, and between later ones
        ("encoder_decoder", {}, (5, 33, 47)),
        ("encoder_decoder", {"conventions": "paper", "keep": "best"}, (5, 33, 47)),
        ("encoder_decoder", {"unit": "tanh"}, (5, 33, 47)),
        ("cslm", {}, (5, 33, 47)),
        ("cslm", {"keep": "last", "validate_every": 0}, (5, 33, 47)),
        # in other epochs
        ("recurrent", {}, (5, 20, 31)),
        ("recurrent", {"optimiser": "sgd", "rate": 0.05}, (5, 20, 31)),
        # before and after embeddings are fixed
        ("attention", {}, (5, 20, 33)),
        ("attention", {"keep": "best", "fix_embeddings": 2}, (5, 20, 33)),
        ("attention", {"tau": 14}, (5, 20, 33)),
    ],
)
def test_a_killed_run_ends_as_one_never_killed(
    all_inputs: dict[str, Inputs],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    settings: dict[str, Any],
    updates: tuple[int, ...],
) -> None:
    given = all_inputs[kind] | (all_inputs["candidates"] if "fix_embeddings" in settings else {})
    check_going_on(lambda folder: train(kind, given, folder, **settings), tmp_path, monkeypatch, updates)


@pytest.mark.parametrize(
    ("kind", "shorter", "last", "other"),
    [
        ("encoder_decoder", {"updates": 30}, 29, {"clip": 0.5}),
        ("cslm", {"updates": 30}, 29, {"clip": 0.5}),
        ("recurrent", {"epochs": 2}, 19, {"bptt": 1}),
    ],
)
def test_longer_runs_go_on_and_others_start_afresh(
    all_inputs: dict[str, Inputs],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    shorter: dict[str, Any],
    last: int,
    other: dict[str, Any],
) -> None:
    given = all_inputs[kind]
    train(kind, given, tmp_path / "whole")
    train(kind, given, tmp_path / "longer", **shorter)
    with monkeypatch.context() as patch:
        kill_at(patch, last)  # never reached again
        train(kind, given, tmp_path / "longer")
    assert weights(tmp_path / "longer") == weights(tmp_path / "whole")
    train(kind, given, tmp_path / "other", **other)
    assert weights(tmp_path / "other") != weights(tmp_path / "whole")
    if kind == "cslm":
        train(kind, given | {"texts": given["texts"][:1]}, tmp_path / "other")
    train(kind, given, tmp_path / "other")
    assert weights(tmp_path / "other") == weights(tmp_path / "whole")
    train(kind, given, tmp_path / "other", seed=2)
    assert weights(tmp_path / "other") != weights(tmp_path / "whole")


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("encoder_decoder", {"layers": 2}, "settings: unknown key 'layers'"),
    ("encoder_decoder", {"updates": 0}, "settings.updates: 0 is less than the minimum of 1"),
    ("encoder_decoder", {"keep": "first"}, "settings.keep: 'first' is not one of"),
    ("encoder_decoder", {"validation_pairs": 0, "patience": 3}, "need held-out pairs"),
    ("encoder_decoder", {"validation_pairs": 10_000}, "hold out fewer than half"),
    ("encoder_decoder", {"conventions": "both"}, "settings.conventions: 'both' is not"),
    ("encoder_decoder", {"conventions": {"reset": "both"}}, "settings.conventions"),
    ("encoder_decoder", {"unit": "lstm"}, "settings.unit: 'lstm' is not one of"),
    ("encoder_decoder", {"direction": "sideways"}, "settings.direction: 'sideways' is not one of"),
    ("encoder_decoder", {"max_length": 1, "validation_pairs": 0, "hidden": 0}, "settings.hidden: 0 is less"),
    ("cslm", {"depth": 2}, "settings: unknown key 'depth'"),
    ("cslm", {"updates": 0}, "settings.updates: 0 is less than"),
    ("cslm", {"batch": 0}, "settings.batch: 0 is less than"),
    ("cslm", {"validation": 1.0}, "settings.validation: 1.0 is greater than or equal"),
    ("cslm", {"validation": 0}, "need held-out sentences"),
    ("cslm", {"ngram_order": -1}, "settings.ngram_order: -1 is less"),
    ("cslm", {"validation": 0.999}, "leaves none to train on"),
    ("cslm", {"layers": [5]}, r"settings.layers: \[5\] is too short"),
    ("cslm", {"layers": [5, 0]}, r"settings.layers.1: 0 is less"),
    ("cslm", {"order": 1}, "settings.order: 1 is less than the minimum of 2"),
    ("cslm", {"projection": 0}, "settings.projection: 0 is less"),
    ("cslm", {"initial_range": 0}, "settings.initial_range: 0 is less than or equal"),
    ("recurrent", {"layers": 2}, "settings: unknown key 'layers'"),
    ("recurrent", {"optimiser": "adam"}, "settings.optimiser: 'adam' is not one of"),
    ("recurrent", {"rate": 0}, "settings.rate: 0 is less than or equal"),
    ("recurrent", {"epochs": 0}, "settings.epochs: 0 is less"),
    ("recurrent", {"bptt": -1}, "settings.bptt: -1 is less"),
    ("recurrent", {"validation": 0}, "settings.validation: 0 is less than or equal"),
    ("recurrent", {"keep": "last"}, "settings: unknown key 'keep'"),
    ("recurrent", {"classes": {"method": "brown"}}, "settings.classes.method: 'brown' is not one of"),
    ("recurrent", {"classes": {"size": 4}}, "settings.classes: unknown key 'size'"),
    ("recurrent", {"classes": {"count": 100}}, "20 words to predict"),
    ("recurrent", {"direct_bits": 5}, "four times the 21 words"),
    ("attention", {"layers": 2}, "settings: unknown key 'layers'"),
    ("attention", {"hidden": 0}, "settings.hidden: 0 is less"),
    ("attention", {"batch": 0}, "settings.batch: 0 is less"),
    ("attention", {"fix_embeddings": -1}, "settings.fix_embeddings: -1 is less"),
    ("attention", {"average": -1}, "settings.average: -1 is less"),
    ("attention", {"tau": 15}, "tau is 15, but the network knows 14 target words"),
]


@pytest.mark.parametrize(("kind", "settings", "message"), REFUSED)
def test_bad_settings_are_refused(
    all_inputs: dict[str, Inputs], tmp_path: Path, kind: str, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        train(kind, all_inputs[kind], tmp_path, **settings)
    assert not (tmp_path / "model").exists()
