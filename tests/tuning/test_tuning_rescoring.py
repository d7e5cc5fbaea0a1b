"""Weights that reorder n-best lists, tuned on lists whose best entry is known."""

from pathlib import Path

import numpy as np
import pytest

from neural_smt.decoding.features import Weights
from neural_smt.decoding.nbest import ListedTranslation, read_nbest, write_entries
from neural_smt.decoding.reranking_steps import best_of_each, rerank_entries
from neural_smt.errors import UserError
from neural_smt.experiment.settings import section_settings
from neural_smt.io.files import read_csv, read_json, write_json, write_lines
from neural_smt.tuning.reranking_steps import optimise_lists, tune_reranking

BEFORE = {"LM0": [0.5], "TranslationModel0": [0.2, 0.1], "UnknownWordPenalty0": [1.0]}


def lists() -> tuple[list[ListedTranslation], list[list[str]]]:
    """Lists of ten entries whose old features are noise; ``Cslm0`` knows how many words are wrong."""
    generator = np.random.default_rng(0)
    entries, references = [], []
    for sentence in range(20):
        references.append([f"w{sentence}_{i}" for i in range(8)])
        for wrong in generator.permutation(10) % 6:
            words = ["x"] * int(wrong) + references[-1][wrong:]
            noise = generator.normal(size=3).round(3).tolist()
            features = {"LM0": noise[:1], "TranslationModel0": noise[1:], "Cslm0": [float(-wrong)]}
            entries.append(ListedTranslation(sentence, words, features, 0.0))
    return entries, references


def test_the_feature_that_knows_gets_its_weight() -> None:
    entries, references = lists()
    iteration, features = optimise_lists(entries, references, BEFORE, section_settings("tuning", {}), seed=3)
    assert features.names == ["LM0", "TranslationModel0_0", "TranslationModel0_1", "Cslm0"]
    assert iteration.decoder_bleu < 80
    assert iteration.list_bleu == pytest.approx(100.0)
    tuned = Weights.from_vector(features, np.array(iteration.weights)).values
    assert best_of_each(rerank_entries(entries, tuned)) == references


def test_the_step_writes_what_tuning_writes_and_repeats_itself(tmp_path: Path) -> None:
    entries, references = lists()
    write_entries(tmp_path / "lists.gz", entries)
    assert read_nbest(tmp_path / "lists.gz") == entries
    write_lines(tmp_path / "reference", map(" ".join, references))
    write_json(tmp_path / "start.json", BEFORE)
    for name in "ab":
        tune_reranking(
            system=tmp_path / "system.json",
            nbest=tmp_path / "lists.gz",
            reference=tmp_path / "reference",
            start=tmp_path / "start.json",
            settings={"restarts": 5, "refinements": 5},
            seed=7,
            weights=tmp_path / f"{name}.json",
            history=tmp_path / f"{name}.csv",
            plot=tmp_path / f"{name}.png",
            threads=1 + (name == "b"),
        )
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    weights = read_json(tmp_path / "a.json")
    assert weights["UnknownWordPenalty0"] == [1.0] and weights["Cslm0"][0] > 0.1
    (row,) = read_csv(tmp_path / "a.csv")
    assert float(row["list_bleu"]) == pytest.approx(100.0)
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_lists_that_do_not_fit_are_refused() -> None:
    entries, references = lists()
    with pytest.raises(UserError, match="beyond the 19 sentences"):
        optimise_lists(entries, references[:19], BEFORE, section_settings("tuning", {}), seed=1)
    with pytest.raises(UserError, match="lists are empty"):
        optimise_lists([], references, BEFORE, section_settings("tuning", {}), seed=1)
