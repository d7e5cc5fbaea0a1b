"""Units of work of networks that score phrase pairs, propose phrases and translate."""

from neural_smt.planning import networks
from neural_smt.planning.experiment import Experiment
from neural_smt.planning.jobs import Job
from neural_smt.planning.units.sharing import Units
from neural_smt.planning.units.training import PHRASE_WORDS


def _translation(x: Experiment, network: str, name: str, passes: float = 1.0) -> Units:
    settings, text = x.attention[network], x.text(name)
    words = text.words[x.sizes.source]
    read, written = networks.attention(settings, words / text.lines, x.vocabulary(network, False))
    beam = x.config["decoding"]["attention"]
    steps = text.lines / beam["batch"] * words / text.lines * 1.5
    return {"multiply-adds": words * (read + beam["beam"] * written) * passes, "time steps": steps * passes}


def translated(job: Job, x: Experiment) -> Units:
    """Multiply-adds of a beam search over a set."""
    network = x.systems[job.wildcards["system"]]["translate"]["network"]
    return _translation(x, network, job.wildcards["set"])


def measured_epochs(job: Job, x: Experiment) -> Units:
    """The same over the dev set with the weights of every epoch."""
    network = job.wildcards["network"]
    return _translation(x, network, x.config["corpus"]["dev"], x.attention[network]["epochs"] or 1)


def scored_rows(job: Job, x: Experiment) -> Units:
    """Rows of the phrase table, and the multiply-adds of their words."""
    settings = x.encoder_decoders[job.wildcards["network"]]
    rows = proposed_rows(x) if job.wildcards["table"] == "proposed" else x.sizes.rows["selected"]
    # outputs that are asked for alone, but a normaliser for each distinct beginning
    language = x.sizes.target if settings["direction"] == "forward" else x.sizes.source
    read, written = networks.encoder_decoder(settings, x.known(language))
    return {"rows": rows, "multiply-adds": rows * PHRASE_WORDS * (read + written), "time steps": rows / 1000}


def proposed_rows(x: Experiment) -> float:
    """Rows of a table of the sets with proposals: for every source phrase of theirs some."""
    phrases = sum(x.text(name).words[x.sizes.source] for name in x.sets) * x.config["proposals"]["max_words"] / 2
    return phrases * x.config["proposals"]["best"]


def proposed(job: Job, x: Experiment) -> Units:
    """Multiply-adds of a beam search for every source phrase of the sets, which sorts the outputs besides."""
    settings, words = x.encoder_decoders["encoder_decoder"], x.known(x.sizes.target)
    read, written = networks.encoder_decoder(settings, words)
    written += words * networks.OUTPUT
    rows = proposed_rows(x)
    return {"rows": rows, "multiply-adds": rows * PHRASE_WORDS * (read + written), "time steps": rows / 1000}
