"""An attention network learns a toy language, whichever target words its softmax is over."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from training_runs import places

from neural_smt.io.files import read_csv, read_lines, write_lines
from neural_smt.io.ragged import Ragged
from neural_smt.networks.attention.network import TrainedAttention, load_attention, pack_batch
from neural_smt.training.steps import train_network
from neural_smt.vocabulary import EOS, UNK, Vocabulary
from neural_smt.vocabulary_selection.candidates import CandidateSets

WORDS, PAIRS, HELD_OUT = 60, 2000, 50
TAU, FREQUENT = 55, 20
"""Target words of a part and of V^T, of 63 in all."""

SETTINGS: dict[str, Any] = {
    **dict.fromkeys(("hidden", "embedding", "attention", "maxout", "rank"), 32),
    # far from the papers' constants: so little data is learnt in seconds
    **{"batch": 32, "updates": 900, "validate_every": 100, "clip": 25.0, "epsilon": 1e-4, "keep": "best"},
}


def vocabulary(side: str) -> Vocabulary:
    return Vocabulary.from_sentences([" ".join(f"{side}{word}" for word in range(WORDS))])


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Source word s<i> becomes target word t<i>, from right to left; words are as frequent as Zipf says."""
    folder = tmp_path_factory.mktemp("inputs")
    random = np.random.default_rng(0)
    frequencies = 1 / np.arange(1, WORDS + 1)
    for name, count in (("", PAIRS), ("held_out_", HELD_OUT)):
        chosen = [
            random.choice(WORDS, random.integers(1, 6), p=frequencies / frequencies.sum()).tolist()
            for _ in range(count)
        ]
        write_lines(folder / f"{name}source", (" ".join(f"s{word}" for word in words) for words in chosen))
        write_lines(folder / f"{name}target", (" ".join(f"t{word}" for word in reversed(words)) for words in chosen))
    for side in ("source", "target"):
        vocabulary(side[0]).save(folder / f"{side}_vocabulary")
    names = ("source", "target", "held_out_source", "held_out_target", "source_vocabulary", "target_vocabulary")
    return {name: folder / name for name in names}


def write_sets(inputs: dict[str, Path], folder: Path) -> dict[str, Path]:
    """For each pair the words of its reference and the most frequent ones."""
    target = vocabulary("t")
    for name in ("", "held_out_"):
        references = (target.ids(line.split()) for line in read_lines(inputs[f"{name}target"]))
        sets = [np.union1d([UNK, EOS, *range(3, 3 + FREQUENT)], reference) for reference in references]
        CandidateSets.from_ids(Ragged.from_lists(sets), len(target)).save(folder / f"{name}candidates")
    return {name: folder / name for name in ("candidates", "held_out_candidates")}


def mass_where_it_belongs(model: TrainedAttention, inputs: dict[str, Path]) -> float:
    """Mean attention, over held-out target words, to the source word that each is the translation of."""
    sides = (model.source, "held_out_source"), (model.target, "held_out_target")
    source, target = (Ragged.from_lists([v.ids(line.split()) for line in read_lines(inputs[n])]) for v, n in sides)
    alphas = model.network.alignments(pack_batch(source, target, torch.device("cpu")))
    return float(np.mean([np.fliplr(alpha[:-1, :-1]).diagonal().mean() for alpha in alphas]))


@pytest.mark.parametrize("softmax", ["all words", "sets", "parts"])
def test_a_language_is_learnt(inputs: dict[str, Path], tmp_path: Path, softmax: str) -> None:
    given = inputs | (write_sets(inputs, tmp_path) if softmax == "sets" else {})
    settings = SETTINGS | ({"tau": TAU} if softmax == "parts" else {})
    train_network(kind="attention", inputs=given, settings=settings, device="cpu", seed=1, **places(tmp_path))
    curve = [float(row["validation_perplexity"]) for row in read_csv(tmp_path / "curve.csv")]
    assert len(curve) == 9
    # from that of a set's or a part's words, guessed, to what only the source tells
    assert curve[0] > 8
    assert min(curve) < 2.5
    model = load_attention(tmp_path / "model", torch.device("cpu"))
    assert mass_where_it_belongs(model, inputs) > 0.45  # 0.3 if all source words got the same
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert model.target.words == vocabulary("t").words
