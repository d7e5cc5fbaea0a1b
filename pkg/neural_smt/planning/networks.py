"""Multiply-adds of the networks' matrix products, out of their sizes: what their time grows with."""

import math
from collections.abc import Mapping
from typing import Any

BACKWARD = 3
"""Passes through a network that an update costs, in forward ones: one forward, two for the gradients."""

OUTPUT = 60
"""Multiply-adds that take as long as one output's exponential, sum and gradient, which go through memory."""

SCORER = 8
"""The same of one unit of an attention network's scorer, whose tangent is computed in one pass."""


def _unit(hidden: int, inputs: int, gates: int = 3) -> int:
    """A recurrent unit that reads so many inputs: reset, update and candidate for a gated one."""
    return gates * hidden * (hidden + inputs)


def encoder_decoder(settings: Mapping[str, Any], words: float) -> tuple[float, float]:
    """Multiply-adds of an encoder-decoder: for each source word, and for each target word (Cho et al. 2014, appendix).

    words: that it predicts, at most.
    """
    hidden, embedding, maxout, rank = (settings[key] for key in ("hidden", "embedding", "maxout", "rank"))
    gates = 3 if settings["unit"] == "gated" else 1
    read = _unit(hidden, embedding, gates)
    written = _unit(hidden, embedding, gates) + 2 * maxout * (2 * hidden + embedding) + maxout * rank
    return read, written + words * (rank + OUTPUT)


def cslm(settings: Mapping[str, Any], words: float) -> tuple[float, float]:
    """Multiply-adds of the feed-forward language model for one n-gram: of its layers, and of all outputs."""
    first, second = settings["layers"]
    layers = (settings["order"] - 1) * settings["projection"] * first + first * second
    return layers, words * (second + OUTPUT)


def recurrent(settings: Mapping[str, Any], inputs: float, words: float) -> float:
    """Multiply-adds of a recurrent language model for one word; inputs: of the source, words: that it knows.

    Its softmax is of classes and of the words of one (Auli et al. 2013, section 4).
    """
    hidden = settings["hidden"]
    outputs = 2 * math.sqrt(words)
    return hidden * (hidden + inputs) + outputs * (hidden + inputs + settings["direct_order"] + OUTPUT)


def attention(settings: Mapping[str, Any], length: float, words: float) -> tuple[float, float]:
    """Multiply-adds of an attention network: for each source word, and for each target word (Mi et al. 2016).

    length: words of a source sentence; words: of a target vocabulary.
    """
    hidden, embedding, scorer = (settings[key] for key in ("hidden", "embedding", "attention"))
    maxout, rank = settings["maxout"], settings["rank"]
    read = 2 * _unit(hidden, embedding) + 2 * hidden * scorer
    looked = length * (scorer * (1 + SCORER) + 2 * hidden)
    state = _unit(hidden, embedding + 2 * hidden) + hidden * scorer
    output = 2 * maxout * (3 * hidden + embedding) + maxout * rank
    return read, state + looked + output + words * (rank + OUTPUT)
