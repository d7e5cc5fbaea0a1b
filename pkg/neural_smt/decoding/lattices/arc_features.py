"""The feature values of arcs: what the tables, the language models and the order of phrases give each extension."""

from typing import NamedTuple

import numpy as np

from neural_smt.decoding.features import DISTORTION, REORDERING
from neural_smt.decoding.options import WeightedSentences
from neural_smt.decoding.primitives import LOG_10, Options, orientation
from neural_smt.jit import kernel
from neural_smt.language_model.primitives import Automaton, score_word
from neural_smt.vocabulary import EOS


class Extensions(NamedTuple):
    """Hypotheses extended by options, n of them.

    options, starts: int32 [n], the option and its first source word; ranges: int32 [n, 2], previous: int32 [n], states:
    int32 [n, models]: last source range, last option (-1: none) and language model states of the hypothesis; final:
    bool [n], whether the translation ends with the option; extras: float32 [n], the score of a hook.
    """

    options: np.ndarray
    starts: np.ndarray
    ranges: np.ndarray
    previous: np.ndarray
    states: np.ndarray
    final: np.ndarray
    extras: np.ndarray


def arc_features(weighted: WeightedSentences, arcs: Extensions) -> np.ndarray:
    """float32 ``[n, F]``: the feature values of extensions. Natural log."""
    features, options = weighted.features, weighted.options
    result = np.zeros((len(arcs.options), features.size), dtype=np.float32)
    result[:, features.stateless] = weighted.prepared.stateless[weighted.rows[arcs.options]]
    result[:, features.slices[DISTORTION].start] = -np.abs(arcs.ranges[:, 1] - arcs.starts)
    names = features.language_models
    first = features.slices[names[0]].start
    scores = score_arcs(weighted.models, options, arcs.options, arcs.states, arcs.final)
    result[:, first : first + len(names)] = scores
    if REORDERING in features:
        stops = arcs.starts + options.source_length[arcs.options]
        result[:, features.slices[REORDERING]] = _read_reordering(
            weighted.prepared.reordering,
            weighted.rows,
            np.column_stack([arcs.ranges, arcs.starts, stops]).astype(np.int32),
            arcs.previous,
            arcs.options,
        )
    if weighted.hook_column is not None:
        result[:, weighted.hook_column] = arcs.extras
    return result


@kernel
def score_arcs(
    models: tuple[Automaton, ...], options: Options, chosen: np.ndarray, states: np.ndarray, final: np.ndarray
) -> np.ndarray:
    """Language model scores of options after states, natural log, float32 [n, models]; final ones end the sentence."""
    scores = np.zeros((len(chosen), len(models)), dtype=np.float32)
    for i in range(len(chosen)):
        for m in range(len(models)):
            state = np.int64(states[i, m])
            total = 0.0
            for position in range(options.word_offsets[chosen[i]], options.word_offsets[chosen[i] + 1]):
                log10_prob, state = score_word(models[m], state, options.words[position])
                total += log10_prob
            if final[i]:
                total += score_word(models[m], state, EOS)[0]
            scores[i, m] = total * LOG_10
    return scores


@kernel
def _read_reordering(
    reordering: np.ndarray, rows: np.ndarray, ranges: np.ndarray, previous: np.ndarray, current: np.ndarray
) -> np.ndarray:
    """Reordering scores (float32 [n, 6]) of options after others; ranges: [n, 4], start and stop of both spans."""
    scores = np.zeros((len(current), 6), dtype=np.float32)
    for i in range(len(current)):
        turn = orientation(ranges[i, 0], ranges[i, 1], ranges[i, 2], ranges[i, 3])
        scores[i, turn] = reordering[rows[current[i]], turn]
        if previous[i] >= 0:
            scores[i, 3 + turn] = reordering[rows[previous[i]], 3 + turn]
    return scores
