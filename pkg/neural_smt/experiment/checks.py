"""Faults of networks and systems that the schema cannot tell: unknown names, and things that do not go together.

All functions raise ``UserError`` for the first fault of a complete configuration.
"""

from collections.abc import Collection

from neural_smt.decoding.features import build_feature_set
from neural_smt.errors import UserError
from neural_smt.experiment.networks import ALL_WORDS, DEFAULT_SETS, kinds_that_score
from neural_smt.experiment.systems import GROUPS, SEARCH_KINDS, TAKEN, Systems, drawn_pairs

RIGHT_TO_LEFT = "right_to_left"


def check_experiment(experiment: Systems) -> None:
    """All networks, then all systems, then the rows of the paper's table."""
    for name in experiment.networks:
        _check_network(experiment, name)
    if experiment.networks["encoder_decoder"]["direction"] != "forward":
        raise UserError(
            "networks.encoder_decoder.direction: what this network knows of source phrases is analysed, so it stays "
            "forward; define another network, {base: encoder_decoder, direction: backward}"
        )
    for name in experiment.config["vocabulary_selection"]["sets"]:
        if name in (DEFAULT_SETS, ALL_WORDS):
            raise UserError(f"vocabulary_selection.sets: '{name}' means something else already; choose another name")
    for name in experiment.used_networks("recurrent"):
        _check_sources(experiment, name)
    _check_compared_classes(experiment)
    _check_language_models(experiment)
    networks = experiment.scoring_networks(*kinds_that_score("phrases"), *SEARCH_KINDS)
    known = [*GROUPS, *experiment.config["language_models"], *networks]
    for name, system in experiment.systems.items():
        for group in system["features"]:
            _check_known(f"systems.{name}.features", "feature group", group, known)
    labels: dict[str, str] = {}
    for name, system in experiment.systems.items():
        label = system.get("label", name)
        if (other := labels.setdefault(label, name)) != name:
            raise UserError(f"systems.{name}.label: '{label}' is the label of '{other}' too; choose another")
        _check_rescoring_networks(experiment, name)
        _check_rescored(experiment, name)
        _check_searched(experiment, name)
        if "control" in system:
            _check_known(f"systems.{name}.control", "system", system["control"], experiment.systems)
        _check_data(experiment, name)
        if system.get("translate"):
            _check_translation(experiment, name)
    for name in experiment.config["report"]["training_curve"]:
        _check_known("report.training_curve", "system", name, experiment.systems)
        if len(experiment.networks_of(name)) != 1:
            raise UserError(f"report.training_curve: '{name}' has not one network; name systems that have one each")
    experiment.paper_rows()


def _check_language_models(experiment: Systems) -> None:
    for name, model in experiment.config["language_models"].items():
        if name in TAKEN or name in experiment.networks:
            raise UserError(f"language_models.{name}: '{name}' means something else already; choose another name")
        if "monolingual" in model["texts"] and not experiment.config["corpus"]["monolingual"]:
            raise UserError(f"language_models.{name}.texts: there is no extra text; name some in corpus.monolingual")


def _check_known(where: str, noun: str, name: str, known: Collection[str]) -> None:
    if name not in known:
        raise UserError(f"{where}: there is no {noun} '{name}'; known are {', '.join(known)}")


def _check_network(experiment: Systems, name: str) -> None:
    where, network = f"networks.{name}", experiment.networks[name]
    if name in TAKEN:
        raise UserError(f"{where}: '{name}' means something else already; choose another name")
    if "vocabulary" in network:
        _check_vocabulary(experiment, where, network["vocabulary"])
    if network.get("learning_curve") and _from_last(experiment, name):
        raise UserError(f"{where}.learning_curve: a network that goes {RIGHT_TO_LEFT} translates no text; leave it out")
    lender = experiment.lending_network(name)
    if lender is not None and lender not in experiment.networks_of_kind("recurrent"):
        raise UserError(f"{where}.input.network: there is no recurrent model '{lender}'; define it under networks")
    if lender is not None and not experiment.predicts_source(lender):
        raise UserError(f"{where}.input.network: '{lender}' predicts target words; name one with language: source")
    if "input" in network and experiment.predicts_source(name):
        raise UserError(f"{where}.input: a model of source words reads nothing besides; leave input or language out")


