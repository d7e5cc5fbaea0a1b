"""Units of work of training: updates, multiply-adds and time steps."""

from collections.abc import Mapping
from typing import Any

from neural_smt.planning import networks
from neural_smt.planning.experiment import Experiment
from neural_smt.planning.jobs import Job
from neural_smt.planning.units.sharing import Units

PHRASE_WORDS = 5.0
"""Words of a side of a phrase pair, with the end of the phrase."""


def _updates(settings: Mapping[str, Any], epoch: float) -> float:
    """Updates that a training performs; epoch: updates of a pass over the text."""
    passes = settings.get("epochs", 0)
    return min(settings["updates"], passes * epoch) if passes else settings["updates"]


def _training(updates: float, examples: float, each: float, steps: float, outputs: float) -> Units:
    return {
        "updates": updates,
        "multiply-adds": updates * examples * each * networks.BACKWARD,
        "outputs": updates * examples * outputs,
        "time steps": updates * steps,
    }


def encoder_decoder_updates(job: Job, x: Experiment) -> Units:
    """Updates of an encoder-decoder, and their multiply-adds."""
    settings = x.encoder_decoders[job.wildcards["network"]]
    language = x.sizes.target if settings["direction"] == "forward" else x.sizes.source
    words = x.known(language)
    read, written = networks.encoder_decoder(settings, words)
    examples = settings["batch"] * PHRASE_WORDS
    work = _training(settings["updates"], examples, read + written, 2 * PHRASE_WORDS, words)
    rows = x.sizes.rows["selected"]
    both = x.known(x.sizes.source) + x.known(x.sizes.target)
    weights = both * settings["embedding"] + words * settings["rank"]
    return work | {"rows": rows, "weights": weights, "kept weights": weights}


def cslm_updates(job: Job, x: Experiment) -> Units:
    """Updates of the CSLM, and their multiply-adds."""
    settings, words = x.config["networks"][job.wildcards["network"]], x.known(x.sizes.target)
    ngrams = x.sizes.data["selected"].words[x.sizes.target]
    # it stops early where validations no longer gain; nobody knows when, and the papers' sizes are far from it
    updates = min(settings["updates"], CSLM_EPOCHS * ngrams / settings["batch"])
    work = _training(updates, settings["batch"], sum(networks.cslm(settings, words)), 1, words)
    weights = words * (settings["projection"] + settings["layers"][1])
    return work | {"words": ngrams, "weights": weights, "kept weights": weights}


CSLM_EPOCHS = 20
"""Passes of a CSLM over its text after which it has surely learnt all it can."""


def measured_cslm(job: Job, x: Experiment) -> Units:
    """Multiply-adds over the dev set, and n-grams of the model beside."""
    settings, words = x.config["networks"][job.wildcards["network"]], x.known(x.sizes.target)
    text = x.text(x.config["corpus"]["dev"]).words[x.sizes.target]
    return {"multiply-adds": text * sum(networks.cslm(settings, words)), "n-grams": x.sizes.ngrams["selected"]}


def _recurrent_text(x: Experiment, network: str) -> tuple[dict[str, Any], str, float, float]:
    settings = x.recurrent[network]
    language = x.sizes.source if settings["language"] == "source" else x.sizes.target
    text = x.sizes.data["selected"]
    lines = min(settings["sentences"] or text.lines, text.lines)
    return settings, language, lines, text.words[language] * lines / text.lines


def recurrent_updates(job: Job, x: Experiment) -> Units:
    """Words that a recurrent model learns from, over all epochs, and their multiply-adds."""
    network = job.wildcards["network"]
    settings, language, lines, words = _recurrent_text(x, network)
    epochs = x.iterations_of(f"training/{network}", settings["epochs"], "epochs")
    each = networks.recurrent(settings, x.inputs(network), x.sizes.types[language])
    exchange = words * (settings["classes"]["method"] == "exchange")
    return {
        "words": words * epochs,
        "multiply-adds": words * epochs * each * networks.BACKWARD,
        "inputs": words * epochs * x.inputs(network),
        "exchanged words": exchange,
        "time steps": epochs * lines / settings["batch"] * words / max(lines, 1) * 2,
        "text": words,
        "weights": 2.0 ** settings["direct_bits"] + x.sizes.types[language] * settings["hidden"],
    }


def measured_recurrent(job: Job, x: Experiment) -> Units:
    """Words of the sets with their multiply-adds, and of the n-gram model's text."""
    network = job.wildcards["network"]
    settings, language, _, words = _recurrent_text(x, network)
    text = sum(x.text(name).words[language] for name in x.sets)
    each = networks.recurrent(settings, x.inputs(network), x.sizes.types[language])
    return {"words": words, "multiply-adds": text * each, "sets": text}


def attention_updates(job: Job, x: Experiment) -> Units:
    """Updates of an attention network, and their multiply-adds."""
    network = job.wildcards["network"]
    settings, text = x.attention[network], x.sizes.data["selected"]
    length = text.words[x.sizes.source] / text.lines
    vocabulary = x.vocabulary(network, True)
    read, written = networks.attention(settings, length, vocabulary)
    updates = _updates(settings, text.lines / settings["batch"])
    work = _training(updates, settings["batch"] * length, read + written, 2 * length, vocabulary)
    read_words = min(settings["source_words"], x.sizes.types[x.sizes.source])
    written_words = min(settings["target_words"], x.sizes.types[x.sizes.target])
    kept = 1 + (settings["epochs"] or 1) * settings["learning_curve"]
    weights = read_words * settings["embedding"] + written_words * (settings["embedding"] + settings["rank"])
    return work | {"weights": weights, "kept weights": weights * kept, "words": text.both}
