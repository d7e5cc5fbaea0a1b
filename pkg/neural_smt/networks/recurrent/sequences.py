"""Scores of whole sequences by a recurrent model, many side by side."""

import numpy as np

from neural_smt.io.ragged import Ragged
from neural_smt.networks.distinct import number_rows
from neural_smt.networks.recurrent.configuration import AuxiliaryInputs
from neural_smt.networks.recurrent.scorer import RecurrentScorer, RecurrentWalk, writable
from neural_smt.networks.recurrent.tries import build_tries
from neural_smt.vocabulary import BOS

ROWS = 1 << 16
"""Words of sequences scored at a time."""


def distinct_inputs(inputs: AuxiliaryInputs | None, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which inputs differ: for each of ``numbers`` (int ``[n]``) a new one (int32 ``[n]``), equal where the inputs are;
    and for each new number one of the old (int64). Without inputs all are 0.
    """
    if inputs is None:
        return np.zeros(len(numbers), dtype=np.int32), np.zeros(1, dtype=np.int64)
    used, place = np.unique(numbers, return_inverse=True)
    equal, first = number_rows(np.ascontiguousarray(inputs.rows[used], dtype=np.int32))
    return equal[place].astype(np.int32), used[first]


def score_sequences(
    scorer: RecurrentScorer,
    words: Ragged,
    inputs: AuxiliaryInputs | None = None,
    numbers: np.ndarray | None = None,
    first: np.ndarray | None = None,
    shared: bool = True,
) -> tuple[np.ndarray, int]:
    """ln p of whole sequences from the beginning of a sentence, float64 ``[n]``; and how many h were computed.

    words: int32 ``Ragged`` of n sequences in the model's ids, ``EOS`` included where it is to be predicted; numbers:
    int for every word, which of ``inputs`` it has; first: int64 ``[G + 1]``, groups of sequences that share common
    prefixes if ``shared`` (all are one group when not given).
    """
    first = np.array([0, len(words)], dtype=np.int64) if first is None else np.asarray(first, dtype=np.int64)
    scores, evaluations = np.zeros(len(words)), 0
    ends = words.offsets[first]
    group = 0
    while group < len(first) - 1:
        stop = max(group + 1, int(np.searchsorted(ends, ends[group] + ROWS, side="right")) - 1)
        part, places = slice(*first[[group, stop]]), slice(*ends[[group, stop]])
        chosen = np.zeros(places.stop - places.start, np.int64) if numbers is None else numbers[places]
        of_word, of_input = distinct_inputs(inputs, chosen)
        tries = build_tries(
            np.zeros(stop - group, dtype=np.int32),
            first[group : stop + 1] - part.start,
            words.offsets[part.start : part.stop + 1] - places.start,
            writable(words.values[places], np.int32),
            of_word,
            scorer.class_of_word,
            shared,
        )
        walk = RecurrentWalk(scorer, tries, scorer.input_layer(tries, inputs, of_input))
        roots = stop - group
        walk.score_level(0, np.zeros(roots, dtype=np.int64), np.full(roots, BOS, dtype=np.int32))
        filled = tries.sequence_entry >= 0
        scores[part][filled] = walk.rows.totals[walk.rows.entry_row[tries.sequence_entry[filled]]]
        evaluations += walk.evaluations
        group = stop
    return scores, evaluations