def _from_last(experiment: Systems, name: str) -> bool:
    """Whether a network goes through target words from last to first: what it knows of whole translations alone."""
    return experiment.networks[name].get("order") == RIGHT_TO_LEFT


def _check_sources(experiment: Systems, name: str) -> None:
    """A recurrent model reads sources that have the words it predicts, a joint one also what these are aligned to."""
    corpus, network = experiment.config["corpus"], experiment.networks[name]
    alone = network["language"] == "target" and "input" not in network
    known = dict.fromkeys([*corpus["in_domain"], *corpus["train"], *(corpus["monolingual"] if alone else [])])
    for source in network["sources"]:
        _check_known(f"networks.{name}.sources", "source of its text" if alone else "parallel source", source, known)


def _check_vocabulary(experiment: Systems, where: str, name: str) -> None:
    known = ALL_WORDS, *experiment.sentence_vocabularies
    if name not in known:
        raise UserError(f"{where}.vocabulary: there are no target vocabularies '{name}'; known are {', '.join(known)}")


def _check_compared_classes(experiment: Systems) -> None:
    known, common = experiment.scoring_networks("recurrent"), experiment.networks["recurrent"]
    for name in experiment.config["report"]["word_classes"]:
        _check_known("report.word_classes", "recurrent model", name, known)
        own = experiment.networks[name]
        others = [key for key in common | own if key not in ("classes", "base") and own.get(key) != common.get(key)]
        if others:
            differs = f"'{name}' differs from networks.recurrent in {', '.join(others)}"
            raise UserError(f"report.word_classes: {differs}; name models that differ in their classes alone")


def _check_searched(experiment: Systems, name: str) -> None:
    """A search needs phrases and a language model, and asks one network, which reads nothing that is not there."""
    where = f"systems.{name}.features"
    missing = {"phrase", "language_model"}.difference(experiment.feature_groups(name))
    if missing and name in experiment.searched:
        needed = " and ".join(sorted(missing))
        raise UserError(f"{where}: a search needs {needed}; add what is missing here or to its base")
    searched = [group for group in experiment.features(name) if experiment.kind_of(group) in SEARCH_KINDS]
    if len(searched) > 1:
        raise UserError(f"{where}: a search asks one network; take {' or '.join(searched)}, rescore with the other")
    if searched and experiment.joint_inputs.get(searched[0], {}).get("side") == "target":
        raise UserError(f"{where}: '{searched[0]}' reads references, which a search has none of; rescore with it")


def _check_translation(experiment: Systems, name: str) -> None:
    """An attention network translates by itself, with target vocabularies that there are."""
    system, networks = experiment.systems[name], experiment.networks_of_kind("attention")
    others = [key for key in ("base", "table", "data") if key in system]
    others += [key for key in ("features", "rescore") if system[key]]
    where = f"systems.{name}.translate"
    if others:
        raise UserError(f"{where}: an attention network translates by itself; leave out {', '.join(others)}")
    _check_known(f"{where}.network", "attention network", chosen := system["translate"]["network"], networks)
    if _from_last(experiment, chosen):
        raise UserError(f"{where}.network: '{chosen}' goes {RIGHT_TO_LEFT} and serves to rescore lists; name another")
    _check_vocabulary(experiment, where, experiment.translating_words(name))


