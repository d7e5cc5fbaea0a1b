"""An attention network learns a toy language, whichever target words its softmax is over."""

from pathlib import Path

import numpy as np
import pytest
import torch
from training_runs import CASES, Inputs, train, write_pairs

from neural_smt.io.files import read_csv, read_lines
from neural_smt.io.ragged import Ragged
from neural_smt.networks.attention.network import AttentionNetwork, pack_batch
from neural_smt.networks.folder import Trained
from neural_smt.vocabulary import Vocabulary

TAU, FREQUENT = 55, 20
"""Target words of a part and of V^T, of 63 in all."""


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> tuple[Inputs, Inputs]:
    """Pairs, and for each the words of its reference and the most frequent ones."""
    return write_pairs(tmp_path_factory.mktemp("inputs"), 60, (2000, 50), 5, FREQUENT)


def mass_where_it_belongs(model: Trained[AttentionNetwork], inputs: Inputs) -> float:
    """Mean attention, over held-out target words, to the source word that each is the translation of."""
    sides = (model.source, "held_out_source"), (model.target, "held_out_target")
    source, target = (Ragged.from_lists([v.ids(line.split()) for line in read_lines(inputs[n])]) for v, n in sides)
    alphas = model.network.alignments(pack_batch(source, target, torch.device("cpu")))
    return float(np.mean([np.fliplr(alpha[:-1, :-1]).diagonal().mean() for alpha in alphas]))


SLOWLY = [pytest.param(softmax, marks=pytest.mark.slow) for softmax in ("all words", "parts")]


@pytest.mark.parametrize("softmax", ["sets", *SLOWLY])
def test_a_language_is_learnt(texts: tuple[Inputs, Inputs], tmp_path: Path, softmax: str) -> None:
    inputs, candidates = texts
    given = inputs | (candidates if softmax == "sets" else {})
    train("attention", given, tmp_path, **CASES["learnt"], **({"tau": TAU} if softmax == "parts" else {}))
    rows = read_csv(tmp_path / "curve.csv")
    assert [row["updates"] for row in rows] == [f"{hundred}00" for hundred in range(1, 10)]
    curve = [float(row["validation_perplexity"]) for row in rows]
    # from that of a set's or a part's words, guessed, to what only the source tells
    assert curve[0] > 8
    assert min(curve) < 2.5
    model = Trained.load(tmp_path / "model", AttentionNetwork, torch.device("cpu"))
    assert mass_where_it_belongs(model, inputs) > 0.45  # 0.3 if all source words got the same
    assert model.target.words == Vocabulary.load(inputs["target_vocabulary"]).words
