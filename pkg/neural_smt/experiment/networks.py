"""The networks of an experiment: their kinds, what they inherit, what they are trained on and measured with.

A further kind is an entry of ``KINDS``, its settings under ``$defs`` of the schema, a module of the training stage of
the same name (``training/steps.py`` says what it holds), and another one of ``decoding/scorers`` where it scores words
(``decoding/scorers/__init__.py``).
"""

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from neural_smt.errors import UserError
from neural_smt.experiment.settings import base_chain, load_schema

if TYPE_CHECKING:
    from neural_smt.experiment.layout import Layout

Inputs = dict[str, Any]
"""Files by the names of the arguments of ``prepare`` or ``measure``: a path, or a list of paths."""


@dataclass(frozen=True)
class Kind:
    """title: of the kind; inputs: what a network is trained on; measured: what its perplexity of texts is measured
    with, None where it is not. scores: ``phrases`` before the search, words in the ``search``, ``lists`` or
    ``lattices`` after it, first of these two what systems rescore that do not say it; role: settings that say what a
    network is trained on, and not how. hours: the longest that a job may train; beside: kinds of which one network
    alone trains with two threads, none for one thread always.
    """

    title: str
    inputs: "Callable[[Layout, str], Inputs]"
    measured: "Callable[[Layout, str], Inputs] | None" = None
    scores: tuple[str, ...] = ()
    role: tuple[str, ...] = ()
    hours: int = 72
    beside: tuple[str, ...] = ()


def phrase_pairs(layout: "Layout", name: str) -> Inputs:
    """The extracted phrase table, with the shortlists of both languages."""
    shortlists = {f"{side}_shortlist": layout.shortlist(language) for side, language in layout.sides.items()}
    return {"phrase_table": f"{layout.folder}/phrases/table", **layout.vocabularies, **shortlists}


def target_text(layout: "Layout", name: str) -> Inputs:
    """The target side of the training text, with the shortlist."""
    return {
        "texts": [layout.text("train", layout.target)],
        "vocabulary": layout.vocabulary(layout.target),
        "shortlist": layout.shortlist(layout.target),
    }


def dev_text(layout: "Layout", name: str) -> Inputs:
    """The dev set, with the n-gram model that the network is used with."""
    return {
        "language_model": layout.dev_model("selected"),
        "vocabulary": layout.vocabulary(layout.target),
        "texts": [layout.text(layout.config["corpus"]["dev"], layout.target)],
    }


def joint_text(layout: "Layout", name: str) -> Inputs:
    """The training text of the language whose words are predicted, and what a joint model reads beside it."""
    network = layout.networks[name]
    texts = [layout.text("train", layout.source if network["language"] == "source" else layout.target)]
    inputs: Inputs = {"texts": texts}
    if network["sources"]:
        further = not layout.parallel_sources.issuperset(network["sources"])
        inputs |= {"texts": texts + [layout.monolingual] * further, "origins": layout.origins(further)}
    if "input" not in network:
        return inputs
    return inputs | {
        "sources": [layout.text("train", layout.read_language(name))],
        "alignment": f"{layout.folder}/alignment/symmetrised.align",
        "representation": layout.representation(name),
    }


def joint_sets(layout: "Layout", name: str) -> Inputs:
    """The dev set and the test sets, what a joint model reads beside them, and the text of an n-gram model."""
    training, texts = [layout.text("train", layout.target)], [layout.text(text, layout.target) for text in layout.sets]
    inputs = {"training": training, "texts": texts}
    if "input" not in layout.networks[name]:
        return inputs
    return inputs | {
        "sources": [layout.text(text, layout.read_language(name)) for text in layout.sets],
        "alignments": [f"{layout.folder}/alignment/sets/{text}.align" for text in layout.sets],
        "representation": layout.representation(name),
    }


def parallel_text(layout: "Layout", name: str) -> Inputs:
    """The training text, and the dev set that perplexity is measured with meanwhile, with their target vocabularies."""
    settings, dev, sides = layout.networks[name], layout.config["corpus"]["dev"], layout.sides
    vocabulary = settings["vocabulary"]
    return {
        **{f"{side}_vocabulary": layout.network_vocabulary(settings[f"{side}_words"], sides[side]) for side in sides},
        **{side: layout.text("train", language) for side, language in sides.items()},
        **{f"held_out_{side}": layout.text(dev, language) for side, language in sides.items()},
        "held_out_candidates": layout.sentence_sets(name, vocabulary, dev) or [],
        "candidates": ([] if settings["tau"] else layout.sentence_sets(name, vocabulary, "train")) or [],
    }


