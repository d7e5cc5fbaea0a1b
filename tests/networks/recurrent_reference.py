"""The recurrent joint model from the equations of Auli et al. (2013, section 2), one word at a time, in float64."""

import numpy as np
from references import log_softmax

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
    config: RecurrentConfig, classes: WordClasses, weights: dict[str, np.ndarray], words: list[int], inputs: np.ndarray
) -> np.ndarray:
    """float64 [T + 1]: ln p of every word of a sentence and of its end, each given those before it and f.

    Predicting w_{t+1}:  h_t = s(U w_t + W h_{t-1} + F f_t);  p = p(class) p(word | class), each a softmax of the sum of
    V h_t + G f_t and the direct features. w_0 is BOS; the hidden layer before it is 0; f_t (row t of inputs [T + 1, D])
    is what is known of the predicted word.
    """
    w = {name: value.astype(np.float64) for name, value in weights.items()}
    hidden = np.zeros(config.hidden)
    history = [BOS] * config.direct_order
    scores = []
    for f, word in zip(inputs.astype(np.float64), [*words, EOS], strict=True):
        sums = w["embedding"][history[0]] + w["recurrent"] @ hidden
        if config.inputs:
            sums = sums + w["input_hidden"] @ f
        hidden = 1 / (1 + np.exp(-sums))
        known = np.concatenate([hidden, f]) if config.inputs else hidden
        number = int(classes.class_of_word[word])
        first, last = int(classes.offsets[number]), int(classes.offsets[number + 1])
        within = int(classes.unit_of_word[word]) - first
        class_logits = w["class_output"] @ known
        word_logits = w["word_output"][first:last] @ known
        if config.direct_size:
            recent = np.array(history[: config.direct_order - 1], dtype=np.int32)
            for chosen, logits in ((CLASSES, class_logits), (number, word_logits)):
                places = np.empty(config.direct_order, dtype=np.int64)
                count = direct_places(recent, config.direct_order, chosen, len(logits), config.direct_size, places)
                for place in places[:count]:
                    logits += w["direct"][place : place + len(logits)]
        scores.append(log_softmax(class_logits, np)[number] + log_softmax(word_logits, np)[within])
        history = [word, *history[:-1]]
    return np.array(scores)
