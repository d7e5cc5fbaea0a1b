"""Training from a phrase table to a model folder; resuming; refusals."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from killed_runs import check_going_on, kill_at, places, weights

from neural_smt.errors import UserError
from neural_smt.io.files import read_csv, read_lines, write_lines
from neural_smt.networks.encoder_decoder import load_model
from neural_smt.phrases.moses_format import moses_vocabularies, read_moses
from neural_smt.training.checkpoint import NAME
from neural_smt.training.loop import Trainer
from neural_smt.training.steps import train_network

SETTINGS: dict[str, Any] = {
    "hidden": 8,
    "embedding": 6,
    "maxout": 5,
    "rank": 4,
    "batch": 16,
    "updates": 60,
    "validation_pairs": 40,
    "validate_every": 20,
    "checkpoint_every": 7,
}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A table of word-by-word translations: source word s<i> becomes target word t<i>."""
    folder = tmp_path_factory.mktemp("inputs")
    random = np.random.default_rng(0)
    phrases = sorted({tuple(random.integers(0, 12, random.integers(1, 4)).tolist()) for _ in range(500)})
    lines = []
    for phrase in phrases:
        source, target = (" ".join(f"{side}{word}" for word in phrase) for side in "st")
        links = " ".join(f"{i}-{i}" for i in range(len(phrase)))
        lines.append(f"{source} ||| {target} ||| 1 1 1 1 ||| {links} ||| 1 1 1 ||| |||")
    write_lines(folder / "table.txt", sorted(lines))
    vocabularies = moses_vocabularies(folder / "table.txt")
    read_moses(folder / "table.txt", None, *vocabularies).save(folder / "table")
    for vocabulary, side in zip(vocabularies, ("source", "target"), strict=True):
        vocabulary.save(folder / side)
    return {
        "phrase_table": folder / "table",
        "source_vocabulary": folder / "source",
        "target_vocabulary": folder / "target",
        "source_shortlist": folder / "source",
        "target_shortlist": folder / "target",
    }


def train(inputs: dict[str, Path], folder: Path, seed: int = 1, **settings: Any) -> None:
    train_network(
        kind="encoder_decoder",
        inputs=inputs,
        settings=SETTINGS | settings,
        device="cpu",
        seed=seed,
        **places(folder),
    )


@pytest.mark.parametrize(
    "settings", [{}, {"conventions": "paper", "keep": "best"}, {"unit": "tanh"}], ids=["code", "paper", "tanh"]
)
def test_a_killed_run_ends_as_one_never_killed(
    inputs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any]
) -> None:
    # before the first checkpoint, and between later ones
    check_going_on(lambda folder: train(inputs, folder, **settings), tmp_path, monkeypatch, (5, 33, 47))


def test_two_threads_make_the_same_in_every_run(inputs: dict[str, Path], tmp_path: Path) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        for name in "abcd":
            train(inputs, tmp_path / name, batch=400, hidden=64, maxout=256, updates=4, validate_every=4)
    finally:
        torch.set_num_threads(before)
    assert len({weights(tmp_path / name) for name in "abcd"}) == 1
    assert not torch.are_deterministic_algorithms_enabled()


