"""Networks in a configuration: kinds, what they inherit, who uses them, and what cannot be."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from refusals import check_refused

from neural_smt.experiment.configuration import MOVED, complete
from neural_smt.experiment.layout import Layout
from neural_smt.experiment.networks import joint_text
from neural_smt.experiment.settings import section_settings
from neural_smt.experiment.systems import Systems
from neural_smt.vocabulary_selection.candidates import SIZES

Section = dict[str, Any]

FAULTS = Path(__file__).with_name("bad_networks.yaml")


@pytest.fixture(scope="module")
def tiny(repository: Path) -> Section:
    return yaml.safe_load((repository / "experiments" / "tiny.yaml").read_text(encoding="utf-8"))


def experiment(tiny: Section, networks: Section, systems: Section, **others: Any) -> Section:
    return tiny | {"networks": tiny["networks"] | networks, "systems": tiny["systems"] | systems} | others


def systems_of(tiny: Section, networks: Section, systems: Section, **others: Any) -> Systems:
    return Systems(complete(experiment(tiny, networks, systems, **others)))


def rescored(*network: str, **rescoring: Any) -> Section:
    return {"base": "baseline", "features": [], "rescore": list(network), "rescoring": rescoring}


def searched(*groups: str) -> Section:
    return {"base": "baseline", "features": list(groups)}


def translated(**chosen: Any) -> Section:
    return {"features": [], "translate": chosen}


def test_a_network_of_some_sources_reads_the_texts_that_hold_them(tiny: Section) -> None:
    networks = {"recurrent": {"sources": ["extra", "news"]}}
    networks |= {"pairs": {"base": "recurrent", "sources": ["pool"], "input": {"kind": "learned"}}}
    layout = Layout(complete(experiment(tiny, networks, {"row": rescored("recurrent"), "joint": rescored("pairs")})))
    read = {name: joint_text(layout, name) for name in ("recurrent", "pairs")}
    cleaning, selection = "results/tiny/corpus/cleaning", "results/tiny/selection"
    pairs = [[f"{cleaning}.in_domain.csv"], [f"{cleaning}.train.csv", f"{selection}/train.scores.tsv.gz"]]
    extra = [f"{cleaning}.monolingual.csv", f"{selection}/monolingual.scores.tsv.gz"]
    assert read["recurrent"] == {
        "texts": [f"{selection}/train.fr", f"{selection}/monolingual.fr"],
        "origins": [*pairs, extra],
    }
    assert (read["pairs"]["texts"], read["pairs"]["origins"]) == ([f"{selection}/train.fr"], pairs)
    assert read["pairs"]["sources"] == [f"{selection}/train.en"]
    unselected = tiny | {"selection": {}}
    layout = Layout(complete(experiment(unselected, networks, {"row": rescored("recurrent")})))
    assert joint_text(layout, "recurrent")["origins"] == [*pairs[:1], pairs[1][:1], extra[:1]]


def test_networks_inherit_kind_and_settings(tiny: Section) -> None:
    networks = {
        "recurrent": {"hidden": 30, "epochs": 3},
        "small": {"base": "recurrent", "epochs": 2},
        "lsa": {"base": "small", "hidden": 40, "input": {"kind": "sentence_lsa", "dimensions": 8}},
        "attention": {"hidden": 30, "target_words": 700, "learning_curve": True},
        "whole": {"base": "attention", "vocabulary": "all", "learning_curve": False},
        "other": {"kind": "attention", "hidden": 7},
    }
    made = systems_of(tiny, networks, {})
    sizes = {name: (own["hidden"], own["epochs"]) for name, own in made.networks_of_kind("recurrent").items()}
    assert sizes == {"recurrent": (30, 3), "recurrent_source": (50, 3), "small": (30, 2), "lsa": (40, 2)}
    assert made.joint_inputs["lsa"].items() >= {"kind": "sentence_lsa", "dimensions": 8, "side": "source"}.items()
    chosen = ("hidden", "target_words", "vocabulary", "learning_curve")
    found = {name: tuple(own[key] for key in chosen) for name, own in made.networks_of_kind("attention").items()}
    assert found == {
        "attention": (30, 700, "default", True),
        "whole": (30, 700, "all", False),
        "other": (7, 500_000, "default", False),
    }
    assert complete(made.config) == made.config, "what is complete stays as it is"
    assert not {"kind", "base", "input", "language"} & made.training_settings("lsa").keys()
    assert made.used_networks() == ["encoder_decoder"]


def test_named_vocabularies_inherit(tiny: Section) -> None:
    vocabularies = {"frequent": 50, "sets": {"words": {"phrases": 0}, "many": {"frequent": 90, "dictionary": 3}}}
    made = systems_of(tiny, {}, {}, vocabulary_selection=vocabularies)
    sizes = {name: tuple(own.values()) for name, own in made.sentence_vocabularies.items()}
    assert sizes == {"default": (10, 10, 50, 0), "words": (10, 0, 50, 0), "many": (3, 10, 90, 0)}


@pytest.mark.parametrize(
    ("systems", "used"),
    [
        ({}, []),
        ({"one": rescored("lsa")}, ["lsa"]),
        ({"one": searched("recurrent"), "two": searched("lsa")}, ["recurrent", "lsa"]),
        # the source's model lends it its word vectors
        ({"one": rescored("window")}, ["recurrent_source", "window"]),
        ({"one": rescored("lent")}, ["lender", "lent"]),
        # a learning curve is drawn where there is an attention network at all
        ({"one": translated(network="first")}, ["first", "second"]),
        ({"one": rescored("third")}, ["second", "third"]),
        ({"one": rescored("cslm"), "two": searched("wide")}, ["cslm", "wide"]),
    ],
)
def test_only_networks_that_serve_are_trained(tiny: Section, systems: Section, used: list[str]) -> None:
    networks = {
        "lsa": {"base": "recurrent", "input": {"kind": "sentence_lsa"}},
        "window": {"base": "recurrent", "input": {"kind": "word_rnn", "window": "n5"}},
        "lender": {"base": "recurrent_source", "hidden": 9},
        "lent": {"base": "window", "input": {"kind": "word_rnn", "network": "lender"}},
        "first": {"base": "attention"},
        "second": {"base": "attention", "learning_curve": True},
        "third": {"base": "attention"},
        "wide": {"base": "cslm", "projection": 9},
    }
    made = systems_of(tiny, networks, systems)
    assert made.used_networks() == ["encoder_decoder", *used]
    assert made.used_networks("cslm") == [name for name in used if name in ("cslm", "wide")]
    assert [made.lending_network(name) for name in ("lsa", "window", "lent")] == [None, "recurrent_source", "lender"]


def test_an_experiment_of_joint_models_alone_needs_no_encoder_decoder(tiny: Section) -> None:
    config = experiment(tiny, {}, {"lattices": rescored("recurrent")})
    del config["systems"]["rnn"]
    assert Systems(complete(config)).used_networks() == ["recurrent"]


def test_a_search_asks_the_network_among_its_features(tiny: Section) -> None:
    networks = {"lsa": {"base": "recurrent", "input": {"kind": "sentence_lsa"}}, "wide": {"base": "cslm"}}
    systems = {"one": searched("lsa"), "two": {"base": "rnn", "features": ["wide"]}}
    made = systems_of(tiny, networks, systems)
    assert [made.searched_network(name) for name in made.config["systems"]] == [None, None, "lsa", "wide"]
    classic = ["phrase", "language_model", "reordering"]
    assert made.feature_groups("one") == [*classic, "recurrent"]
    assert made.feature_groups("two") == [*classic, "encoder_decoder", "cslm"]


def test_models_whose_classes_are_compared_are_trained(tiny: Section) -> None:
    networks = {
        "plain": {"base": "recurrent", "classes": {"method": "frequency"}},
        "clustered": {"base": "recurrent", "classes": {"method": "exchange", "speed": 0}},
        "recurrent": {"hidden": 30},
    }
    made = systems_of(tiny, networks, {}, report={"word_classes": ["recurrent", "clustered"]})
    assert made.used_networks("recurrent") == ["recurrent", "clustered"]
    assert made.config["networks"]["clustered"]["classes"] == {"method": "exchange", "count": 0, "speed": 0}


def test_lattices_are_chosen_from_with_a_model_or_with_other_weights(tiny: Section) -> None:
    lists = {
        "lists": rescored("cslm"),
        "attention_lists": rescored("attention"),
        "joint_lists": rescored("recurrent", candidates="lists"),
        "few": rescored("cslm", nbest=7),
    }
    lattices = {
        "lattices": rescored("recurrent", beam=10),
        "without": rescored(drop_features=["TranslationModel0_2"]),
        "attention_lattices": rescored("attention", candidates="lattice"),
    }
    made = systems_of(tiny, {}, lists | lattices)
    found = {name: (made.is_rescored(name), made.rescores_lattices(name)) for name in made.config["systems"]}
    entries = {"lists": 1000, "few": 7, "attention_lists": 100, "joint_lists": 100, "attention_lattices": 100}
    assert {name: made.scored_entries(name) for name in entries} == entries
    assert made.list_systems("baseline") == list(lists) and made.listed_entries("baseline") == 1000
    assert systems_of(tiny, {}, {"few": lists["few"]} | lattices).listed_entries("baseline") == 7
    searched_alone = dict.fromkeys(("baseline", "rnn"), (False, False))
    assert found == searched_alone | dict.fromkeys(lists, (True, False)) | dict.fromkeys(lattices, (True, True))


def test_a_system_translates_with_its_own_vocabularies_or_its_networks(tiny: Section) -> None:
    systems = {
        "one": translated(),
        "two": translated(network="whole"),
        "three": translated(network="whole", vocabulary="few", replace_unknown=True),
    }
    networks = {"whole": {"base": "attention", "vocabulary": "all"}}
    sets = {"sets": {"few": {"frequent": 5}}}
    made = systems_of(tiny, networks, systems, vocabulary_selection=sets)
    assert [made.translating_words(name) for name in systems] == ["default", "all", "few"]
    assert [made.config["systems"][name]["translate"]["replace_unknown"] for name in systems] == [False, False, True]


@pytest.mark.parametrize("row", yaml.safe_load(FAULTS.read_text(encoding="utf-8")), ids=lambda row: str(row["names"]))
def test_what_cannot_be_is_named(tiny: Section, row: Section) -> None:
    systems = {"nmt": translated(), "row": row.get("system", searched("cslm"))}
    others = {key: value for key, value in row.items() if key not in ("networks", "system", "names")}
    check_refused(row["names"], complete, experiment(tiny, row.get("networks", {}), systems, **others))


@pytest.mark.parametrize(("path", "advice"), MOVED.items())
def test_settings_of_old_are_refused_with_their_new_place(tiny: Section, path: str, advice: str) -> None:
    path = path.replace("*", "cslm" if path.startswith("networks") else "baseline")
    first, *rest = path.split(".")
    value: Any = {}
    for key in reversed(rest):
        value = {key: value}
    check_refused([path, advice], complete, tiny | {first: value})


def test_defaults_are_those_of_the_package(tiny: Section) -> None:
    made = systems_of(tiny, {}, {})
    expected = {"drop_features": [], "candidates": "auto", "beam": 1, "optimiser": "mert"}
    assert made.config["systems"]["baseline"]["rescoring"] == expected
    assert section_settings(SIZES, {}).as_dict() == made.sentence_vocabularies["default"]
