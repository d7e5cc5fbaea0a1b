"""Sizes of networks, out of their settings: MACs of a word, weights, and the GPU memory that training takes."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

BACKWARD = 3
"""Passes through a network that an update costs, in forward ones: one forward, two for the gradients."""

OUTPUT = 60
"""MACs that take as long as one output's exponential, sum and gradient, which go through memory."""

SCORER = 8
"""The same of one unit of an attention network's scorer, whose tangent is computed in one pass."""

PHRASE_WORDS = 5.0
"""Words of a side of a phrase pair, with the end of the phrase."""


def _unit(hidden: int, inputs: int, gates: int = 3) -> int:
    """MACs of a recurrent unit that reads so many inputs: reset, update and candidate for a gated one."""
    return gates * hidden * (hidden + inputs)


def encoder_decoder(settings: Mapping[str, Any], words: float) -> tuple[float, float]:
    """MACs of an encoder-decoder: for each source word, and for each target word (Cho et al. 2014, appendix).

    words: that it predicts, at most.
    """
    hidden, embedding, maxout, rank = (settings[key] for key in ("hidden", "embedding", "maxout", "rank"))
    gates = 3 if settings["unit"] == "gated" else 1
    read = _unit(hidden, embedding, gates)
    written = _unit(hidden, embedding, gates) + 2 * maxout * (2 * hidden + embedding) + maxout * rank
    return read, written + words * (rank + OUTPUT)


def cslm(settings: Mapping[str, Any], words: float) -> tuple[float, float]:
    """MACs of the feed-forward language model for one n-gram: of its layers, and of all outputs."""
    first, second = settings["layers"]
    layers = (settings["order"] - 1) * settings["projection"] * first + first * second
    return layers, words * (second + OUTPUT)


def recurrent(settings: Mapping[str, Any], inputs: float, words: float) -> float:
    """MACs of a recurrent language model for one word; inputs: of the source, words: that it knows.

    Its softmax is of classes and of the words of one (Auli et al. 2013, section 4).
    """
    hidden = settings["hidden"]
    outputs = 2 * math.sqrt(words)
    return hidden * (hidden + inputs) + outputs * (hidden + inputs + settings["direct_order"] + OUTPUT)


def attention(settings: Mapping[str, Any], length: float, words: float) -> tuple[float, float]:
    """MACs of an attention network: for each source word, and for each target word (Mi et al. 2016).

    length: words of a source sentence; words: of a target vocabulary.
    """
    hidden, embedding, scorer = (settings[key] for key in ("hidden", "embedding", "attention"))
    maxout, rank = settings["maxout"], settings["rank"]
    read = 2 * _unit(hidden, embedding) + 2 * hidden * scorer
    attended = length * (scorer * (1 + SCORER) + 2 * hidden)
    state = _unit(hidden, embedding + 2 * hidden) + hidden * scorer
    output = 2 * maxout * (3 * hidden + embedding) + maxout * rank
    return read, state + attended + output + words * (rank + OUTPUT)


def count_weights(settings: Mapping[str, Any], read: float, written: float) -> float:
    """Weights of a network of the kind ``settings["kind"]`` that knows so many words of each side."""
    match settings["kind"]:
        case "encoder_decoder":
            hidden, gates = settings["hidden"], 3 if settings["unit"] == "gated" else 1
            dense = sum(encoder_decoder(settings, 0)) + (gates + 1) * hidden**2
            return dense + (read + written) * settings["embedding"] + written * (settings["rank"] + 1)
        case "cslm":
            return cslm(settings, 0)[0] + written * (settings["projection"] + settings["layers"][1] + 1)
        case "attention":
            hidden, embedding = settings["hidden"], settings["embedding"]
            dense = sum(attention(settings, 0, 0)) + hidden**2 + embedding * settings["attention"]
            return dense + (read + written) * embedding + written * (settings["rank"] + 1)
        case _:
            return 2.0 ** settings["direct_bits"] + written * settings["hidden"]


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


def gpu_need(
    settings: Mapping[str, Any], where: str, weights: float, length: float, outputs: float, processes: int
) -> Need:
    """What training takes of each GPU.

    length: words of a source sentence; outputs: words that one is chosen among; processes: GPUs that share a batch.
    """
    match settings["kind"]:
        case "encoder_decoder":
            each = PHRASE_WORDS * (20 * settings["hidden"] + 4 * settings["maxout"] + KEPT_OUTPUTS * outputs)
        case "cslm":
            each = settings["order"] * settings["projection"] + 4 * sum(settings["layers"]) + KEPT_OUTPUTS * outputs
        case _:
            scored = 2 * length * settings["attention"]
            each = length * (30 * settings["hidden"] + 4 * settings["maxout"] + scored + KEPT_OUTPUTS * outputs)
    states = settings["batch"] / processes * NUMBER * each
    return Need(where, weights, NUMBER * COPIES * weights + states + RESERVED)