def test_more_updates_go_on_where_the_run_ended(
    inputs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(inputs, tmp_path / "whole")
    train(inputs, tmp_path / "longer", updates=30)
    kill_at(monkeypatch, 29)  # never reached again
    train(inputs, tmp_path / "longer")
    assert weights(tmp_path / "longer") == weights(tmp_path / "whole")


def test_other_settings_start_afresh(inputs: dict[str, Path], tmp_path: Path) -> None:
    train(inputs, tmp_path / "a", clip=0.5)
    train(inputs, tmp_path / "b")
    train(inputs, tmp_path / "a")
    assert weights(tmp_path / "a") == weights(tmp_path / "b")
    train(inputs, tmp_path / "a", seed=2)
    assert weights(tmp_path / "a") != weights(tmp_path / "b")


def test_a_broken_checkpoint_starts_afresh(inputs: dict[str, Path], tmp_path: Path) -> None:
    train(inputs, tmp_path)
    expected = weights(tmp_path)
    checkpoint = tmp_path / "state" / NAME
    checkpoint.write_bytes(checkpoint.read_bytes()[:100])
    train(inputs, tmp_path)
    assert weights(tmp_path) == expected


def test_word_by_word_translation_is_learnt(inputs: dict[str, Path], tmp_path: Path) -> None:
    train(inputs, tmp_path, hidden=32, embedding=16, maxout=16, rank=16, updates=1500, validate_every=250)
    curve = [float(row["validation_perplexity"]) for row in read_csv(tmp_path / "curve.csv")]
    assert len(curve) == 6
    assert curve[0] > 5
    assert curve[-1] < 4
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("unit", ["gated", "tanh"])
def test_a_backward_network_reads_target_phrases(inputs: dict[str, Path], tmp_path: Path, unit: str) -> None:
    """Source words are s<i>, target words t<i>; both directions hold out the same pairs."""
    for direction, read in (("forward", "s"), ("backward", "t")):
        train(inputs, tmp_path / direction, unit=unit, direction=direction)
        model = load_model(tmp_path / direction / "model", torch.device("cpu"))
        assert model.network.config.direction == direction
        assert {word[0] for word in model.source.words[3:]} == {read}
        assert {word[0] for word in model.target.words[3:]} == {"s", "t"} - {read}
    curves = [read_csv(tmp_path / direction / "curve.csv") for direction in ("forward", "backward")]
    for row in zip(*curves, strict=True):
        # the language is symmetric, so what both learn is nearly the same
        perplexities = [float(record["validation_perplexity"]) for record in row]
        assert perplexities[0] == pytest.approx(perplexities[1], rel=0.1)


def test_the_curve_counts_words_and_epochs(inputs: dict[str, Path], tmp_path: Path) -> None:
    targets = [line.split(" ||| ")[1].split() for line in read_lines(inputs["phrase_table"].parent / "table.txt")]
    words = sum(len(target) + 1 for target in targets)
    epoch = -(-len(targets) // SETTINGS["batch"])
    train(inputs, tmp_path, validation_pairs=0, updates=2 * epoch, validate_every=epoch)
    rows = read_csv(tmp_path / "curve.csv")
    assert [(row["examples"], row["words"], row["epochs"]) for row in rows] == [
        (str(len(targets)), str(words), "1.0000"),
        (str(2 * len(targets)), str(2 * words), "2.0000"),
    ]


def test_patience_stops_early(inputs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Trainer, "perplexity", lambda self: 10.0 + self.progress.updates)
    train(inputs, tmp_path, validate_every=5, patience=2)
    assert [row["updates"] for row in read_csv(tmp_path / "curve.csv")] == ["5", "10", "15"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"layers": 2}, "settings: unknown key 'layers'"),
        ({"updates": 0}, "settings.updates: 0 is less than the minimum of 1"),
        ({"keep": "first"}, "settings.keep: 'first' is not one of"),
        ({"validation_pairs": 0, "patience": 3}, "need held-out pairs"),
        ({"validation_pairs": 10_000}, "hold out fewer than half"),
        ({"conventions": "both"}, "settings.conventions: 'both' is not"),
        ({"conventions": {"reset": "both"}}, "settings.conventions"),
        ({"unit": "lstm"}, "settings.unit: 'lstm' is not one of"),
        ({"direction": "sideways"}, "settings.direction: 'sideways' is not one of"),
        ({"max_length": 1, "validation_pairs": 0, "hidden": 0}, "settings.hidden: 0 is less"),
    ],
)
def test_bad_settings_are_refused(
    inputs: dict[str, Path], tmp_path: Path, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        train(inputs, tmp_path, **settings)
    assert not (tmp_path / "model").exists()


def test_a_table_of_other_vocabularies_is_refused(inputs: dict[str, Path], tmp_path: Path) -> None:
    swapped = inputs | {"source_vocabulary": inputs["target_vocabulary"]}
    with pytest.raises(UserError, match="another source vocabulary"):
        train(swapped, tmp_path)
