"""Recurrent models in a configuration: what they inherit, who uses them, and what cannot be."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import yaml

from neural_smt.configuration import complete, load_schema
from neural_smt.decoding.recurrent.settings import RescoringSettings
from neural_smt.errors import UserError
from neural_smt.recurrent_models import joint_inputs, recurrent_settings, rescores_lattices, used_recurrent
from neural_smt.representations.settings import RepresentationSettings
from neural_smt.systems import is_rescored, list_networks, resolve_recurrent, used_networks
from neural_smt.training.recurrent_settings import ClassSettings, RecurrentSettings


@pytest.fixture(scope="module")
def schema(repository: Path) -> dict[str, Any]:
    return load_schema(repository / "rules" / "schemas" / "config.schema.yaml")


def experiment(repository: Path, training: dict[str, Any], systems: dict[str, Any]) -> dict[str, Any]:
    config = yaml.safe_load((repository / "experiments" / "tiny.yaml").read_text(encoding="utf-8"))
    config["training"] = config.get("training", {}) | training
    config["systems"] = config["systems"] | systems
    return config


def rescored(*network: str, **rescoring: Any) -> dict[str, Any]:
    return {"base": "baseline", "features": [], "rescore": list(network), "rescoring": rescoring}


def searched(network: str, *groups: str) -> dict[str, Any]:
    return {"base": "baseline", "features": ["recurrent", *groups], "recurrent": network}


def test_models_inherit_the_common_settings(repository: Path, schema: dict[str, Any]) -> None:
    training = {
        "recurrent": {"hidden": 30, "epochs": 3},
        "joint": {"small": {"epochs": 2}, "lsa": {"hidden": 40, "input": {"kind": "sentence_lsa", "dimensions": 8}}},
    }
    config = complete(experiment(repository, training, {}), schema)
    settings = recurrent_settings(config)
    sizes = {name: (own["hidden"], own["epochs"]) for name, own in settings.items()}
    assert sizes == {"recurrent": (30, 3), "recurrent_source": (50, 3), "small": (30, 2), "lsa": (40, 3)}
    assert all("input" not in own for own in settings.values())
    assert joint_inputs(config)["lsa"].items() >= {"kind": "sentence_lsa", "dimensions": 8, "side": "source"}.items()
    assert used_recurrent(config) == []


def test_only_models_that_systems_rescore_with_are_trained(repository: Path, schema: dict[str, Any]) -> None:
    joint = {"lsa": {"input": {"kind": "sentence_lsa"}}, "window": {"input": {"kind": "word_rnn", "window": "n5"}}}
    config = complete(experiment(repository, {"joint": joint}, {"one": rescored("lsa")}), schema)
    assert used_recurrent(config) == ["lsa"]
    searched = {
        "one": {"base": "baseline", "features": ["recurrent"]},
        "two": {"base": "one", "features": [], "recurrent": "lsa"},
    }
    config = complete(experiment(repository, {"joint": joint}, searched), schema)
    assert used_recurrent(config) == ["recurrent", "lsa"]
    assert [resolve_recurrent(config["systems"], name) for name in ("baseline", "one", "two")] == [
        None,
        "recurrent",
        "lsa",
    ]
    config = complete(experiment(repository, {"joint": joint}, {"one": rescored("window")}), schema)
    assert used_recurrent(config) == ["recurrent_source", "window"], "the source's model lends it its word vectors"


def test_models_whose_classes_are_compared_are_trained(repository: Path, schema: dict[str, Any]) -> None:
    joint = {
        "plain": {"classes": {"method": "frequency"}},
        "clustered": {"classes": {"method": "exchange", "speed": 0}},
    }
    config = experiment(repository, {"joint": joint, "recurrent": {"hidden": 30}}, {})
    assert used_recurrent(complete(config, schema)) == []
    config["report"] = {"word_classes": ["recurrent", "clustered"]}
    complete_config = complete(config, schema)
    assert used_recurrent(complete_config) == ["recurrent", "clustered"]
    assert recurrent_settings(complete_config)["clustered"]["classes"] == {"method": "exchange", "count": 0, "speed": 0}


@pytest.mark.parametrize(
    ("own", "names", "sentence"),
    [
        ({}, ["nowhere"], r"report.word_classes: there is no recurrent model 'nowhere'; known are recurrent, one$"),
        ({}, ["recurrent_source"], r"report.word_classes: there is no recurrent model 'recurrent_source'"),
        (
            {"hidden": 7, "bptt": 3, "classes": {"count": 5}},
            ["recurrent", "one"],
            r"report.word_classes: 'one' differs from training.recurrent in hidden, bptt; name models that differ in",
        ),
        ({"input": {"kind": "sentence_lsa"}}, ["one"], r"'one' differs from training.recurrent in input; name models"),
        ({}, ["one", "one"], r"report.word_classes: .*non-unique elements; correct it in the configuration"),
    ],
)
def test_classes_that_cannot_be_compared_are_named(
    repository: Path, schema: dict[str, Any], own: dict[str, Any], names: list[str], sentence: str
) -> None:
    config = experiment(repository, {"joint": {"one": own}}, {}) | {"report": {"word_classes": names}}
    with pytest.raises(UserError, match=sentence):
        complete(config, schema)


def test_lattices_are_chosen_from_with_a_model_or_with_other_weights(repository: Path, schema: dict[str, Any]) -> None:
    systems = {
        "lists": rescored("cslm"),
        "attention_lists": rescored("attention"),
        "lattices": rescored("recurrent", beam=10),
        "without": rescored(without=["TranslationModel0_2"]),
    }
    config = complete(experiment(repository, {}, systems), schema)
    lists = list_networks(config)
    found = {
        name: (is_rescored(system), rescores_lattices(system, lists)) for name, system in config["systems"].items()
    }
    assert found == {
        "baseline": (False, False),
        "rnn": (False, False),
        "lists": (True, False),
        "attention_lists": (True, False),
        "lattices": (True, True),
        "without": (True, True),
    }


def test_an_experiment_of_joint_models_alone_needs_no_encoder_decoder(repository: Path, schema: dict[str, Any]) -> None:
    config = experiment(repository, {}, {"lattices": rescored("recurrent")})
    assert used_networks(complete(config, schema)) == ["encoder_decoder"]
    del config["systems"]["rnn"]
    assert used_networks(complete(config, schema)) == []


@pytest.mark.parametrize(
    ("training", "system", "sentence"),
    [
        ({}, rescored("nowhere"), r"systems.row.rescore: there is no network 'nowhere'; known are cslm, attention, re"),
        ({}, rescored("recurrent_source"), r"systems.row.rescore: there is no network 'recurrent_source'"),
        ({"joint": {"cslm": {}}}, rescored("cslm"), r"training.joint: 'cslm' means something else already"),
        ({}, rescored("cslm", without=["LM0"]), r"systems.row.rescoring.without: only lattices can do without scores"),
        ({}, {"features": [], "rescore": ["recurrent"]}, r"systems.row.rescore: what a base found is rescored"),
        ({}, searched("nowhere"), r"systems.row.recurrent: there is no recurrent model 'nowhere'; known are recurrent"),
        ({}, searched("recurrent_source"), r"systems.row.recurrent: there is no recurrent model 'recurrent_source'"),
        ({}, searched("recurrent", "cslm"), r"systems.row.features: a search asks one network"),
        ({}, {"features": ["phrase"], "recurrent": "x"}, r"systems.row.recurrent: the search asks no recurrent model"),
        (
            {"joint": {"x": {"input": {"kind": "sentence_lsa", "side": "target"}}}},
            searched("x"),
            r"systems.row.recurrent: 'x' reads references",
        ),
        ({"joint": {"x": {"input": {}}}}, rescored("x"), r"training.joint.x.input: has no 'kind'; give it"),
        (
            {"joint": {"x": {"input": {"kind": "learned", "window": "m3"}}}},
            rescored("x"),
            r"training.joint.x.input.window: 'm3' does not match",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_is_named(
    repository: Path, schema: dict[str, Any], training: dict[str, Any], system: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(UserError, match=sentence):
        complete(experiment(repository, training, {"row": system}), schema)


def test_defaults_are_those_of_the_package(repository: Path, schema: dict[str, Any]) -> None:
    joint = {"lsa": {"input": {"kind": "sentence_lsa"}}}
    config = complete(experiment(repository, {"joint": joint}, {}), schema)
    settings = recurrent_settings(config)["recurrent"]
    assert {name: getattr(RecurrentSettings(), name) for name in settings if name != "classes"} == {
        name: value for name, value in settings.items() if name != "classes"
    }
    assert settings["classes"] == asdict(ClassSettings())
    assert joint_inputs(config)["lsa"] == asdict(RepresentationSettings("sentence_lsa"))
    rescoring = {key: value for key, value in config["systems"]["baseline"]["rescoring"].items() if key != "without"}
    assert rescoring.items() <= asdict(RescoringSettings()).items()
