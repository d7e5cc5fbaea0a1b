"""Inference with a recurrent model on the processor: ln p of very many words, each thing computed once.

What is kept of a state is r = U w + W h, the sum before F f is added: with the input f of the next word it gives
h = s(r + F f), which all words that may follow share, and so the normaliser over the classes; the normaliser within a
class is shared by the words of that class; what an input adds to hidden layer and outputs (F f, G f) is computed once
for each distinct input. Matrix products of all that is computed together go through BLAS, the rest through kernels.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from neural_smt.errors import required
from neural_smt.io.ragged import Ragged, blocks
from neural_smt.networks.distinct import number_rows
from neural_smt.networks.recurrent import scorer_primitives as kernels
from neural_smt.networks.recurrent.configuration import AuxiliaryInputs, RecurrentConfig, WordClasses
from neural_smt.networks.recurrent.tries import Tries, build_tries
from neural_smt.vocabulary import BOS


def writable(array: np.ndarray, dtype: type) -> np.ndarray:
    """The same values as kernels are compiled for: contiguous, not read-only."""
    return np.require(array, dtype, ["C", "W"])


class RecurrentScorer:
    """A recurrent model made ready for inference. weights: float32, those of a ``RecurrentNetwork`` by name."""

    def __init__(self, config: RecurrentConfig, classes: WordClasses, weights: Mapping[str, np.ndarray]):
        hidden, nothing = config.hidden, np.zeros(0, dtype=np.float32)
        self.hidden_size, self.classes = hidden, len(classes)
        self.input_table = weights.get("input_table")
        self.class_of_word = classes.class_of_word
        self.embedding = writable(weights["embedding"], np.float32)
        self.recurrent = np.ascontiguousarray(weights["recurrent"].T)
        self.class_hidden = np.ascontiguousarray(weights["class_output"][:, :hidden].T)
        self.input_hidden = np.ascontiguousarray(weights.get("input_hidden", nothing).T)
        self.input_classes = np.ascontiguousarray(weights["class_output"][:, hidden:].T)
        self.input_words = np.ascontiguousarray(weights["word_output"][:, hidden:].T)
        self.output = kernels.Output(
            np.array(weights["word_output"][:, :hidden], order="C"),
            writable(weights.get("direct", nothing), np.float32),
            writable(classes.offsets, np.int64),
            classes.unit_of_word,
            config.direct_order,
        )

    def input_layer(self, tries: Tries, inputs: AuxiliaryInputs | None, chosen: np.ndarray) -> kernels.InputLayer:
        """What the inputs of prefix trees add; chosen: int ``[N]``, which of ``inputs`` each number in the trees means.

        Without inputs, all of the trees' numbers are 0.
        """
        if inputs is None or len(self.input_hidden) == 0:
            zeros = np.zeros((1, self.hidden_size), np.float32), np.zeros((1, self.classes), np.float32)
            return kernels.InputLayer(*zeros, np.zeros(0, np.float32), np.full(len(tries.query_pair), -1, np.int64))
        table = required(self.input_table if inputs.table is None else inputs.table)
        rows = inputs.rows[chosen]
        return kernels.InputLayer(*self._input_sums(rows, table), *self._input_words(tries, rows, table))

    def _input_sums(self, rows: np.ndarray, table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """F f (float32 ``[N, H]``) and G f of the classes (``[N, C]``): each row of the table is multiplied once."""
        used, number = np.unique(rows, return_inverse=True)
        number = number.reshape(rows.shape)
        vectors = np.ascontiguousarray(table[used], dtype=np.float32)
        hidden, classes = (np.zeros((len(rows), size), dtype=np.float32) for size in (self.hidden_size, self.classes))
        for total, matrix in ((hidden, self.input_hidden), (classes, self.input_classes)):
            for slot, part in enumerate(np.split(matrix, rows.shape[1])):
                total += (vectors @ part)[number[:, slot]]
        return hidden, classes

    def _input_words(self, tries: Tries, rows: np.ndarray, table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """G f of the words of every distinct pair of a class and an input, and where those of each query start."""
        keys = tries.query_class.astype(np.int64) * len(rows) + tries.pair_input[tries.query_pair]
        distinct, number = np.unique(keys, return_inverse=True)
        class_of_key, input_of_key = np.divmod(distinct, len(rows))
        sizes = np.diff(self.output.offsets)[class_of_key]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        words = np.empty(starts[-1], dtype=np.float32)
        firsts = np.searchsorted(class_of_key, np.arange(self.classes + 1))
        for number_of_class in np.unique(class_of_key).tolist():
            part = slice(*firsts[number_of_class : number_of_class + 2])
            units = slice(*self.output.offsets[number_of_class : number_of_class + 2])
            vectors = table[rows[input_of_key[part]]].reshape(part.stop - part.start, -1)
            products = np.asarray(vectors, dtype=np.float32) @ self.input_words[:, units]
            words[starts[part.start] : starts[part.stop]] = products.ravel()
        return words, starts[number]

    def advance(self, hidden: np.ndarray, history: np.ndarray, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """r = U w + W h, float32 ``[n, H]``, of words w (int32 ``[n]``) after h (float32 ``[n, H]``), and the histories
        (int32 ``[n, order - 1]``, changed in place) that the words have joined.
        """
        sums = hidden @ self.recurrent
        kernels.add_words(sums, history, self.embedding, words)
        return sums, history


def new_rows(tries: Tries, slots: np.ndarray, most: np.ndarray, hidden: int, width: int) -> kernels.Rows:
    """Room for what prefix trees hold; slots: int32 ``[G]``, of each root; most: the same, as many as there may be;
    hidden, width: numbers of h and words of the history that each row keeps.

    Row 0 is h before a sentence begins, with ``BOS`` before it.
    """
    pairs = 1 + int(most[tries.pair_root].sum())
    entries = int(most[tries.pair_root[tries.query_pair[tries.entry_query]]].sum())
    parts = tries.prefix_entry, tries.pair_root, tries.entry_word
    states = np.empty((pairs, hidden), dtype=np.float32), np.empty((pairs, width), dtype=np.int32)
    numbers = (np.zeros(len(part), dtype=np.int64) for part in parts)
    rows = kernels.Rows._make((slots, *numbers, *states, np.empty(entries)))
    rows.hidden[0], rows.history[0] = 0, BOS
    return rows


class Walk(ABC):
    """Goes through prefix trees level by level; when a level is scored, its part of ``rows.totals`` is complete.

    The slots that a root has are written to ``rows.slots`` before its level is scored.
    """

    def __init__(self, tries: Tries, rows: kernels.Rows):
        self.tries, self.rows = tries, rows
        self.used = (1, 0)

    @property
    def evaluations(self) -> int:
        """States of the network computed so far."""
        return self.used[0] - 1

    def score_level(self, level: int, sources: np.ndarray, words: np.ndarray) -> None:
        """Score all that follows the roots of a level.

        sources, words: int64 and int32 ``[n]``, one for each slot of each of these roots, in their order: its state
        comes after this word, which followed the prediction of this row (0: the start of a sentence).
        """
        self._score_batches(level, self._after(sources, words))

    def _score_batches(self, level: int, states: Any) -> None:
        """states: of the slots of the roots of the level, in their order."""
        tries, rows = self.tries, self.rows
        batches = range(*tries.level_batches[level : level + 2].tolist())
        for batch in batches:
            prefixes = self.bounds(tries.prefix_batches, batch)
            if batch == batches.start:
                ends = np.cumsum(rows.slots[slice(*self.bounds(tries.level_roots, level))])
                rows.prefix_row[slice(*prefixes)] = np.concatenate([[0], ends[:-1]])
            else:
                guess = max(1, prefixes[1] - prefixes[0])
                states = self._after(*kernels.list_prefixes(tries, rows, prefixes, guess))
            self._score_batch(batch, states)

    @abstractmethod
    def _after(self, sources: np.ndarray, words: np.ndarray) -> Any:
        """The states after words that followed the predictions of these rows."""

    @abstractmethod
    def _score_batch(self, batch: int, states: Any) -> None:
        """Predict after the states of the prefixes of a batch, and complete the totals of its entries."""

    def place(self, batch: int) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int], int]:
        """Make room for the rows of a batch, if it has pairs: where its pairs, queries and entries begin and end, and
        its first row.
        """
        tries, first = self.tries, self.used[0]
        pairs, queries = self.bounds(tries.pair_batches, batch), self.bounds(tries.query_batches, batch)
        entries = int(tries.entry_offsets[queries[0]]), int(tries.entry_offsets[queries[1]])
        if pairs[0] < pairs[1]:
            self.used = kernels.place_rows(tries, self.rows, pairs, entries, self.used)
        return pairs, queries, entries, first

    @staticmethod
    def bounds(starts: np.ndarray, number: int) -> tuple[int, int]:
        """Where a part begins and ends."""
        return int(starts[number]), int(starts[number + 1])


class RecurrentWalk(Walk):
    """Goes through prefix trees with a recurrent model. most: int32 ``[G]``, how many slots a root may come to have
    (one each when not given).
    """

    def __init__(
        self, scorer: RecurrentScorer, tries: Tries, inputs: kernels.InputLayer, most: np.ndarray | None = None
    ):
        slots = np.ones(int(tries.level_roots[-1]), dtype=np.int32)
        width = scorer.output.direct_order - 1
        super().__init__(tries, new_rows(tries, slots, slots if most is None else most, scorer.hidden_size, width))
        self.scorer, self.inputs = scorer, inputs

    def score_only_level(self, hidden: np.ndarray, history: np.ndarray, words: np.ndarray) -> None:
        """Score all that follows roots of one level, one slot each, whose states are not from here.

        hidden: float32 ``[G, H]``, history: int32 ``[G, order - 1]`` (changed), words: int32 ``[G]``: the state of a
        root comes after this word, which followed this h and, newest first, these words.
        """
        self._score_batches(0, self.scorer.advance(hidden, history, words))

    def _after(self, sources: np.ndarray, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        hidden, history = kernels.gather_hidden(self.rows, sources)
        return self.scorer.advance(hidden, history, words)

    def _score_batch(self, batch: int, states: tuple[np.ndarray, np.ndarray]) -> None:
        tries, rows, scorer = self.tries, self.rows, self.scorer
        pairs, queries, _, first = self.place(batch)
        if pairs[0] == pairs[1]:
            return
        kernels.hidden_layers(tries, rows, pairs, *states, self.inputs)
        logits = rows.hidden[first : self.used[0]] @ scorer.class_hidden
        normalisers = np.empty(len(logits), dtype=np.float32)
        kernels.class_scores(tries, rows, pairs, self.inputs, scorer.output, logits, normalisers)
        kernels.word_scores(tries, rows, queries, first, self.inputs, scorer.output, logits, normalisers)


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
    for group, stop in blocks(ends, ROWS):
        part, places = slice(*first[[group, stop]]), slice(*ends[[group, stop]])
        chosen = np.zeros(places.stop - places.start, np.int64) if numbers is None else numbers[places]
        of_word, of_input = distinct_inputs(inputs, chosen)
        roots, groups = stop - group, first[group : stop + 1] - part.start
        offsets = words.offsets[part.start : part.stop + 1] - places.start
        sequences = Ragged(writable(words.values[places], np.int32), offsets)
        levels = np.zeros(roots, dtype=np.int32)
        tries = build_tries(levels, groups, sequences, of_word, scorer.class_of_word, shared)
        walk = RecurrentWalk(scorer, tries, scorer.input_layer(tries, inputs, of_input))
        walk.score_level(0, np.zeros(roots, dtype=np.int64), np.full(roots, BOS, dtype=np.int32))
        filled = tries.sequence_entry >= 0
        scores[part][filled] = walk.rows.totals[walk.rows.entry_row[tries.sequence_entry[filled]]]
        evaluations += walk.evaluations
    return scores, evaluations
