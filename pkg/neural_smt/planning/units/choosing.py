"""Units of work of choosing among lists and lattices, and of tuning that."""

from neural_smt.planning import networks
from neural_smt.planning.experiment import Experiment
from neural_smt.planning.jobs import Job
from neural_smt.planning.units.sharing import Units
from neural_smt.systems import rescores_lattices, rescoring_network

DISTINCT = 0.1
"""Distinct contexts among the n-grams of an n-best list."""


def _listed(job: Job, x: Experiment, name: str) -> tuple[float, float]:
    """Entries of the lists of a set that a system reorders, and their words."""
    system = x.systems[job.wildcards["system"]]
    entries = x.config["decoding"]["rescored_nbest"]
    if rescoring_network(system) in x.attention:
        entries = min(system["rescoring"]["nbest"], entries)
    text = x.text(name)
    return entries * text.lines, entries * text.words[x.sizes.target]


def scored_lists(job: Job, x: Experiment) -> Units:
    """Words of n-best lists, and the multiply-adds that score them."""
    _, words = _listed(job, x, job.wildcards["set"])
    network = rescoring_network(x.systems[job.wildcards["system"]])
    if network in x.attention:
        text = x.text(job.wildcards["set"])
        length = text.words[x.sizes.source] / text.lines
        _, written = networks.attention(x.attention[network], length, x.vocabulary(network, False))
        return {"listed words": words, "multiply-adds": words * written, "time steps": words / 100}
    layers, outputs = networks.cslm(x.config["networks"][network], x.known(x.sizes.target))
    return {"listed words": words, "multiply-adds": words * DISTINCT * (layers + outputs)}


def reordered(job: Job, x: Experiment) -> Units:
    """Words of the lists that are read."""
    return {"listed words": _listed(job, x, job.wildcards["set"])[1]}


def read_lists_of_set(job: Job, x: Experiment) -> Units:
    """Words of the n-best lists of a set, whoever chooses among them."""
    entries = x.config["decoding"]["rescored_nbest"]
    return {"listed words": entries * x.text(job.wildcards["set"]).words[x.sizes.target]}


def _chosen(job: Job, x: Experiment, name: str, lists: float) -> Units:
    """Among lattices or lists: words times arcs, states and multiply-adds."""
    system, text = x.systems[job.wildcards["system"]], x.text(name)
    settings, network = system["rescoring"], rescoring_network(system)
    words = text.words[x.sizes.source]
    if settings["candidates"] == "nbest":
        extent, read = words * settings["nbest"] * DISTINCT, words * x.config["decoding"]["list_density"]
    else:
        density = x.config["decoding"]["lattice_density"] or 200
        extent, read = words * density * settings["beam"] ** 0.5, words * density
    each = 0.0
    if network:
        each = networks.recurrent(x.recurrent[network], x.inputs(network), x.sizes.types[x.sizes.target])
    return {
        "arcs": read,
        "states": extent * bool(network),
        "multiply-adds": extent * each,
        "iterations' arcs": read * lists,
        "iterations' states": extent * lists,
        "words": words,
    }


def rescored(job: Job, x: Experiment) -> Units:
    """Lattices, or lists out of them, of a set with the states that a recurrent model gives them."""
    return _chosen(job, x, job.wildcards["set"], 1.0)


def tuned(job: Job, x: Experiment) -> Units:
    """Words of the dev set's lists; or its lattices over all iterations, with the states that a network gives them."""
    name, dev = job.wildcards["system"], x.config["corpus"]["dev"]
    if not rescores_lattices(x.config, name):
        return {"listed words": _listed(job, x, dev)[1]}
    lists = x.iterations_of(f"tuning/{name}/run{job.wildcards['run']}", x.config["tuning"]["iterations"], "choosing")
    return _chosen(job, x, dev, lists)


def oracles(job: Job, x: Experiment) -> Units:
    """Arcs of a set's lattices."""
    words = x.text(job.wildcards["set"]).words[x.sizes.source]
    return {"arcs": words * (x.config["decoding"]["list_density"] or 200)}
