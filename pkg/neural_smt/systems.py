"""The systems of an experiment, rows of its table: what each is made of, and which networks they need."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from neural_smt.attention_models import attention_networks, check_attention, translation
from neural_smt.errors import UserError
from neural_smt.recurrent_models import (
    SOURCE_SIDE,
    TARGET_ONLY,
    check_recurrent,
    joint_inputs,
    recurrent_settings,
)

GROUPS = ("phrase", "language_model", "reordering", "cslm", "recurrent", "unknown_penalty")
"""Feature groups that are no encoder-decoder."""

TAKEN = (*GROUPS, "encoder_decoder", "distortion", "lexical_reordering", "word_penalty", "phrase_penalty")
TAKEN += ("unknown_word_penalty", "translation_model")
"""Names that a network cannot have: features and files are called so."""

PAPER_ROWS = ("baseline", "rnn", "cslm_rnn", "cslm_rnn_wp")
"""The rows of Table 1 of Cho et al. (2014)."""


def resolve_features(systems: Mapping[str, Mapping[str, Any]], name: str) -> list[str]:
    """Feature groups of a system: those of its ``base`` (recursively), then its own, without repeats."""
    chain, current = [], name
    while current is not None:
        if current in chain:
            raise UserError(f"systems.{name}: its bases go in a circle ({' -> '.join([*chain, current])}); break it")
        if current not in systems:
            raise UserError(f"systems.{chain[-1]}.base: there is no system '{current}'; define it or name another")
        chain.append(current)
        current = systems[current].get("base")
    groups = [group for system in reversed(chain) for group in systems[system]["features"]]
    return list(dict.fromkeys(groups))


def resolve_table(systems: Mapping[str, Mapping[str, Any]], name: str) -> str:
    """The phrase table of a system, ``extracted`` or ``proposed``: its own, or that of the nearest base with one."""
    return _inherited(systems, name, "table", "extracted")


def resolve_data(systems: Mapping[str, Mapping[str, Any]], name: str) -> str:
    """The data of a system's phrase table and language model: its own, or those of the nearest base that names some.

    ``selected``; ``all``: the whole pool; ``random``: as many pairs of the pool as selection keeps; ``random_50000``:
    so many (``pairs`` of the system that names the data).
    """
    system = _owner(systems, name, "data")
    if system is None:
        return "selected"
    return f"{system['data']}_{system['pairs']}" if "pairs" in system else system["data"]


def drawn_pairs(data: str) -> int | None:
    """How many pairs are drawn at random for data as ``resolve_data`` names them; None where no number is given."""
    _, _, pairs = data.partition("_")
    return int(pairs) if pairs else None


def resolve_recurrent(systems: Mapping[str, Mapping[str, Any]], name: str) -> str | None:
    """The recurrent model that a system is searched with: its own, or that of the nearest base with one; None for a
    system without.
    """
    if "recurrent" not in resolve_features(systems, name):
        return None
    return _inherited(systems, name, "recurrent", TARGET_ONLY)


def _inherited(systems: Mapping[str, Mapping[str, Any]], name: str, key: str, default: str) -> str:
    system = _owner(systems, name, key)
    return default if system is None else system[key]


def _owner(systems: Mapping[str, Mapping[str, Any]], name: str, key: str) -> Mapping[str, Any] | None:
    """The system itself or its nearest base that has a key; None where none has."""
    current: str | None = name
    while current is not None:
        if key in systems[current]:
            return systems[current]
        current = systems[current].get("base")
    return None


def network_settings(config: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Settings of every encoder-decoder of a complete configuration: ``encoder_decoder`` and the named ones."""
    training = config["training"]
    return {"encoder_decoder": training["encoder_decoder"], **training["networks"]}


def used_networks(config: Mapping[str, Any]) -> list[str]:
    """The encoder-decoders that some system of a complete configuration uses; wherever there is one, also
    ``encoder_decoder`` itself, which is analysed and proposes phrases.
    """
    systems = config["systems"]
    used = {group for name in systems for group in resolve_features(systems, name)}
    if any(resolve_table(systems, name) == "proposed" for name in systems):
        used.add("encoder_decoder")
    networks = network_settings(config)
    return [name for name in networks if name in used or (name == "encoder_decoder" and used & set(networks))]


def inherit_networks(config: dict[str, Any]) -> None:
    """Give every named network the settings of ``encoder_decoder`` that it does not have of its own."""
    training = config.get("training")
    if not isinstance(training, dict) or not isinstance(training.get("networks"), dict):
        return
    common = training.get("encoder_decoder", {})
    for name, own in training["networks"].items():
        if isinstance(own, dict) and isinstance(common, dict):
            training["networks"][name] = {**deepcopy(common), **own}


