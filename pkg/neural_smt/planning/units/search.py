"""Units of work of searches, and of tuning with them."""

from collections.abc import Mapping
from typing import Any

from neural_smt.planning import networks
from neural_smt.planning.experiment import Experiment, read_lists
from neural_smt.planning.jobs import Job
from neural_smt.planning.units.sharing import Units
from neural_smt.systems import searched_network

ASKED = 1e5
"""Multiply-adds that take as long as what a search does for a hypothesis around the network that it asks."""


OPTIONS, LISTS = 100.0, 500.0
"""Hypotheses a word that take as long as collecting translations, and as listing the best of whole sentences."""


def search_work(
    x: Experiment, features: list[str], network: str, words: float, settings: Mapping[str, Any], besides: float
) -> Units:
    """Hypotheses of a search over so many source words, by its algorithm, and multiply-adds of the network it asks.

    besides: hypotheses a word that take as long as what else is done.
    """
    stack = words * settings["stack_size"]
    cube = settings["algorithm"] == "cube"
    work = {
        "cube pops": words * (settings["pop_limit"] + besides) * cube,
        "stack hypotheses": words * (settings["stack_size"] + besides) * (not cube),
    }
    if "cslm" in features:
        layers, outputs = networks.cslm(x.config["networks"][network], x.known(x.sizes.target))
        work["network's work"] = stack * (ASKED + layers) + words * outputs
    elif "recurrent" in features:
        each = networks.recurrent(x.recurrent[network], x.inputs(network), x.sizes.types[x.sizes.target])
        work["network's work"] = stack * (ASKED + each)
    return work


def _searched(job: Job, x: Experiment, name: str, settings: Mapping[str, Any], besides: float) -> Units:
    network = searched_network(x.config, job.wildcards["system"]) or ""
    words = x.text(name).words[x.sizes.source]
    work = search_work(x, x.features(job), network, words, settings, besides)
    asked = float(bool(network))
    return work | {"rows": x.sizes.rows[x.data(job)], "n-grams": x.sizes.ngrams[x.data(job)], "network": asked}


def loaded(job: Job, x: Experiment) -> Units:
    """What a system needs in memory to translate a few sentences."""
    asked = float(bool(searched_network(x.config, job.wildcards["system"])))
    return {"rows": x.sizes.rows[x.data(job)], "n-grams": x.sizes.ngrams[x.data(job)], "network": asked}


def searched(job: Job, x: Experiment) -> Units:
    """A search over a set; with the lists or lattices that are written."""
    text = x.text(job.wildcards["set"])
    work = _searched(job, x, job.wildcards["set"], x.config["decoding"]["test"], OPTIONS)
    work["words"] = text.words[x.sizes.source]
    if job.rule.startswith("decode_lists"):
        work["listed words"] = x.config["decoding"]["rescored_nbest"] * text.words[x.sizes.source]
    if job.rule == "decode_lattices":
        key = "lattice_density" if job.wildcards["density"] == "lattices" else "list_density"
        work["arcs"] = text.words[x.sizes.source] * (x.config["decoding"][key] or 200)
    return work


LISTED_LENGTH = 20.0
"""Words from which on a sentence has as many distinct translations as are asked for; shorter ones have fewer."""


def tuned(job: Job, x: Experiment) -> Units:
    """Searches over the dev set, once an iteration, and the candidates that the envelope is computed of."""
    dev, section = x.text(x.config["corpus"]["dev"]), x.config["tuning"]
    key = f"tuning/{job.wildcards['system']}/run{job.wildcards['run']}"
    iterations = x.iterations_of(key, section["iterations"], "tuning")
    once = _searched(job, x, x.config["corpus"]["dev"], x.config["decoding"]["tuning"], OPTIONS + LISTS)
    work = {
        unit: amount * (iterations if unit not in ("rows", "n-grams", "network") else 1)
        for unit, amount in once.items()
    }
    lists = x.lists_of(key, section["iterations"], "tuning")
    starts = 1 + section["restarts"] + section["refinements"]
    length = dev.words[x.sizes.source] / dev.lines
    listed = dev.lines * section["nbest"] * min(1.0, length / LISTED_LENGTH)
    # the envelope of longer candidates has more corners
    work["candidates' words"] = listed * length * lists * starts / 41
    work["most candidates"] = listed * read_lists(section["iterations"]) / section["iterations"]
    return work