_QUICK = ("encoder_decoder", "cslm")
"""Kinds that train side by side."""

KINDS = {
    "encoder_decoder": Kind("RNN encoder-decoder", phrase_pairs, scores=("phrases",), beside=_QUICK),
    "cslm": Kind("CSLM", target_text, dev_text, scores=("search", "lists", "lattices"), beside=_QUICK),
    "recurrent": Kind(
        "Recurrent model", joint_text, joint_sets, scores=("search", "lattices", "lists"), role=("language", "input")
    ),
    "attention": Kind(
        "Attention network",
        parallel_text,
        scores=("lists", "lattices"),
        role=("source_words", "target_words", "vocabulary", "learning_curve"),
        hours=240,
        beside=("attention",),
    ),
}
"""Name -> what is known of a kind without its code."""


def kinds_that_score(what: str) -> tuple[str, ...]:
    """The kinds that score ``phrases``, words in the ``search``, ``lists`` or ``lattices``."""
    return tuple(name for name, kind in KINDS.items() if what in kind.scores)


DECLARED: dict[str, dict[str, Any]] = {
    **{kind: {"kind": kind} for kind in KINDS},
    **load_schema()["properties"]["networks"]["default"],
}
"""Networks that every experiment has, with what they are if it says nothing about them."""

DEFAULT_SETS = "default"
"""The target vocabularies of sentences whose sizes ``vocabulary_selection`` itself gives."""

ALL_WORDS = "all"
"""In place of a name of such vocabularies: every word that the network knows."""

SIZES = ("dictionary", "phrases", "frequent", "max_length")
"""What target vocabularies of sentences are made with, see the schema."""

Networks = dict[str, dict[str, Any]]


def inherit_networks(config: dict[str, Any]) -> None:
    """Give every network the settings and the kind of its base, named target vocabularies the default sizes, and named
    n-gram models the settings of the one of all text.
    """
    given = config.setdefault("networks", {})
    if isinstance(given, dict) and all(isinstance(own, dict) for own in given.values()):
        merged = {name: {**own, **given.get(name, {})} for name, own in DECLARED.items()}
        merged |= {name: own for name, own in given.items() if name not in DECLARED}
        config["networks"] = {name: _inherited(merged, name) for name in merged}
    vocabularies, common = config.get("vocabulary_selection"), config.get("language_model", {})
    if isinstance(vocabularies, dict) and isinstance(sets := vocabularies.get("sets"), dict):
        sizes = {key: vocabularies[key] for key in SIZES if key in vocabularies}
        vocabularies["sets"] = _completed(sets, sizes)
    if isinstance(models := config.get("language_models"), dict) and isinstance(common, dict):
        config["language_models"] = _completed(models, common)


def _completed(entries: Mapping[str, Any], common: Mapping[str, Any]) -> dict[str, Any]:
    return {name: {**common, **own} if isinstance(own, dict) else own for name, own in entries.items()}


def _inherited(networks: Networks, name: str) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    for ancestor in reversed(base_chain(networks, name, "networks", "network")):
        kind, own = settings.get("kind"), networks[ancestor]
        if kind and own.get("kind", kind) != kind:
            raise UserError(f"networks.{ancestor}.kind: '{own['kind']}', but its base is of kind {kind}; name another")
        settings |= deepcopy(own)
    if "kind" not in settings:
        raise UserError(f"networks.{name}: has neither kind nor base; give one, kinds are {', '.join(KINDS)}")
    if settings["kind"] not in list(KINDS):  # a list, say, has no hash
        raise UserError(f"networks.{name}.kind: there is no kind '{settings['kind']}'; known are {', '.join(KINDS)}")
    if name in DECLARED and settings["kind"] != (kind := DECLARED[name].get("kind", "recurrent")):
        raise UserError(f"networks.{name}.kind: a network of this name is of kind {kind}; choose another name")
    return settings


def networks_schema(networks: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an experiment with these networks: each is described as its kind."""
    usable = isinstance(networks, dict) and all(isinstance(own, dict) for own in networks.values())
    kinds = {name: {"$ref": f"#/$defs/{own['kind']}"} for name, own in networks.items()} if usable else {}
    section = {**schema["properties"]["networks"], "properties": kinds}
    return {**schema, "properties": {**schema["properties"], "networks": section}}