def paper_rows(config: Mapping[str, Any]) -> dict[str, str]:
    """Rows of Table 1 of Cho et al. (2014) -> the system that stands for each, in the paper's order.

    Those of ``report.paper_rows``; where it names none, the systems of the same names.
    """
    declared, systems = config["report"]["paper_rows"], config["systems"]
    for row, system in declared.items():
        if system not in systems:
            raise UserError(f"report.paper_rows.{row}: there is no system '{system}'; define it or name another")
    chosen = declared or {row: row for row in PAPER_ROWS if row in systems}
    return {row: chosen[row] for row in PAPER_ROWS if row in chosen}


def check_systems(config: Mapping[str, Any]) -> None:
    """Raise ``UserError`` for the first system of a complete configuration that cannot be."""
    _check_networks(config)
    taken = *TAKEN, *network_settings(config)
    check_recurrent(config, taken, list_networks(config))
    check_attention(config, (*taken, *recurrent_settings(config)))
    for name in config["systems"]:
        resolve_features(config["systems"], name)
        _check_hooks(config, name)
        _check_rescored(config["systems"], name)
        _check_data(config, name)
    paper_rows(config)


def _check_networks(config: Mapping[str, Any]) -> None:
    for name in config["training"]["networks"]:
        if name in TAKEN:
            raise UserError(f"training.networks: '{name}' means something else already; choose another name")
    if config["training"]["encoder_decoder"]["direction"] != "forward":
        raise UserError(
            "training.encoder_decoder.direction: what this network knows of source phrases is analysed, so it stays "
            "forward; give training.networks a backward one"
        )
    known = [*GROUPS, *network_settings(config)]
    for name, system in config["systems"].items():
        for group in system["features"]:
            if group not in known:
                raise UserError(
                    f"systems.{name}.features: there is no feature group '{group}'; known are {', '.join(known)}"
                )


def _check_hooks(config: Mapping[str, Any], name: str) -> None:
    """A search asks one network, which reads nothing that is not there."""
    systems = config["systems"]
    model, known = resolve_recurrent(systems, name), recurrent_settings(config)
    if model is None:
        if "recurrent" in systems[name]:
            raise UserError(
                f"systems.{name}.recurrent: the search asks no recurrent model; add the feature 'recurrent'"
            )
        return
    if "cslm" in resolve_features(systems, name):
        raise UserError(
            f"systems.{name}.features: a search asks one network; take cslm or recurrent, rescore with the other"
        )
    if model not in known or model == SOURCE_SIDE:
        others = [other for other in known if other != SOURCE_SIDE]
        raise UserError(
            f"systems.{name}.recurrent: there is no recurrent model '{model}'; known are {', '.join(others)}"
        )
    if joint_inputs(config).get(model, {}).get("side") == "target":
        raise UserError(
            f"systems.{name}.recurrent: '{model}' reads references, which a search has none of; rescore with it"
        )


def _check_data(config: Mapping[str, Any], name: str) -> None:
    """Networks, their shortlists and what they score are of the selected data; other data have none of them."""
    systems = config["systems"]
    if "pairs" in systems[name] and systems[name].get("data") != "random":
        raise UserError(
            f"systems.{name}.pairs: a number of pairs is drawn at random; add 'data: random' or leave it out"
        )
    data = resolve_data(systems, name)
    if data == "selected":
        return
    if config["selection"]["method"] == "none" and drawn_pairs(data) is None:
        raise UserError(f"systems.{name}.data: selection is off, so '{data}' is what all systems have; leave it out")
    groups = [*resolve_features(systems, name), *systems[name].get("rescore", ())]
    others = [group for group in groups if group not in ("phrase", "language_model", "reordering")]
    if resolve_table(systems, name) == "proposed":
        others.append("the proposed table")
    if others:
        raise UserError(f"systems.{name}.data: {others[0]} is made from the selected data; use it without '{data}'")


def is_rescored(system: Mapping[str, Any]) -> bool:
    """Whether a system chooses among what its base found, and is not searched itself."""
    return bool(system.get("rescore") or system.get("rescoring", {}).get("without"))


def list_networks(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The networks that score n-best lists when systems rescore with them."""
    return "cslm", *attention_networks(config)


def _check_rescored(systems: Mapping[str, Mapping[str, Any]], name: str) -> None:
    system = systems[name]
    if is_rescored(system) and ("base" not in system or system["features"]):
        raise UserError(f"systems.{name}.rescore: what a base found is rescored; name a base and leave features empty")
    base = systems.get(system.get("base"), {})
    if is_rescored(base) or translation(base):
        kind = "rescored" if is_rescored(base) else "an attention network"
        raise UserError(f"systems.{name}.base: '{system['base']}' is not searched but {kind}; name another base")
    if set(system.get("rescore", ())) & set(resolve_features(systems, name)):
        raise UserError(f"systems.{name}.rescore: its base is searched with it already; name another base")
