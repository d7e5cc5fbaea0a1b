"""Configuration: defaults, systems that build on one another; faults stand in ``bad_settings.yaml``."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from neural_smt.errors import UserError
from neural_smt.experiment.configuration import complete
from neural_smt.experiment.networks import training_settings
from neural_smt.experiment.systems import (
    drawn_pairs,
    resolve_data,
    resolve_features,
    resolve_table,
    used_networks,
)


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
    "name", ["config.yaml", "experiments/tiny.yaml", "experiments/multi30k.yaml", "experiments/news.yaml"]
)
def test_shipped_experiments_are_valid(repository: Path, name: str) -> None:
    config = complete(yaml.safe_load((repository / name).read_text(encoding="utf-8")))
    assert {"baseline", "rnn"} <= set(config["systems"])
    assert config["alignment"]["heuristic"] == "grow-diag-final-and"
    assert config["decoding"]["test"]["stack_size"] == 200
    assert config["corpus"]["cleaning"] == {"max_length": 80, "max_ratio": 9}


def test_full_size_experiments_are_those_of_the_papers(repository: Path) -> None:
    def read(name: str) -> dict[str, Any]:
        return complete(yaml.safe_load((repository / "experiments" / name).read_text(encoding="utf-8")))

    cho_and_mi = read("wmt14.yaml")
    network, attention = cho_and_mi["networks"]["encoder_decoder"], cho_and_mi["networks"]["attention"]
    assert [network[key] for key in ("hidden", "rank", "maxout", "batch", "rho", "epsilon")] == [
        1000,
        100,
        500,
        64,
        0.95,
        1e-6,
    ]
    assert [attention[key] for key in ("source_words", "target_words", "batch", "hidden")] == [
        500_000,
        500_000,
        80,
        1000,
    ]
    assert cho_and_mi["networks"]["cslm"]["projection"] * 6 == 3072
    assert cho_and_mi["corpus"]["sources"]["newstest2014"]["fr"]["member"] == "test-full/newstest2014-fren-ref.fr.sgm"
    auli = read("wmt12.yaml")
    assert [auli["networks"]["recurrent"][key] for key in ("hidden", "bptt", "rate", "epochs", "direct_order")] == [
        100,
        20,
        0.1,
        20,
        3,
    ]
    assert auli["languages"] == {"source": "fr", "target": "en"}
    for config in (cho_and_mi, auli):
        assert complete(config) == config, "what is complete stays as it is"
        for source in config["corpus"]["sources"].values():
            for side in (source[language] for language in config["languages"].values() if language in source):
                assert side["url"].startswith(("https://www.statmt.org/wmt1", "https://statmt.org/wmt"))


def test_given_values_win_over_defaults(embedded: dict[str, Any]) -> None:
    config = complete(changed(embedded, "decoding.test.stack_size", 17))
    assert config["decoding"]["test"]["stack_size"] == 17
    assert config["decoding"]["test"]["distortion_limit"] == 6
    assert "decoding" not in embedded or "test" not in embedded["decoding"], "the caller's own copy is left alone"


def test_a_network_has_the_settings_of_the_encoder_decoder_but_for_its_own(embedded: dict[str, Any]) -> None:
    own = {"tanh": {"unit": "tanh"}, "small": {"hidden": 7}, "idle": {}}
    given = embedded
    for name, settings in own.items():
        given = changed(given, f"networks.{name}", {"base": "encoder_decoder", **settings})
    given = changed(given, "systems.rnn.features", ["encoder_decoder", "small", "tanh", "unknown_penalty"])
    config = complete(given)
    settings = {name: training_settings(config, name) for name in ("encoder_decoder", *own)}
    common = settings["encoder_decoder"]
    assert common["hidden"] == embedded["networks"]["encoder_decoder"]["hidden"] != 7
    assert settings["tanh"] == common | {"unit": "tanh"}
    assert settings["small"] == common | {"hidden": 7}
    assert used_networks(config) == ["encoder_decoder", "tanh", "small"]


def test_features_of_a_system_start_with_those_of_its_base() -> None:
    systems = {
        "baseline": {"features": ["phrase", "language_model"]},
        "rnn": {"base": "baseline", "features": ["encoder_decoder"]},
        "both": {"base": "rnn", "features": ["cslm", "phrase"]},
    }
    assert resolve_features(systems, "both") == ["phrase", "language_model", "encoder_decoder", "cslm"]


def test_the_table_of_a_system_is_its_own_or_its_bases() -> None:
    systems = {
        "baseline": {"features": ["phrase"]},
        "proposed": {"base": "baseline", "features": [], "table": "proposed"},
        "more": {"base": "proposed", "features": ["cslm"]},
        "back": {"base": "more", "features": [], "table": "extracted"},
    }
    assert [resolve_table(systems, name) for name in systems] == ["extracted", "proposed", "proposed", "extracted"]


def test_the_data_of_a_system_are_its_own_or_its_bases() -> None:
    systems = {
        "baseline": {"features": ["phrase"]},
        "random": {"base": "baseline", "features": [], "data": "random"},
        "more": {"base": "random", "features": ["reordering"]},
        "back": {"base": "more", "features": ["encoder_decoder"], "data": "selected"},
    }
    assert [resolve_data(systems, name) for name in systems] == ["selected", "random", "random", "selected"]


def test_a_system_of_other_data_has_classic_features_only(embedded: dict[str, Any]) -> None:
    row = {"base": "baseline", "features": [], "data": "all"}
    complete(changed(embedded, "systems.whole", row))
    of_selected = {
        "encoder_decoder": {"base": "whole", "features": ["encoder_decoder"]},
        "cslm": {"base": "whole", "features": [], "rescore": ["cslm"]},
        "the proposed table": {"base": "whole", "features": [], "table": "proposed"},
    }
    for part, system in of_selected.items():
        config = changed(changed(embedded, "systems.whole", row), "systems.more", system)
        with pytest.raises(UserError) as caught:
            complete(config)
        sentence = f"systems.more.data: {part} is made from the selected data; use it without 'all'"
        assert str(caught.value) == sentence
        complete(changed(config, "systems.more.data", "selected"))


def test_other_data_need_a_selection(embedded: dict[str, Any]) -> None:
    row = {"base": "baseline", "features": [], "data": "random"}
    config = changed(changed(embedded, "systems.drawn", row), "selection.method", "none")
    with pytest.raises(UserError, match=r"^systems.drawn.data: selection is off, so 'random' is what all systems have"):
        complete(config)


def test_a_number_of_pairs_makes_data_of_its_own(embedded: dict[str, Any]) -> None:
    rows = {
        "drawn": {"base": "baseline", "features": [], "data": "random", "pairs": 500},
        "more": {"base": "drawn", "features": ["reordering"]},
        "other": {"base": "drawn", "features": [], "data": "random"},
    }
    config = embedded
    for name, row in rows.items():
        config = changed(config, f"systems.{name}", row)
    systems = complete(config)["systems"]
    assert [resolve_data(systems, name) for name in rows] == ["random_500", "random_500", "random"]
    assert [drawn_pairs(data) for data in ("random_500", "random", "all", "selected")] == [500, None, None, None]
    # without a selection, a number of pairs is still a part of the whole
    config = changed(changed(embedded, "systems.drawn", rows["drawn"]), "selection.method", "none")
    complete(config)
    for data in ("all", "selected", None):
        row = {"base": "baseline", "features": [], "pairs": 500} | ({"data": data} if data else {})
        with pytest.raises(UserError, match=r"^systems.drawn.pairs: .* add 'data: random' or leave it out$"):
            complete(changed(embedded, "systems.drawn", row))
