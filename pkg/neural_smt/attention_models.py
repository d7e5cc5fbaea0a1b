"""The attention networks of an experiment (Mi et al. 2016): what they inherit, their words, who uses them."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from neural_smt.errors import UserError

ATTENTION = "attention"
"""The network whose settings the others inherit."""

DEFAULT_SETS = "default"
"""The target vocabularies of sentences whose sizes the section ``vocabularies`` itself gives."""

ALL_WORDS = "all"
"""In place of a name of such vocabularies: every word that the network knows."""

SIZES = ("dictionary", "phrases", "frequent", "max_length")
"""What target vocabularies of sentences are made with, see ``VocabularySettings``."""

OWN = ("source_words", "target_words", "vocabulary", "learning_curve")
"""Settings of a network that say what it is trained with, and not how."""


def inherit_attention(config: dict[str, Any]) -> None:
    """Give further attention networks the settings of ``training.attention`` that they do not have of their own, and
    named target vocabularies the sizes of ``vocabularies``.
    """
    training, vocabularies = config.get("training"), config.get("vocabularies")
    if isinstance(training, dict):
        _inherit(training.get(ATTENTION, {}), training.get("attention_networks"))
    if isinstance(vocabularies, dict):
        _inherit({key: vocabularies[key] for key in SIZES if key in vocabularies}, vocabularies.get("sets"))


def _inherit(common: Any, named: Any) -> None:
    if isinstance(common, dict) and isinstance(named, dict):
        for name, own in named.items():
            if isinstance(own, dict):
                named[name] = {**deepcopy(common), **own}


def attention_networks(config: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Settings of every attention network of a complete configuration."""
    training = config["training"]
    return {ATTENTION: training[ATTENTION], **training["attention_networks"]}


def attention_training(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Of a network's settings those of training, see ``AttentionSettings``."""
    return {key: value for key, value in settings.items() if key not in OWN}


def sentence_vocabularies(config: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """The sizes that target vocabularies of sentences are made with: ``default``, and the named ones."""
    section = config["vocabularies"]
    named = {DEFAULT_SETS: section, **section["sets"]}
    return {name: {key: own[key] for key in SIZES} for name, own in named.items()}


def translation(system: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """How a system that is an attention network alone translates; None for a system of another kind."""
    return system.get("translate")


def translating_words(config: Mapping[str, Any], name: str) -> str:
    """The target vocabularies that a system of this kind translates with: its own, or those of its network."""
    chosen = config["systems"][name]["translate"]
    return chosen.get("vocabulary") or attention_networks(config)[chosen["network"]]["vocabulary"]


def used_attention(config: Mapping[str, Any]) -> list[str]:
    """The attention networks that some system translates or rescores with, or that a learning curve is drawn of."""
    networks = attention_networks(config)
    systems = config["systems"].values()
    used = {chosen["network"] for system in systems if (chosen := translation(system))}
    used |= {network for system in systems for network in system.get("rescore", ())}
    return [name for name in networks if name in used or (networks[name]["learning_curve"] and used & set(networks))]


def check_attention(config: Mapping[str, Any], taken: tuple[str, ...]) -> None:
    """Raise ``UserError`` for the first attention network, or system that translates with one, that cannot be.

    taken: names that mean something else.
    """
    networks, known = attention_networks(config), sentence_vocabularies(config)
    for name in config["training"]["attention_networks"]:
        if name in (*taken, ATTENTION):
            raise UserError(f"training.attention_networks: '{name}' means something else already; choose another name")
    for name in config["vocabularies"]["sets"]:
        if name in (DEFAULT_SETS, ALL_WORDS):
            raise UserError(f"vocabularies.sets: '{name}' means something else already; choose another name")
    for name, settings in networks.items():
        where = f"training.{ATTENTION}" if name == ATTENTION else f"training.attention_networks.{name}"
        _check_vocabulary(where, settings["vocabulary"], known)
    for name, system in config["systems"].items():
        chosen = translation(system)
        if not chosen:
            continue
        others = [key for key in ("base", "recurrent", "table", "data") if key in system]
        others += [key for key in ("features", "rescore") if system[key]]
        if others:
            raise UserError(
                f"systems.{name}.translate: an attention network translates by itself; leave out {', '.join(others)}"
            )
        if chosen["network"] not in networks:
            raise UserError(
                f"systems.{name}.translate.network: there is no attention network '{chosen['network']}'; "
                f"known are {', '.join(networks)}"
            )
        _check_vocabulary(f"systems.{name}.translate", translating_words(config, name), known)


def _check_vocabulary(where: str, name: str, known: Mapping[str, Any]) -> None:
    if name not in (ALL_WORDS, *known):
        raise UserError(
            f"{where}.vocabulary: there are no target vocabularies '{name}'; known are {ALL_WORDS}, {', '.join(known)}"
        )
