"""The recurrent models of an experiment (Auli et al. 2013): which there are, what they read, who needs them."""

from collections.abc import Collection, Mapping
from copy import deepcopy
from typing import Any

from neural_smt.errors import UserError

TARGET_ONLY = "recurrent"
"""The recurrent language model without auxiliary input."""

SOURCE_SIDE = "recurrent_source"
"""The recurrent language model of the source text, whose word vectors others read."""


def inherit_recurrent(config: dict[str, Any]) -> None:
    """Give every further recurrent model the settings of ``training.recurrent`` that it does not have of its own."""
    training = config.get("training")
    if not isinstance(training, dict) or not isinstance(training.get(TARGET_ONLY, {}), dict):
        return
    common = training.get(TARGET_ONLY, {})
    if "joint" in training or TARGET_ONLY in training:
        source = training.get(SOURCE_SIDE, {})
        training[SOURCE_SIDE] = {**deepcopy(common), "hidden": 50, **source} if isinstance(source, dict) else source
    if isinstance(training.get("joint"), dict):
        for name, own in training["joint"].items():
            if isinstance(own, dict):
                training["joint"][name] = {**deepcopy(common), **own}


def recurrent_settings(config: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Settings of every recurrent model of a complete configuration, without what it reads (``joint_inputs``)."""
    training = config["training"]
    models = {TARGET_ONLY: training[TARGET_ONLY], SOURCE_SIDE: training[SOURCE_SIDE], **training["joint"]}
    return {name: {key: value for key, value in own.items() if key != "input"} for name, own in models.items()}


def joint_inputs(config: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The representation of the source that each joint model reads; models of target words alone have none."""
    return {name: own["input"] for name, own in config["training"]["joint"].items() if "input" in own}


def rescoring_network(system: Mapping[str, Any]) -> str | None:
    """The network that rescores the candidates of a system's base; None where only weights are tuned anew."""
    return next(iter(system.get("rescore", ())), None)


def rescores_lattices(system: Mapping[str, Any], list_networks: Collection[str]) -> bool:
    """Whether a system chooses among the lattices of its base, be it with a recurrent model or with other weights.

    list_networks: networks that score n-best lists.
    """
    network = rescoring_network(system)
    return network not in list_networks if network else bool(system.get("rescoring", {}).get("without"))


def searched_with_one(system: Mapping[str, Any]) -> bool:
    """Whether a system itself says that a recurrent model leads its search, or which."""
    return TARGET_ONLY in system["features"] or TARGET_ONLY in system


def used_recurrent(config: Mapping[str, Any]) -> list[str]:
    """The recurrent models that some system uses, that lend another one their word vectors, or whose classes are
    compared.
    """
    systems = config["systems"].values()
    used = {rescoring_network(system) for system in systems} | set(compared_classes(config))
    used |= {system.get(TARGET_ONLY, TARGET_ONLY) for system in systems if searched_with_one(system)}
    inputs = joint_inputs(config)
    if any(inputs[name]["kind"] == "word_rnn" for name in used if name in inputs):
        used.add(SOURCE_SIDE)
    return [name for name in recurrent_settings(config) if name in used]


def compared_classes(config: Mapping[str, Any]) -> list[str]:
    """The recurrent models that the table of word classes compares."""
    return config["report"]["word_classes"]


def check_recurrent(config: Mapping[str, Any], taken: tuple[str, ...], list_networks: tuple[str, ...]) -> None:
    """Raise ``UserError`` for the first recurrent model, or system that rescores with one, that cannot be.

    taken: names that mean something else; list_networks: networks that score n-best lists.
    """
    networks = [name for name in recurrent_settings(config) if name != SOURCE_SIDE]
    for name in config["training"]["joint"]:
        if name in (*taken, TARGET_ONLY, SOURCE_SIDE):
            raise UserError(f"training.joint: '{name}' means something else already; choose another name")
    for name, system in config["systems"].items():
        network = rescoring_network(system)
        known = [*list_networks, *networks]
        if network not in (None, *known):
            raise UserError(f"systems.{name}.rescore: there is no network '{network}'; known are {', '.join(known)}")
        if network in list_networks and system["rescoring"]["without"]:
            raise UserError(f"systems.{name}.rescoring.without: only lattices can do without scores; leave it out")
    _check_compared_classes(config, networks)


def _check_compared_classes(config: Mapping[str, Any], known: list[str]) -> None:
    settings, inputs = recurrent_settings(config), joint_inputs(config)
    common = settings[TARGET_ONLY]
    for name in compared_classes(config):
        if name not in known:
            raise UserError(f"report.word_classes: there is no recurrent model '{name}'; known are {', '.join(known)}")
        others = [key for key in common if key != "classes" and settings[name][key] != common[key]]
        others += ["input"] if name in inputs else []
        if others:
            raise UserError(
                f"report.word_classes: '{name}' differs from training.recurrent in {', '.join(others)}; name models "
                "that differ in their classes alone"
            )
