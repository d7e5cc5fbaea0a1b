"""The recurrent joint model from the equations of Auli et al. (2013, section 2), one word at a time, in float64."""

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np
from references import concatenate, log_softmax, sigmoid

from neural_smt.networks.primitives import CLASSES, direct_places
from neural_smt.networks.recurrent.configuration import RecurrentConfig, WordClasses
from neural_smt.vocabulary import BOS, EOS


def random_weights(config: RecurrentConfig, seed: int) -> dict[str, np.ndarray]:
    """Weights by the names of the network's parameters; those that the configuration does without are left out.

    embedding (U transposed): [V, H]; recurrent (W): [H, H]; input_hidden (F): [H, D]; class_output and word_output: V
    and G side by side for classes [C, H + D] and for units [V - 1, H + D]; direct: [direct_size].
    """
    random = np.random.default_rng(seed)
    size = config.hidden + config.inputs
    shapes = {
        "embedding": (config.words, config.hidden),
        "recurrent": (config.hidden, config.hidden),
        "input_hidden": (config.hidden, config.inputs),
        "class_output": (config.classes, size),
        "word_output": (config.words - 1, size),
        "direct": (config.direct_size,),
    }
    return {name: random.normal(0, 0.5, shape).astype(np.float32) for name, shape in shapes.items() if 0 not in shape}


def reference_scores(
    config: RecurrentConfig,
    classes: WordClasses,
    weights: dict[str, Any],
    words: Sequence[int],
    inputs: Any,
    xp: ModuleType = np,
) -> Any:
    """float64 [T + 1]: ln p of every word of a sentence and of its end, each given those before it and f.

    Predicting w_{t+1}:  h_t = s(U w_t + W h_{t-1} + F f_t);  p = p(class) p(word | class), each a softmax of the sum of
    V h_t + G f_t and the direct features. w_0 is BOS; the hidden layer before it is 0; f_t (row t of inputs [T + 1, D])
    is what is known of the predicted word. ``xp``: see ``references``; tensors are float64 already.
    """
    w = {name: value.astype(np.float64) for name, value in weights.items()} if xp is np else weights
    hidden = xp.zeros(config.hidden, dtype=xp.float64)
    history = [BOS] * config.direct_order
    scores = []
    for f, word in zip(inputs.astype(np.float64) if xp is np else inputs, [*words, EOS], strict=True):
        sums = w["embedding"][history[0]] + w["recurrent"] @ hidden
        if config.inputs:
            sums = sums + w["input_hidden"] @ f
        hidden = sigmoid(sums, xp)
        known = concatenate([hidden, f], xp)
        number = int(classes.class_of_word[word])
        first, last = int(classes.offsets[number]), int(classes.offsets[number + 1])
        within = int(classes.unit_of_word[word]) - first
        class_logits = w["class_output"] @ known
        word_logits = w["word_output"][first:last] @ known
        if config.direct_size:
            recent = np.array(history[: config.direct_order - 1], dtype=np.int32)
            class_logits, word_logits = (
                logits + _direct(config, w["direct"], recent, chosen, len(logits))
                for chosen, logits in ((CLASSES, class_logits), (number, word_logits))
            )
        scores.append(log_softmax(class_logits, xp)[number] + log_softmax(word_logits, xp)[within])
        history = [word, *history[:-1]]
    return xp.stack(scores)


def _direct(config: RecurrentConfig, direct: Any, recent: np.ndarray, number: int, span: int) -> Any:
    """The sum of the direct features of all history lengths."""
    places = np.empty(config.direct_order, dtype=np.int64)
    count = direct_places(recent, config.direct_order, number, span, config.direct_size, places)
    return sum(direct[place : place + span] for place in places[:count])
