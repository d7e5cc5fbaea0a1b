"""Attention networks in a configuration: what they inherit, who uses them, and what cannot be."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from neural_smt.attention_models import (
    attention_networks,
    attention_training,
    sentence_vocabularies,
    translating_words,
    used_attention,
)
from neural_smt.configuration import complete, load_schema
from neural_smt.decoding.attention.settings import AttentionDecodingSettings
from neural_smt.errors import UserError
from neural_smt.systems import list_networks
from neural_smt.training.attention_settings import AttentionSettings
from neural_smt.vocabulary_selection.settings import VocabularySettings


@pytest.fixture(scope="module")
def schema(repository: Path) -> dict[str, Any]:
    return load_schema(repository / "rules" / "schemas" / "config.schema.yaml")


def experiment(
    repository: Path, training: dict[str, Any], systems: dict[str, Any], vocabularies: dict[str, Any] | None = None
) -> dict[str, Any]:
    config = yaml.safe_load((repository / "experiments" / "tiny.yaml").read_text(encoding="utf-8"))
    config["training"] = config.get("training", {}) | training
    config["systems"] = config["systems"] | systems
    return config | {"vocabularies": vocabularies or {}}


def translated(**chosen: Any) -> dict[str, Any]:
    return {"features": [], "translate": chosen}


def test_networks_and_vocabularies_inherit(repository: Path, schema: dict[str, Any]) -> None:
    training = {
        "attention": {"hidden": 30, "target_words": 700, "learning_curve": True},
        "attention_networks": {"wide": {"hidden": 40}, "whole": {"vocabulary": "all", "learning_curve": False}},
    }
    vocabularies = {"frequent": 50, "sets": {"words": {"phrases": 0}, "many": {"frequent": 90, "dictionary": 3}}}
    config = complete(experiment(repository, training, {}, vocabularies), schema)
    networks = attention_networks(config)
    assert {name: (own["hidden"], own["target_words"], own["vocabulary"]) for name, own in networks.items()} == {
        "attention": (30, 700, "default"),
        "wide": (40, 700, "default"),
        "whole": (30, 700, "all"),
    }
    assert [own["learning_curve"] for own in networks.values()] == [True, True, False]
    sizes = {name: tuple(own.values()) for name, own in sentence_vocabularies(config).items()}
    assert sizes == {"default": (10, 10, 50, 0), "words": (10, 0, 50, 0), "many": (3, 10, 90, 0)}


def test_only_networks_that_serve_are_trained(repository: Path, schema: dict[str, Any]) -> None:
    training = {"attention_networks": {"one": {}, "two": {"learning_curve": True}, "three": {}}}
    config = complete(experiment(repository, training, {}), schema)
    assert used_attention(config) == [], "a learning curve alone is no reason to train"
    config = complete(experiment(repository, training, {"row": translated(network="one")}), schema)
    assert used_attention(config) == ["one", "two"]
    rescored = {"base": "baseline", "features": [], "rescore": ["three"]}
    config = complete(experiment(repository, training, {"row": rescored}), schema)
    assert used_attention(config) == ["two", "three"]
    assert list_networks(config) == ("cslm", "attention", "one", "two", "three")


def test_a_system_translates_with_its_own_vocabularies_or_its_networks(
    repository: Path, schema: dict[str, Any]
) -> None:
    training = {"attention_networks": {"whole": {"vocabulary": "all"}}}
    systems = {
        "one": translated(),
        "two": translated(network="whole"),
        "three": translated(network="whole", vocabulary="few", replace_unknown=True),
    }
    config = complete(experiment(repository, training, systems, {"sets": {"few": {"frequent": 5}}}), schema)
    assert [translating_words(config, name) for name in systems] == ["default", "all", "few"]
    assert [config["systems"][name]["translate"]["replace_unknown"] for name in systems] == [False, False, True]


@pytest.mark.parametrize(
    ("training", "system", "vocabularies", "sentence"),
    [
        ({}, translated(network="x"), {}, r"row.translate.network: there is no attention network 'x'; known are att"),
        ({}, translated(vocabulary="x"), {}, r"row.translate.vocabulary: there are no target vocabularies 'x'; known "),
        ({}, translated() | {"base": "rnn"}, {}, r"row.translate: an attention network translates by itself; leave .*"),
        ({}, translated() | {"features": ["phrase"]}, {}, r"translates by itself; leave out features$"),
        ({}, {"base": "nmt", "features": []}, {}, r"row.base: 'nmt' is not searched but an attention network; name"),
        ({"attention_networks": {"cslm": {}}}, translated(), {}, r"training.attention_networks: 'cslm' means some"),
        ({"attention_networks": {"recurrent": {}}}, translated(), {}, r"attention_networks: 'recurrent' means somethi"),
        ({"attention_networks": {"x": {"vocabulary": "y"}}}, translated(), {}, r"networks.x.vocabulary: there are no"),
        ({"attention": {"hiden": 3}}, translated(), {}, r"training.attention: unknown key 'hiden'; did you mean 'hidd"),
        ({}, translated(), {"sets": {"all": {}}}, r"vocabularies.sets: 'all' means something else already; choose"),
        ({}, translated(), {"sets": {"x": {"phrases": -1}}}, r"vocabularies.sets.x.phrases: -1 is less than the mini"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_named(
    repository: Path,
    schema: dict[str, Any],
    training: dict[str, Any],
    system: dict[str, Any],
    vocabularies: dict[str, Any],
    sentence: str,
) -> None:
    systems = {"nmt": translated(), "row": system}
    with pytest.raises(UserError, match=sentence):
        complete(experiment(repository, training, systems, vocabularies), schema)


def test_defaults_are_those_of_the_package(repository: Path, schema: dict[str, Any]) -> None:
    config = complete(experiment(repository, {}, {}), schema)
    settings = attention_training(attention_networks(config)["attention"])
    # held-out text is always there in the workflow: validated once an epoch, and the best weights are kept
    assert vars(AttentionSettings(validate_every=0, keep="best")) == settings
    assert VocabularySettings(**sentence_vocabularies(config)["default"]) == VocabularySettings()
    decoding = config["decoding"]["attention"]
    assert AttentionDecodingSettings(**decoding) == AttentionDecodingSettings()
    assert set(decoding) == set(vars(AttentionDecodingSettings())) - {"replace_unknown"}
