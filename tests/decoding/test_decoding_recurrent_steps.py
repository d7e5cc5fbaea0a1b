"""The steps from a system to translations with the joint model, on files of a tiny one."""

from dataclasses import replace

import numpy as np
import pytest
from recurrent_reference import reference_scores
from recurrent_world import MODEL, SENTENCES, linked_lattices
from refusals import check_refused
from tiny_models import TARGET, save_reranker, save_system

from neural_smt.decoding.features import Weights
from neural_smt.decoding.reranking.aligned_lattices import AlignedLattices
from neural_smt.decoding.reranking_steps import decode_lattices, measure_oracles, rescore_lattices
from neural_smt.decoding.scorers import load_feature
from neural_smt.decoding.steps import decode
from neural_smt.experiment.system_folder import System
from neural_smt.io.files import read_csv, read_json, read_lines, write_json, write_lines
from neural_smt.networks.folder import Trained
from neural_smt.networks.recurrent.configuration import RecurrentConfig, WordClasses
from neural_smt.networks.recurrent.network import RecurrentNetwork
from neural_smt.representations.representation import Representation, representation_settings, save_representation
from neural_smt.tuning.reranking_steps import tune_reranking
from neural_smt.vocabulary import Vocabulary

CLASSES = WordClasses(np.array([0, 3, 2, 5, 4, 6], dtype=np.int32), np.array([0, 2, 3, 6]))
CONFIG = RecurrentConfig(len(MODEL), 3, 4, direct_size=32)
SEARCH = {"stack_size": 1000, "beam_threshold": 0.0, "table_limit": 0}
WORDS = Vocabulary(["<unk>", "<s>", "</s>", "a", "b", "c"], [0, 0, 0, 3, 3, 2])
ALONE, INFORMED = {"model": "alone"}, {"model": "informed", "representation": "representation"}


