"""The systems of an experiment, rows of its table: what each is made of, and which networks they need."""

from collections.abc import Mapping
from typing import Any

from neural_smt.errors import UserError
from neural_smt.experiment.networks import (
    KINDS,
    check_networks,
    check_vocabulary,
    compared_classes,
    joint_inputs,
    kind_of,
    kinds_that_score,
    lending_network,
    networks_of_kind,
    scoring_networks,
)
from neural_smt.experiment.settings import base_chain

SEARCH_KINDS = kinds_that_score("search")

GROUPS = ("phrase", "language_model", "reordering", "unknown_penalty")
"""Feature groups that are no network."""

TAKEN = (*GROUPS, "distortion", "lexical_reordering", "word_penalty", "phrase_penalty")
TAKEN += ("unknown_word_penalty", "translation_model")
"""Names that a network cannot have: features and files are called so."""

PAPER_ROWS = ("baseline", "rnn", "cslm_rnn", "cslm_rnn_wp")
"""The rows of Table 1 of Cho et al. (2014)."""


def resolve_features(systems: Mapping[str, Mapping[str, Any]], name: str) -> list[str]:
    """Feature groups of a system: those of its ``base`` (recursively), then its own, without repeats."""
    chain = base_chain(systems, name, "systems", "system")
    groups = [group for system in reversed(chain) for group in systems[system]["features"]]
    return list(dict.fromkeys(groups))


def resolve_table(systems: Mapping[str, Mapping[str, Any]], name: str) -> str:
    """The phrase table of a system, ``extracted`` or ``proposed``: its own, or that of the nearest base with one."""
    return _owner(systems, name, "table").get("table", "extracted")


def resolve_data(systems: Mapping[str, Mapping[str, Any]], name: str) -> str:
    """The data of a system's phrase table and language model: its own, or those of the nearest base that names some.

    ``selected``; ``all``: the whole pool; ``random``: as many pairs of the pool as selection keeps; ``random_50000``:
    so many (``pairs`` of the system that names the data).
    """
    system = _owner(systems, name, "data")
    data = system.get("data", "selected")
    return f"{data}_{system['pairs']}" if "pairs" in system else data


def drawn_pairs(data: str) -> int | None:
    """How many pairs are drawn at random for data as ``resolve_data`` names them; None where no number is given."""
    _, _, pairs = data.partition("_")
    return int(pairs) if pairs else None


def searched_network(config: Mapping[str, Any], name: str) -> str | None:
    """The network that scores words in a system's search; None for a system without."""
    groups = resolve_features(config["systems"], name)
    return next((group for group in groups if kind_of(config, group) in SEARCH_KINDS), None)


def feature_groups(config: Mapping[str, Any], name: str) -> list[str]:
    """Feature groups of a system as ``build_feature_set`` takes them: a network of the search is called by its kind."""
    groups = resolve_features(config["systems"], name)
    kinds = [kind_of(config, group) for group in groups]
    return [kind if kind in SEARCH_KINDS else group for group, kind in zip(groups, kinds, strict=True)]


def _owner(systems: Mapping[str, Mapping[str, Any]], name: str, key: str) -> Mapping[str, Any]:
    """The system itself or its nearest base that has a key; nothing where none has."""
    chain = base_chain(systems, name, "systems", "system")
    return next((systems[one] for one in chain if key in systems[one]), {})


def used_networks(config: Mapping[str, Any], *kinds: str) -> list[str]:
    """The networks that are trained, of some kinds or of all.

    Those that a system uses; that lend another one their word vectors; whose classes are compared; wherever there is an
    encoder-decoder, ``encoder_decoder`` itself, which is analysed and proposes phrases; and wherever there is an
    attention network, all whose learning curve is drawn.
    """
    systems, networks = config["systems"], config["networks"]
    used = set(compared_classes(config))
    for name, system in systems.items():
        used |= {*resolve_features(systems, name), *system.get("rescore", ())}
        used |= {chosen["network"]} if (chosen := translation(system)) else set()
    if any(resolve_table(systems, name) == "proposed" for name in systems):
        used.add("encoder_decoder")
    used &= networks.keys()
    used |= {"encoder_decoder"} if used & networks_of_kind(config, "encoder_decoder").keys() else set()
    attention = networks_of_kind(config, "attention")
    if used & attention.keys():
        used |= {name for name, network in attention.items() if network["learning_curve"]}
    used |= {lender for name in used if (lender := lending_network(config, name))}
    return [name for name in networks if name in used and (not kinds or networks[name]["kind"] in kinds)]


def training_threads(config: Mapping[str, Any], name: str) -> int:
    """Threads that a network is trained with: networks that train side by side take less time than one after the other
    with more threads.
    """
    beside = KINDS[config["networks"][name]["kind"]].beside
    return 2 if beside and len(used_networks(config, *beside)) == 1 else 1


