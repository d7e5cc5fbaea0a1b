"""The steps from a system to translations with the joint model, on files of a tiny one."""

import numpy as np
import pytest
from recurrent_reference import reference_scores
from recurrent_world import MODEL, SENTENCES, linked_lattices
from tiny_models import save_reranker, save_system

from neural_smt.decoding.features import Weights
from neural_smt.decoding.reranking.aligned_lattices import AlignedLattices
from neural_smt.decoding.reranking_steps import decode_lattices, measure_oracles, rescore_lattices
from neural_smt.decoding.steps import decode
from neural_smt.errors import UserError
from neural_smt.io.files import read_csv, read_json, read_lines, write_json, write_lines
from neural_smt.networks.folder import Trained
from neural_smt.networks.recurrent.configuration import RecurrentConfig, WordClasses
from neural_smt.networks.recurrent.network import RecurrentNetwork
from neural_smt.representations.representation import Representation, representation_settings, save_representation
from neural_smt.tuning.reranking_steps import tune_reranking
from neural_smt.vocabulary import Vocabulary

CLASSES = WordClasses(np.array([0, 3, 2, 5, 4, 6], dtype=np.int32), np.array([0, 2, 3, 6]))
SEARCH = {"stack_size": 1000, "beam_threshold": 0.0, "table_limit": 0}
WORDS = Vocabulary(["<unk>", "<s>", "</s>", "a", "b", "c"], [0, 0, 0, 3, 3, 2])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A system, its lattices, recurrent models with and without inputs, and a representation."""
    folder = tmp_path_factory.mktemp("system")
    _, decoder = linked_lattices(3)
    weights = Weights.from_vector(decoder.feature_set, decoder.vector)
    save_system(folder, decoder.model, weights, SEARCH)
    Weights(weights.values | {"Recurrent0": (0.6,)}).save(folder / "joint.json")
    write_lines(folder / "text", [" ".join(tokens) for tokens in SENTENCES])
    decode_lattices(**arguments(folder), density=0, output=folder / "lattices", statistics=folder / "lattices.json")
    representation = learned(folder / "representation", "p1c1")
    for name, slots, dimensions, rows in (("alone", 0, 0, 0), ("informed", 2, 3, representation.input_rows)):
        config = RecurrentConfig(len(MODEL), 3, 4, slots, dimensions, rows, direct_size=32)
        network = RecurrentNetwork(config, CLASSES, seed=2)
        for parameter in network.parameters():
            parameter.data.mul_(8).add_(0.01)
        Trained(network, MODEL).save(folder / name)
    return folder


def learned(folder, window):
    """A representation learned with the network, written to a folder."""
    settings = representation_settings({"kind": "learned", "dimensions": 3, "window": window})
    representation = Representation(settings, WORDS, None)
    save_representation(folder, representation)
    return representation


def arguments(folder):
    return {"text": folder / "text", "system": folder / "system.json", "weights": folder / "weights.json"}


def reranker(folder, place, network="alone", **settings):
    """The description of a system that reranks lattices, written to a folder; the file."""
    made_of = {"kind": "recurrent", "model": folder / network}
    if network == "informed":
        made_of["representation"] = folder / "representation"
    return save_reranker(place, folder, kind="lattices", network=made_of, **settings)


def rescored(folder, tmp_path, system=None, **changes):
    """Translations and statistics."""
    changes = {"weights": folder / "joint.json"} | changes
    rescore_lattices(
        system=system or reranker(folder, tmp_path),
        lattices=folder / "lattices",
        output=tmp_path / "output",
        statistics=tmp_path / "statistics.json",
        **changes,
    )
    return read_lines(tmp_path / "output"), read_json(tmp_path / "statistics.json")


@pytest.mark.parametrize("settings", [{"beam": 1}, {"beam": 50}, {"candidates": "nbest", "nbest": 10}])
def test_the_recurrent_score_is_that_of_the_translations(folder, tmp_path, settings):
    translations, statistics = rescored(folder, tmp_path, reranker(folder, tmp_path, **settings))
    assert len(translations) == len(SENTENCES) and translations[1] == ""
    network = RecurrentNetwork(RecurrentConfig(len(MODEL), 3, 4, direct_size=32), CLASSES, seed=2)
    weights = {name: value.detach().numpy() * 8 + np.float32(0.01) for name, value in network.named_parameters()}
    scores = []
    for line in translations:
        words = MODEL.ids(line.split()).tolist()
        none = np.zeros((len(words) + 1, 0))
        scores.append(reference_scores(network.config, network.classes, weights, words, none).sum() if words else 0)
    np.testing.assert_allclose(statistics["mean_recurrent"], np.mean(scores), atol=1e-4)
    assert statistics["sentences"] == 6 and statistics["evaluations"] > 0 and statistics["seconds_per_sentence"] > 0
    assert statistics["arcs"] == read_json(folder / "lattices.json")["arcs"] > 0


def test_without_weight_the_recurrent_model_changes_nothing(folder, tmp_path):
    values = Weights.load(folder / "weights.json").values
    Weights(values | {"Recurrent0": (0.0,)}).save(tmp_path / "weights.json")
    translations, statistics = rescored(folder, tmp_path, weights=tmp_path / "weights.json")
    decode(**arguments(folder), output=tmp_path / "decoded", statistics=tmp_path / "decoded.json")
    assert translations == read_lines(tmp_path / "decoded")
    np.testing.assert_allclose(
        statistics["mean_score"] * 6, read_json(tmp_path / "decoded.json")["mean_score"] * 6, atol=1e-3
    )


def test_a_joint_model_reads_the_source_through_its_representation(folder, tmp_path):
    system = reranker(folder, tmp_path, "informed", beam=100)
    translations, statistics = rescored(folder, tmp_path, system, text=folder / "text")
    write_lines(tmp_path / "text", ["b b b b"] * 6)
    _, others = rescored(folder, tmp_path, reranker(folder, tmp_path, "informed"), text=tmp_path / "text")
    assert len(translations) == 6 and statistics["mean_recurrent"] != others["mean_recurrent"]


def test_what_does_not_belong_together_is_refused(folder, tmp_path):
    write_lines(tmp_path / "short", ["a"] * 5)
    learned(tmp_path / "other", "n3")
    informed, alone = ({"kind": "recurrent", "model": folder / name} for name in ("informed", "alone"))
    read, other = ({"representation": place} for place in (folder / "representation", tmp_path / "other"))
    for network, message, changes in (
        (alone, "holds no weight of Recurrent0", {"weights": folder / "weights.json"}),
        (informed, "name the representation", {}),
        (alone | read, "has no inputs", {}),
        (informed | read, "5 lines", {"text": tmp_path / "short"}),
        (informed | other, "another representation", {"text": folder / "text"}),
    ):
        with pytest.raises(UserError, match=message):
            rescored(folder, tmp_path, save_reranker(tmp_path, folder, kind="lattices", network=network), **changes)
    with pytest.raises(UserError, match="density"):
        decode_lattices(**arguments(folder), density=-1, output=tmp_path / "x", statistics=tmp_path / "y")


def test_pruned_lattices_are_smaller_and_keep_the_best_path(folder, tmp_path):
    decode_lattices(**arguments(folder), density=2, output=tmp_path / "x", statistics=tmp_path / "x.json")
    small, whole = read_json(tmp_path / "x.json"), read_json(folder / "lattices.json")
    assert small["arcs"] < whole["arcs"] and small["mean_score"] == whole["mean_score"]
    assert len(AlignedLattices.load(tmp_path / "x").flat.tails) == small["arcs"]


def test_oracles_are_written_as_a_table(folder, tmp_path):
    write_lines(tmp_path / "reference", ["x y z q", "", "x unknown y z", "x y", "z y x other", "y y"])
    given = {"lattices": folder / "lattices", "table": tmp_path / "table.csv"}
    measure_oracles(**given, reference=tmp_path / "reference", sizes=[2, 10])
    rows = read_csv(tmp_path / "table.csv")
    names = ["1-best", *["2-best"] * 2, *["10-best"] * 2, *["lattice"] * 2]
    assert [row["candidates"] for row in rows] == names
    write_lines(tmp_path / "short", ["x"])
    with pytest.raises(UserError, match="of 6 sentences"):
        measure_oracles(**given, reference=tmp_path / "short", sizes=[2])


def test_tuning_writes_weights_history_and_plot(folder, tmp_path):
    decode_lattices(**arguments(folder), density=5, output=tmp_path / "x", statistics=tmp_path / "x.json")
    translations, _ = rescored(folder, tmp_path)
    write_lines(tmp_path / "reference", translations)
    outputs = {name: tmp_path / name for name in ("weights", "history", "plot")}
    informed = reranker(folder, tmp_path, "informed", drop_features=["TranslationModel0_0"])
    settings = {"nbest": 10, "iterations": 2, "restarts": 2, "refinements": 2}
    given = {"lattices": tmp_path / "x", "reference": tmp_path / "reference", "start": folder / "weights.json"}
    tune_reranking(system=informed, settings=settings, seed=1, text=folder / "text", **given, **outputs)
    tuned = Weights.load(outputs["weights"]).values
    assert tuned["TranslationModel0"][0] == 0 and len(tuned["Recurrent0"]) == 1 and tuned["Recurrent0"][0] != 0
    assert 1 <= len(read_csv(outputs["history"])) <= 2 and outputs["plot"].read_bytes().startswith(b"\x89PNG")
    _, statistics = rescored(folder, tmp_path, informed, weights=outputs["weights"], text=folder / "text")
    assert statistics["sentences"] == 6
    write_json(tmp_path / "broken.json", {"Recurrent0": [1.0]})
    with pytest.raises(UserError, match="of feature"):
        rescored(folder, tmp_path, weights=tmp_path / "broken.json")