def recurrent_network(config):
    """A model that is far from uniform."""
    network = RecurrentNetwork(config, CLASSES, seed=2)
    for parameter in network.parameters():
        parameter.data.mul_(8).add_(0.01)
    return network


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A system, its lattices, recurrent models with and without inputs, and representations learned with a network."""
    folder = tmp_path_factory.mktemp("system")
    _, decoder = linked_lattices(3)
    weights = Weights.from_vector(decoder.feature_set, decoder.vector)
    save_system(folder, decoder.model, weights, SEARCH)
    Weights(weights.values | {"Recurrent0": (0.6,)}).save(folder / "joint.json")
    write_lines(folder / "text", [" ".join(tokens) for tokens in SENTENCES])
    write_lines(folder / "short", ["a"] * 5)
    searched(folder, folder / "lattices", 0)
    for name, window in (("other", "n3"), ("representation", "p1c1")):
        settings = representation_settings({"kind": "learned", "dimensions": 3, "window": window})
        representation = Representation(settings, WORDS, None)
        save_representation(folder / name, representation)
    informed = replace(CONFIG, slots=2, dimensions=3, input_rows=representation.input_rows)
    for name, config in (("alone", CONFIG), ("informed", informed)):
        Trained(recurrent_network(config), MODEL).save(folder / name)
    return folder


def arguments(folder):
    return {"text": folder / "text", "system": folder / "system.json", "weights": folder / "weights.json"}


def searched(folder, output, density):
    """Write lattices of the text; their statistics."""
    decode_lattices(**arguments(folder), density=density, output=output, statistics=output.with_suffix(".json"))
    return read_json(output.with_suffix(".json"))


def files(folder, names):
    return {key: folder / name for key, name in names.items()}


def rescored(folder, tmp_path, network=ALONE, settings=None, **changes):
    """Translations and statistics of a system that reranks lattices, written to a folder; network: names of files."""
    network = {"kind": "recurrent"} | files(folder, network)
    system = save_reranker(tmp_path, folder, kind="lattices", network=network, **settings or {})
    given = {"lattices": folder / "lattices", "weights": folder / "joint.json"} | changes
    rescore_lattices(system=system, output=tmp_path / "output", statistics=tmp_path / "statistics.json", **given)
    return read_lines(tmp_path / "output"), read_json(tmp_path / "statistics.json")


@pytest.mark.parametrize("settings", [{"beam": 1}, {"beam": 50}, {"candidates": "nbest", "nbest": 10}])
def test_the_recurrent_score_is_that_of_the_translations(folder, tmp_path, settings):
    translations, statistics = rescored(folder, tmp_path, settings=settings)
    assert len(translations) == len(SENTENCES) and translations[1] == ""
    model = CONFIG, CLASSES, recurrent_network(CONFIG).arrays()
    words = [MODEL.ids(line.split()).tolist() for line in translations]
    scores = [reference_scores(*model, ids, np.zeros((len(ids) + 1, 0))).sum() if ids else 0 for ids in words]
    np.testing.assert_allclose(statistics["mean_recurrent"], np.mean(scores), atol=1e-4)
    assert statistics["sentences"] == 6 and statistics["evaluations"] > 0 and statistics["seconds_per_sentence"] > 0
    assert statistics["arcs"] == read_json(folder / "lattices.json")["arcs"] > 0


def test_without_weight_the_recurrent_model_changes_nothing(folder, tmp_path):
    values = Weights.load(folder / "weights.json").values
    Weights(values | {"Recurrent0": (0.0,)}).save(tmp_path / "weights.json")
    translations, statistics = rescored(folder, tmp_path, weights=tmp_path / "weights.json")
    decode(**arguments(folder), output=tmp_path / "decoded", statistics=tmp_path / "decoded.json")
    assert translations == read_lines(tmp_path / "decoded")
    expected = read_json(tmp_path / "decoded.json")["mean_score"]
    np.testing.assert_allclose(statistics["mean_score"], expected, atol=1e-4)


def test_a_joint_model_reads_the_source_through_its_representation(folder, tmp_path):
    write_lines(tmp_path / "text", ["b b b b"] * 6)
    texts = folder / "text", tmp_path / "text"
    found, other = (rescored(folder, tmp_path, INFORMED, {"beam": 100}, text=text) for text in texts)
    assert len(found[0]) == 6 and found[1]["mean_recurrent"] != other[1]["mean_recurrent"]


def test_what_does_not_belong_together_is_refused(folder, tmp_path):
    write_json(tmp_path / "broken.json", {"Recurrent0": [1.0]})
    for network, pieces, changes in (
        (ALONE, ["weights.json", "Recurrent0"], {"weights": folder / "weights.json"}),
        (ALONE, "feature", {"weights": tmp_path / "broken.json"}),
        (ALONE | {"representation": "representation"}, "has no inputs", {}),
        ({"model": "informed"}, "name the representation", {}),
        (INFORMED, "5 lines", {"text": folder / "short"}),
        (INFORMED | {"representation": "other"}, "another representation", {"text": folder / "text"}),
    ):
        check_refused(pieces, rescored, folder, tmp_path, network, **changes)
    check_refused("density", searched, folder, tmp_path / "x", -1)
    files = {"lattices": folder / "lattices", "reference": folder / "short", "table": tmp_path / "table.csv"}
    check_refused("6 sentences", measure_oracles, **files, sizes=[2])


def test_a_network_of_a_search_fits(folder):
    model = linked_lattices(3)[1].model

    def load(network, kind="recurrent"):
        content = {"network": {"kind": kind} | files(folder, network)}
        return load_feature(System(folder / "system.json", content), model, "cpu")

    feature = load(ALONE)
    assert feature.name == "Recurrent0"
    assert feature.known.tolist()[3:] == [MODEL.index.get(word, 0) for word in TARGET.words[3:]]
    for network, pieces in (
        ({}, ["network", "'model'"]),
        (ALONE | {"representation": "representation"}, "leave out the representation"),
        ({"model": "informed"}, "name the representation"),
    ):
        check_refused(pieces, load, network)
    for kind in ("attention", "unheard_of"):
        check_refused(f"kind '{kind}'", load, ALONE, kind)


def test_oracles_are_written_as_a_table(folder, tmp_path):
    write_lines(tmp_path / "reference", ["x y z q", "", "x unknown y z", "x y", "z y x other", "y y"])
    table = tmp_path / "table.csv"
    measure_oracles(lattices=folder / "lattices", reference=tmp_path / "reference", sizes=[2, 10], table=table)
    names = ["1-best", *["2-best"] * 2, *["10-best"] * 2, *["lattice"] * 2]
    rows = read_csv(table)
    assert [row["candidates"] for row in rows] == names
    means = [float(row["mean_sentence_bleu"]) for row in rows if row["oracle"] != "corpus"]
    assert means == sorted(means) and means[0] < means[-1]


def test_tuning_on_pruned_lattices_writes_weights_history_and_plot(folder, tmp_path):
    small, whole = searched(folder, tmp_path / "x", 2), read_json(folder / "lattices.json")
    assert small["arcs"] < whole["arcs"] and small["mean_score"] == whole["mean_score"]
    assert len(AlignedLattices.load(tmp_path / "x").flat.tails) == small["arcs"]
    write_lines(tmp_path / "reference", rescored(folder, tmp_path)[0])
    dropping = {"network": INFORMED, "settings": {"drop_features": ["TranslationModel0_0"]}, "text": folder / "text"}
    rescored(folder, tmp_path, **dropping)
    outputs = {name: tmp_path / name for name in ("weights", "history", "plot")}
    settings = {"nbest": 10, "iterations": 2, "restarts": 2, "refinements": 2}
    given = {"lattices": tmp_path / "x", "reference": tmp_path / "reference", "start": folder / "weights.json"}
    given |= {"system": tmp_path / "system.json", "text": folder / "text"}
    tune_reranking(settings=settings, seed=1, **given, **outputs)
    tuned = Weights.load(outputs["weights"]).values
    assert tuned["TranslationModel0"][0] == 0 and len(tuned["Recurrent0"]) == 1 and tuned["Recurrent0"][0] != 0
    assert 1 <= len(read_csv(outputs["history"])) <= 2 and outputs["plot"].read_bytes().startswith(b"\x89PNG")
    assert rescored(folder, tmp_path, **dropping, weights=outputs["weights"])[1]["sentences"] == 6
