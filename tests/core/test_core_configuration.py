"""Configuration: defaults, systems that build on one another; faults stand in ``bad_settings.yaml``."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from neural_smt.experiment.configuration import complete
from neural_smt.experiment.settings import load_schema
from neural_smt.experiment.systems import Systems, drawn_pairs


@pytest.fixture
def embedded(repository: Path) -> dict[str, Any]:
    return yaml.safe_load((repository / "config.yaml").read_text(encoding="utf-8"))


def changed(config: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A copy of ``config`` with the key at the dotted ``path`` set."""
    config = deepcopy(config)
    *parents, last = path.split(".")
    place = config
    for key in parents:
        place = place.setdefault(key, {})
    place[last] = value
    return config


@pytest.mark.parametrize(
    "name", ["config.yaml", *(f"experiments/{name}.yaml" for name in ("tiny", "multi30k", "news", "news_published"))]
)
def test_shipped_experiments_are_valid(repository: Path, name: str) -> None:
    config = complete(yaml.safe_load((repository / name).read_text(encoding="utf-8")))
    assert {"baseline", "rnn"} <= set(config["systems"])
    assert config["alignment"]["heuristic"] == "grow-diag-final-and"
    assert config["decoding"]["test"]["stack_size"] == 200
    assert config["corpus"]["cleaning"] == {"max_length": 80, "max_ratio": 9}


def test_texts_of_numbers_are_read_where_numbers_are_wanted(embedded: dict[str, Any]) -> None:
    typed = {"tuning": {"runs": "4", "mira": {"decay": "0.5"}}, "check": {"disk": "false"}, "shards": "2"}
    found = complete(embedded | typed)
    assert (found["tuning"]["runs"], found["tuning"]["mira"]["decay"]) == (4, 0.5)
    assert (found["check"]["disk"], found["shards"]) == (False, 2)
    assert typed["tuning"]["runs"] == "4", "what is given stays as it is"


def test_full_size_experiments_are_those_of_the_papers(repository: Path) -> None:
    def read(name: str) -> dict[str, Any]:
        return complete(yaml.safe_load((repository / "experiments" / name).read_text(encoding="utf-8")))

    cho_and_mi = read("wmt14.yaml")
    network, attention = cho_and_mi["networks"]["encoder_decoder"], cho_and_mi["networks"]["attention"]
    cho = {"hidden": 1000, "rank": 100, "maxout": 500, "batch": 64, "rho": 0.95, "epsilon": 1e-6}
    assert cho.items() <= network.items()
    assert {"source_words": 500_000, "target_words": 500_000, "batch": 80, "hidden": 1000}.items() <= attention.items()
    assert cho_and_mi["networks"]["cslm"]["projection"] * 6 == 3072
    assert cho_and_mi["corpus"]["sources"]["newstest2014"]["fr"]["member"] == "test-full/newstest2014-fren-ref.fr.sgm"
    auli = read("wmt12.yaml")
    recurrent = {"hidden": 100, "bptt": 20, "rate": 0.1, "epochs": 20, "direct_order": 3}
    assert recurrent.items() <= auli["networks"]["recurrent"].items()
    assert auli["languages"] == {"source": "fr", "target": "en"}
    for config in (cho_and_mi, auli):
        assert complete(config) == config, "what is complete stays as it is"
        for source in config["corpus"]["sources"].values():
            for side in (source[language] for language in config["languages"].values() if language in source):
                assert side["url"].startswith(("https://www.statmt.org/wmt1", "https://statmt.org/wmt"))


def test_every_setting_is_described_and_every_number_has_a_largest() -> None:
    waiting: list[dict[str, Any]] = [load_schema()]
    while waiting:
        part = waiting.pop()
        waiting += [sub for sub in part.values() if isinstance(sub, dict)]
        bare = [name for name, setting in part.get("properties", {}).items() if "description" not in setting]
        assert not bare, bare
        numbers = [one for one in part.get("properties", {}).values() if one.get("type") in ("integer", "number")]
        assert all({"maximum", "exclusiveMaximum"} & one.keys() for one in numbers), part


def test_given_values_win_over_defaults(embedded: dict[str, Any]) -> None:
    config = complete(changed(embedded, "decoding.test.stack_size", 17))
    assert config["decoding"]["test"]["stack_size"] == 17
    assert config["decoding"]["test"]["distortion_limit"] == 6
    assert embedded["decoding"]["test"]["stack_size"] == 200, "the caller's own copy is left alone"


def test_a_network_has_the_settings_of_the_encoder_decoder_but_for_its_own(embedded: dict[str, Any]) -> None:
    own = {"tanh": {"unit": "tanh"}, "small": {"hidden": 7}, "idle": {}}
    given = embedded
    for name, settings in own.items():
        given = changed(given, f"networks.{name}", {"base": "encoder_decoder", **settings})
    given = changed(given, "systems.rnn.features", ["encoder_decoder", "small", "tanh", "unknown_penalty"])
    config = complete(given)
    settings = {name: Systems(config).training_settings(name) for name in ("encoder_decoder", *own)}
    common = settings["encoder_decoder"]
    assert common["hidden"] == embedded["networks"]["encoder_decoder"]["hidden"] != 7
    assert settings["tanh"] == common | {"unit": "tanh"}
    assert settings["small"] == common | {"hidden": 7}
    assert Systems(config).used_networks() == ["encoder_decoder", "cslm", "tanh", "small"]


SYSTEMS = yaml.safe_load(Path(__file__).with_name("systems.yaml").read_text(encoding="utf-8"))


def test_a_system_has_what_its_bases_have_but_for_its_own() -> None:
    experiment = Systems({"networks": {}, "systems": SYSTEMS | {"last": {"base": "rnn", "features": []}}})
    assert experiment.features("both") == ["phrase", "language_model", "encoder_decoder", "cslm"]
    tables = {name: experiment.table(name) for name in experiment.systems}
    assert {name for name, table in tables.items() if table != "extracted"} == {"rnn", "last"}
    assert {tables["rnn"], tables["last"]} == {"proposed"}
    data = {name: experiment.data(name) for name in SYSTEMS}
    others = {"random": "random", "more": "random", "other": "random", "drawn": "random_500", "further": "random_500"}
    assert data == dict.fromkeys(SYSTEMS, "selected") | others
    assert [drawn_pairs(data) for data in ("random_500", "random", "all", "selected")] == [500, None, None, None]


def test_systems_of_other_data_that_can_be(embedded: dict[str, Any]) -> None:
    config = changed(embedded, "systems.whole", {"base": "baseline", "features": [], "data": "all"})
    for own in ({"features": ["encoder_decoder"]}, {"rescore": ["cslm"]}, {"table": "proposed"}):
        row = {"base": "whole", "features": [], "data": "selected"} | own
        assert complete(changed(config, "systems.more", row))["systems"]["more"]["data"] == "selected"
    # without a selection, a number of pairs is still a part of the whole
    drawn = changed(changed(embedded, "systems.drawn", SYSTEMS["drawn"]), "selection.method", "none")
    assert Systems(complete(drawn)).data("drawn") == "random_500"