def _check_data(experiment: Systems, name: str) -> None:
    """Networks, their shortlists and what they score are of the selected data; other data have none of them."""
    system, data, where = experiment.systems[name], experiment.data(name), f"systems.{name}"
    if "pairs" in system and system.get("data") != "random":
        raise UserError(f"{where}.pairs: a number of pairs is drawn at random; add 'data: random' or leave it out")
    if data == "selected":
        return
    if experiment.config["selection"]["method"] == "none" and drawn_pairs(data) is None:
        raise UserError(f"{where}.data: selection is off, so '{data}' is what all systems have; leave it out")
    groups = [*experiment.feature_groups(name), *experiment.rescoring_networks(name)]
    others = [group for group in groups if group not in ("phrase", "language_model", "reordering")]
    if experiment.table(name) == "proposed":
        others.append("the proposed table")
    if others:
        raise UserError(f"{where}.data: {others[0]} is made from the selected data; use it without '{data}'")


def _check_rescoring_networks(experiment: Systems, name: str) -> None:
    """Networks can score what a system chooses among, and go together."""
    where, networks = f"systems.{name}.rescore", experiment.rescoring_networks(name)
    known = experiment.scoring_networks(*kinds_that_score("lists"), *kinds_that_score("lattices"))
    for network in networks:
        _check_known(where, "network", network, known)
    if experiment.rescores_lattices(name):
        if len(networks) > 1:
            raise UserError(f"{where}: lattices are rescored with one network; take lists, or name one")
        if any(_from_last(experiment, network) for network in networks):
            raise UserError(f"{where}: '{networks[0]}' goes {RIGHT_TO_LEFT}; rescore lists with it")
    attention = experiment.networks_of_kind("attention")
    if len({(own["vocabulary"], own["target_words"]) for own in map(attention.get, networks) if own}) > 1:
        raise UserError(
            f"{where}: its attention networks differ in vocabulary or target_words, but one list of target words is "
            "made for each sentence; give them the same"
        )
    inputs = {network: {"side": "source"} for network in attention} | experiment.joint_inputs
    if len({inputs[network]["side"] for network in networks if network in inputs}) > 1:
        raise UserError(
            f"{where}: one of its networks reads the references and another one the source sentences; rescore with "
            "networks that read the same"
        )


def _check_rescored(experiment: Systems, name: str) -> None:
    """A base is searched; of what it found a rescored system chooses, with scores that are not there already."""
    where, system, networks = f"systems.{name}", experiment.systems[name], experiment.rescoring_networks(name)
    lattices, groups = experiment.rescores_lattices(name), experiment.feature_groups(name)
    if rescored := experiment.is_rescored(name):
        if not lattices and system["rescoring"]["drop_features"]:
            raise UserError(f"{where}.rescoring.drop_features: only lattices can do without scores; leave it out")
        if "base" not in system or system["features"]:
            raise UserError(f"{where}.rescore: what a base found is rescored; name a base and leave features empty")
    base = system.get("base")
    if base and base not in experiment.searched:
        state = "rescored" if experiment.is_rescored(base) else "an attention network"
        raise UserError(f"{where}.base: '{base}' is not searched but {state}; name another base")
    if not rescored:
        return
    if not networks and system["rescoring"]["candidates"] == "nbest":
        raise UserError(
            f"{where}.rescoring.candidates: lists drawn from lattices are for a network to score; without one take "
            "lattice or lists"
        )
    for kind in filter(None, map(experiment.kind_of, networks)):
        if kind in groups:
            raise UserError(f"{where}.rescore: the {kind} feature of '{base}' would stand twice; name another base")
    if lattices and "recurrent" in groups:
        raise UserError(
            f"{where}.base: the search of '{base}' knows a recurrent model's scores for one way into each node of a "
            "lattice alone; rescore its lists (candidates: lists)"
        )
    if dropped := system["rescoring"]["drop_features"]:
        scores = build_feature_set(groups, len(experiment.ngram_models(name))).names
        for score in dropped:
            _check_known(f"{where}.rescoring.drop_features", "score", score, scores)