def translation(system: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """How a system that is an attention network alone translates; None for a system of another kind."""
    return system.get("translate")


def translating_words(config: Mapping[str, Any], name: str) -> str:
    """The target vocabularies that a system of this kind translates with: its own, or those of its network."""
    chosen = config["systems"][name]["translate"]
    return chosen.get("vocabulary") or config["networks"][chosen["network"]]["vocabulary"]


def rescoring_network(system: Mapping[str, Any]) -> str | None:
    """The network that rescores the candidates of a system's base; None where only weights are tuned anew."""
    return next(iter(system.get("rescore", ())), None)


def is_rescored(system: Mapping[str, Any]) -> bool:
    """Whether a system chooses among what its base found, and is not searched itself."""
    return bool(system.get("rescore") or system.get("rescoring", {}).get("drop_features"))


def rescored_candidates(config: Mapping[str, Any], name: str) -> str | None:
    """What a system of a complete configuration chooses among: ``lists`` of its base's search, its ``lattice``s, or
    ``nbest`` lists drawn from these; None for a system that is searched itself. Where it does not say so, what its
    network's kind scores first.
    """
    system = config["systems"][name]
    if not is_rescored(system):
        return None
    chosen, kind = system["rescoring"]["candidates"], KINDS.get(kind_of(config, rescoring_network(system)) or "")
    if chosen != "auto":
        return chosen
    return (
        "lists"
        if kind and next(what for what in kind.scores if what in ("lists", "lattices")) == "lists"
        else "lattice"
    )


def rescores_lattices(config: Mapping[str, Any], name: str) -> bool:
    """Whether a system chooses among the lattices of its base, with a network or with other weights."""
    return rescored_candidates(config, name) in ("lattice", "nbest")


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
    """Raise ``UserError`` for the first network or system of a complete configuration that cannot be."""
    check_networks(config, TAKEN)
    known = [*GROUPS, *scoring_networks(config, *kinds_that_score("phrases"), *SEARCH_KINDS)]
    for name, system in config["systems"].items():
        for group in system["features"]:
            if group not in known:
                raise UserError(
                    f"systems.{name}.features: there is no feature group '{group}'; known are {', '.join(known)}"
                )
    for name, system in config["systems"].items():
        resolve_features(config["systems"], name)
        _check_searched(config, name)
        _check_rescored(config, name)
        _check_data(config, name)
        if translation(system):
            _check_translation(config, name)
    paper_rows(config)


def _check_searched(config: Mapping[str, Any], name: str) -> None:
    """A search asks one network, which reads nothing that is not there."""
    groups = resolve_features(config["systems"], name)
    asked = [group for group in groups if kind_of(config, group) in SEARCH_KINDS]
    if len(asked) > 1:
        raise UserError(
            f"systems.{name}.features: a search asks one network; take {' or '.join(asked)}, rescore with the other"
        )
    if asked and joint_inputs(config).get(asked[0], {}).get("side") == "target":
        raise UserError(
            f"systems.{name}.features: '{asked[0]}' reads references, which a search has none of; rescore with it"
        )


def _check_translation(config: Mapping[str, Any], name: str) -> None:
    """An attention network translates by itself, with target vocabularies that there are."""
    system, networks = config["systems"][name], networks_of_kind(config, "attention")
    others = [key for key in ("base", "table", "data") if key in system]
    others += [key for key in ("features", "rescore") if system[key]]
    where = f"systems.{name}.translate"
    if others:
        raise UserError(f"{where}: an attention network translates by itself; leave out {', '.join(others)}")
    if (network := system["translate"]["network"]) not in networks:
        raise UserError(f"{where}.network: there is no attention network '{network}'; known are {', '.join(networks)}")
    check_vocabulary(config, where, translating_words(config, name))


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


def _check_rescored(config: Mapping[str, Any], name: str) -> None:
    systems = config["systems"]
    system, network = systems[name], rescoring_network(systems[name])
    kind = kind_of(config, network)
    known = scoring_networks(config, *kinds_that_score("lists"), *kinds_that_score("lattices"))
    if network not in (None, *known):
        raise UserError(f"systems.{name}.rescore: there is no network '{network}'; known are {', '.join(known)}")
    if is_rescored(system) and not rescores_lattices(config, name) and system["rescoring"]["drop_features"]:
        raise UserError(f"systems.{name}.rescoring.drop_features: only lattices can do without scores; leave it out")
    if is_rescored(system) and ("base" not in system or system["features"]):
        raise UserError(f"systems.{name}.rescore: what a base found is rescored; name a base and leave features empty")
    base = systems.get(system.get("base"), {})
    if is_rescored(base) or translation(base):
        state = "rescored" if is_rescored(base) else "an attention network"
        raise UserError(f"systems.{name}.base: '{system['base']}' is not searched but {state}; name another base")
    if kind and kind in feature_groups(config, name):
        raise UserError(f"systems.{name}.rescore: its base is searched with it already; name another base")
