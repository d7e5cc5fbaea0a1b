"""Memory of a GPU that training a network takes, out of its sizes."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from neural_smt.planning import networks
from neural_smt.planning.experiment import Experiment
from neural_smt.planning.units.training import PHRASE_WORDS
from neural_smt.systems import used_networks

NUMBER = 4
"""Bytes of a number; what is computed in bfloat16 is kept in this precision too."""

COPIES = 4
"""Numbers kept for each weight: itself, its gradient and two running means of Adadelta."""

RESERVED = 1e9
"""Bytes that CUDA, its libraries and the caching of freed memory take besides."""

KEPT_OUTPUTS = 3
"""Numbers kept for each output: logits, probabilities, and the gradient."""


class Need(NamedTuple):
    """What a network takes. where: the section of its settings; weights: how many; memory: bytes on each GPU."""

    where: str
    weights: float
    memory: float


def expect_memory(x: Experiment) -> Iterator[Need]:
    """The memory of every network that the experiment trains on a GPU."""
    processes = x.config["training"]["processes"]
    known = x.known(x.sizes.source), x.known(x.sizes.target)
    for name in used_networks(x.config, "encoder_decoder"):
        settings = x.encoder_decoders[name]
        read, written = known if settings["direction"] == "forward" else known[::-1]
        weights = encoder_decoder_weights(settings, read, written)
        each = NUMBER * (PHRASE_WORDS * (20 * settings["hidden"] + 4 * settings["maxout"]))
        each += NUMBER * PHRASE_WORDS * KEPT_OUTPUTS * written
        yield _need(f"networks.{name}", weights, settings["batch"] / processes * each)
    for name in used_networks(x.config, "cslm"):
        settings = x.config["networks"][name]
        each = NUMBER * (settings["order"] * settings["projection"] + 4 * sum(settings["layers"]))
        each += NUMBER * KEPT_OUTPUTS * known[1]
        yield _need(f"networks.{name}", cslm_weights(settings, known[1]), settings["batch"] / processes * each)
    text = x.sizes.data["selected"]
    for name in used_networks(x.config, "attention"):
        settings = x.attention[name]
        read, written = (
            min(settings[f"{side}_words"], x.sizes.types[language])
            for side, language in (("source", x.sizes.source), ("target", x.sizes.target))
        )
        length = text.words[x.sizes.source] / max(text.lines, 1)
        hidden, scorer = settings["hidden"], settings["attention"]
        each = NUMBER * length * (30 * hidden + 4 * settings["maxout"] + 2 * length * scorer)
        each += NUMBER * length * KEPT_OUTPUTS * x.vocabulary(name, True)
        yield _need(
            f"networks.{name}", attention_weights(settings, read, written), settings["batch"] / processes * each
        )


def _need(where: str, weights: float, states: float) -> Need:
    return Need(where, weights, NUMBER * COPIES * weights + states + RESERVED)


def encoder_decoder_weights(settings: Mapping[str, Any], read: float, written: float) -> float:
    """Numbers of an encoder-decoder that knows so many words of each side."""
    hidden, embedding = settings["hidden"], settings["embedding"]
    gates = 3 if settings["unit"] == "gated" else 1
    encoded, decoded = networks.encoder_decoder(settings, 0)
    return encoded + decoded + (gates + 1) * hidden**2 + (read + written) * embedding + written * (settings["rank"] + 1)


def cslm_weights(settings: Mapping[str, Any], words: float) -> float:
    """Numbers of a CSLM of so many words."""
    layers, _ = networks.cslm(settings, 0)
    return layers + words * (settings["projection"] + settings["layers"][1] + 1)


def attention_weights(settings: Mapping[str, Any], read: float, written: float) -> float:
    """Numbers of an attention network that knows so many words of each side."""
    hidden, embedding, scorer = (settings[key] for key in ("hidden", "embedding", "attention"))
    encoded, decoded = networks.attention(settings, 0, 0)
    words = (read + written) * embedding + written * (settings["rank"] + 1)
    return encoded + decoded + hidden**2 + embedding * scorer + words
