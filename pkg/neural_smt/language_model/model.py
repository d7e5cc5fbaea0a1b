"""A back-off n-gram model that can be queried, saved and mapped into memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log10
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import numpy as np

from neural_smt.errors import UserError
from neural_smt.io.arrays import read_arrays
from neural_smt.io.codes import BITS
from neural_smt.io.ragged import PIECE, Ragged
from neural_smt.io.ragged import blocks as lists_in_blocks
from neural_smt.io.records import FILE, record_of, write_record
from neural_smt.jit import kernel
from neural_smt.language_model.automaton import build_automaton, no_codes
from neural_smt.language_model.counting import blocks
from neural_smt.language_model.estimation import estimate_within
from neural_smt.language_model.ngrams import BLOCK, NgramTable, restrict_tables
from neural_smt.language_model.primitives import (
    ARC,
    CONTEXT,
    EMPTY,
    Automaton,
    CodedArcs,
    coded_log10_prob,
    log10_backoff,
    score_sentences,
    score_word,
    shorter_state,
)
from neural_smt.vocabulary import BOS, EOS, UNK, Vocabulary

MEMORY = 1 << 30
"""Bytes in which a model is estimated that a network is compared with; of more text on disk."""


@dataclass(frozen=True)
class _Unigrams:
    """What an ``Automaton`` of either kind has in a file."""

    lexicon: Annotated[np.ndarray, "int32 [words] < words"]
    unigram_log10: Annotated[np.ndarray, "float32 [words] any"]
    unigram_state: Annotated[np.ndarray, "int32 [words] < states"]


@dataclass(frozen=True)
class _Exact(_Unigrams):
    """An exact one; arcs, contexts: ``ARC`` and ``CONTEXT`` as two integers each."""

    arcs: Annotated[np.ndarray, "uint64 [slots, 2]"]
    contexts: Annotated[np.ndarray, "uint64 [states, 2]"]

    def fault(self) -> str | None:
        """What would lead queries astray, or in a circle."""
        slots, arcs, contexts, empty = len(self.arcs), _records(self.arcs, ARC), _records(self.contexts, CONTEXT), 0
        for start, stop in blocks(slots, BLOCK):
            filled = arcs["key"][start:stop] != EMPTY
            states = arcs["next_state"][start:stop][filled]
            empty += stop - start - len(states)
            if len(states) and not 0 <= states.min() <= states.max() < len(contexts):
                return "an arc leads nowhere"
        if slots & (slots - 1) or not empty:
            return "its arcs are no hash table"
        return _endless(contexts["suffix"])


@dataclass(frozen=True)
class _Quantised(_Unigrams):
    """A quantised one."""

    coded: CodedArcs

    def fault(self) -> str | None:
        """What would lead queries astray, or in a circle."""
        coded, inner = self.coded, len(self.coded.backoff_codes)
        if len(coded.order_starts) > len(coded.prob_centres) + 1 or inner + len(coded.highest_state) != len(
            coded.words
        ):
            return "its arcs are not of its orders"
        if inner + len(coded.unigram_backoff) != len(coded.suffix):
            return "it has no weight of a state"
        return _endless(coded.suffix)


def _records(pairs: np.ndarray, kind: np.dtype) -> np.ndarray:
    """Pairs of integers (uint64 ``[n, 2]``) as records of 16 bytes (``[n]``)."""
    return pairs.view(kind)[:, 0]


def _endless(suffix: np.ndarray) -> str | None:
    """What is wrong with the states that backing off leads to (int32 ``[states]``)."""
    for start, stop in blocks(len(suffix), BLOCK):
        part = suffix[start:stop]
        if (part < 0).any() or (part >= np.maximum(np.arange(start, stop), 1)).any():
            return "backing off does not end"
    return None


@dataclass(frozen=True)
class NgramModel:
    """An n-gram model over the ids of one vocabulary.

    ``arrays`` is what the kernels of ``primitives`` take; they are read-only. All scores are log10.
    """

    arrays: Automaton
    order: int
    ngrams: tuple[int, ...]
    """Number of n-grams of each order."""
    vocabulary_digest: str

    @property
    def begin_state(self) -> int:
        """The state after ``<s>``."""
        return int(self.arrays.begin)

    @property
    def known_words(self) -> int:
        """Number of words the model knows, with ``<unk>`` and ``</s>`` and without ``<s>``."""
        return int((self.arrays.lexicon != UNK).sum()) + 1

    @cached_property
    def finite(self) -> bool:
        """Whether all scores are finite numbers; looks at all of them once."""
        arrays, coded = self.arrays, self.arrays.coded
        exact = arrays.arcs["log10_prob"], arrays.contexts["backoff"], arrays.unigram_log10
        scores = *exact, coded.unigram_backoff, coded.prob_centres, coded.backoff_centres
        return all(np.isfinite(values).all() for values in scores)

    @property
    def quantised(self) -> bool:
        """Whether scores of n-grams of two words and more are those of codes."""
        return len(self.arrays.arcs) == 0

    @classmethod
    def from_tables(cls, tables: Sequence[NgramTable], vocabulary: Vocabulary, quantise: bool = False) -> "NgramModel":
        """Build from the n-grams of orders 1, 2, ...; ``UserError`` when a context is missing.

        quantise: keep a code of 8 bits of each probability and back-off weight, a third of the memory.
        """
        automaton = _read_only(build_automaton(tables, len(vocabulary), quantise))
        return cls(automaton, len(tables), tuple(len(table) for table in tables), vocabulary.digest)

    @classmethod
    def of_text(
        cls, sentences: Ragged, order: int, vocabulary: Vocabulary, asked: Ragged, followers: np.ndarray | None = None
    ) -> "NgramModel":
        """Estimate from sentences of its ids (without boundaries), in ``MEMORY`` besides the text.

        asked: the sentences that will be scored; only their n-grams are kept, and those of ``followers`` after their
        contexts (see ``restrict_tables``).
        """
        parts = (sentences.part(*rows) for rows in lists_in_blocks(sentences.offsets, PIECE))
        with TemporaryDirectory() as folder:
            tables = estimate_within(parts, order, (), MEMORY, Path(folder)).tables
            return cls.from_tables(restrict_tables(tables, asked, followers), vocabulary)

    def save(self, folder: Path) -> None:
        """Write a folder of arrays, and what else is known of the model."""
        meta = {"order": self.order, "ngrams": self.ngrams, "begin": self.begin_state}
        meta["vocabulary"] = self.vocabulary_digest
        arrays = self.arrays
        unigrams = arrays.lexicon, arrays.unigram_log10, arrays.unigram_state
        if self.quantised:
            write_record(folder, _Quantised(*unigrams, arrays.coded), meta | {"quantise": BITS})
        else:
            pairs = (records.view(np.uint64).reshape(-1, 2) for records in (arrays.arcs, arrays.contexts))
            write_record(folder, _Exact(*unigrams, *pairs), meta)

    @classmethod
    def load(cls, folder: Path, vocabulary: Vocabulary | None = None) -> "NgramModel":
        """Read what ``save`` wrote, memory-mapped.

        ``UserError`` when a file is missing or damaged, or when the model was made for another vocabulary than the one
        given.
        """
        arrays = read_arrays(Path(folder) / FILE)
        meta, sizes = arrays.meta, {} if vocabulary is None else {"words": len(vocabulary)}
        if vocabulary is not None and vocabulary.digest != meta["vocabulary"]:
            raise UserError(f"{folder}: made for another vocabulary; build the language model again")
        found: _Exact | _Quantised
        if "quantise" in meta:
            found = record_of(_Quantised, arrays, **sizes)
            arcs, contexts, coded = np.zeros(0, ARC), np.zeros(0, CONTEXT), found.coded
        else:
            found = record_of(_Exact, arrays, **sizes)
            arcs, contexts, coded = _records(found.arcs, ARC), _records(found.contexts, CONTEXT), no_codes()
        if not 0 <= meta["begin"] < max(len(contexts), len(coded.suffix)):
            raise arrays.damaged("it begins in no state")
        unigrams = found.lexicon, found.unigram_log10, found.unigram_state
        automaton = _read_only(Automaton(arcs, *unigrams, contexts, np.int32(meta["begin"]), coded))
        return cls(automaton, meta["order"], tuple(meta["ngrams"]), meta["vocabulary"])

    def score_word(self, state: int, word: int) -> tuple[float, int]:
        """log10 p(word | state) and the next state."""
        return score_word(self.arrays, state, word)

    def score_sentences(self, sentences: Ragged) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """log10 of each sentence including ``</s>``, its number of unknown words, and their share of the log10."""
        return score_sentences(self.arrays, sentences.values, sentences.offsets)


def _read_only(automaton: Automaton) -> Automaton:
    """The kernels are compiled once, for plain read-only arrays, whether mapped or not."""
    *arrays, _, coded = automaton
    for array in (*arrays, *coded):
        array.flags.writeable = False
    return automaton


def context_states(model: NgramModel, contexts: np.ndarray) -> np.ndarray:
    """int32 ``[Q]``: the state after the words of each context, int32 ``[Q, history]`` (``BOS`` before a sentence)."""
    return _context_states(model.arrays, np.ascontiguousarray(contexts, dtype=np.int32), model.order - 1)


def score_ngrams(model: NgramModel, contexts: np.ndarray, words: np.ndarray) -> np.ndarray:
    """float64 ``[Q]``: log10 p(word | context), with all the context that the model can use.

    contexts: int32 ``[Q, history]``, oldest word first, ``BOS`` at the start of a sentence and before it; words: int32
    ``[Q]``, ``EOS`` for the end. Ids that the model does not know, beyond the vocabulary too, are ``<unk>``.
    """
    states = context_states(model, contexts)
    return _score_words(model.arrays, states, np.ascontiguousarray(words, dtype=np.int32))


def word_mass(model: NgramModel, words: np.ndarray) -> np.ndarray:
    """float64 ``[states]``: the sum of p(word | state) over ``words`` (int ids, each counted as often as it stands).

    A state's sum is that of the words it has n-grams with, and what backing off gives to the others: all that the
    shorter state gives, less its share of the words that have n-grams. One pass over the model, one query per n-gram.
    """
    known = model.arrays.lexicon[np.asarray(words)]
    counts = np.bincount(known, minlength=len(model.arrays.lexicon)).astype(np.float64)
    return _word_mass(model.arrays, counts)


@kernel
def _context_states(model: Automaton, contexts: np.ndarray, longest: int) -> np.ndarray:
    count, history = contexts.shape
    states = np.empty(count, dtype=np.int32)
    for row in range(count):
        state = np.int64(0)
        for column in range(max(0, history - longest), history):
            if contexts[row, column] == BOS:
                state = np.int64(model.begin)
            else:
                _, state = score_word(model, state, contexts[row, column])
        states[row] = state
    return states


@kernel
def _score_words(model: Automaton, states: np.ndarray, words: np.ndarray) -> np.ndarray:
    scores = np.empty(len(words))
    for row in range(len(words)):
        scores[row] = score_word(model, np.int64(states[row]), words[row])[0]
    return scores


@kernel
def _word_mass(model: Automaton, counts: np.ndarray) -> np.ndarray:
    """counts: float64 [words], how often each word that the model knows is counted."""
    states = max(len(model.contexts), len(model.coded.suffix))
    inside, shared = np.zeros(states), np.zeros(states)
    coded = model.coded
    for state in range(1, len(coded.first) - 1):
        for arc in range(np.int64(coded.first[state]), np.int64(coded.first[state + 1])):
            word = np.int64(coded.words[arc])
            if counts[word] > 0:
                inside[state] += counts[word] * 10.0 ** coded_log10_prob(coded, arc)
                shared[state] += counts[word] * 10.0 ** score_word(model, shorter_state(model, state), word)[0]
    for slot in range(len(model.arcs)):
        key = model.arcs[slot].key
        if key == EMPTY:
            continue
        state, word = np.int64(key >> np.uint64(32)), np.int64(key & np.uint64(0xFFFFFFFF))
        if counts[word] > 0:
            inside[state] += counts[word] * 10.0 ** model.arcs[slot].log10_prob
            shared[state] += counts[word] * 10.0 ** score_word(model, shorter_state(model, state), word)[0]
    mass = np.zeros(states)
    for word in range(len(counts)):
        mass[0] += counts[word] * 10.0 ** model.unigram_log10[word]
    for state in range(1, states):  # a suffix has a smaller number than the state
        mass[state] = inside[state] + 10.0 ** log10_backoff(model, state) * (
            mass[shorter_state(model, state)] - shared[state]
        )
    return mass


@dataclass(frozen=True)
class Perplexity:
    """Totals of a scored text; all logarithms are log10, and every ``</s>`` counts as a token.

    unknown: tokens the model does not know.
    """

    sentences: int
    words: int
    unknown: int
    log10_prob: float

    @property
    def value(self) -> float:
        """Perplexity over all tokens, unknown words at the probability of ``<unk>``."""
        return 10 ** (-self.log10_prob / (self.words + self.sentences))


def measure_perplexity(model: NgramModel, sentences: Ragged) -> Perplexity:
    """Score sentences of word ids (without boundaries)."""
    log10_prob, unknown, _ = model.score_sentences(sentences)
    return Perplexity(len(sentences), len(sentences.values), int(unknown.sum()), float(log10_prob.sum()))


def comparable_perplexity(model: NgramModel, sentences: Ragged, all_words: int) -> float:
    """Perplexity over all tokens of the model with its uniform distribution spread over a whole vocabulary.

    Estimation shares what it sets free among the words that the text has, ``<unk>`` one of them: the less text, the
    cheaper is an unknown word. Here ``all_words`` share it (with ``<unk>`` and ``</s>``, without ``<s>``), so models of
    one vocabulary can be compared. After h, p(<unk> | h) is that share of every word: known words get the smaller share
    instead, unknown ones the smaller share alone. Exact for interpolated models that are not pruned. ``UserError`` for
    a model whose own text had words outside its vocabulary: then <unk> was counted like a word.
    """
    known = model.arrays.lexicon != UNK
    if model.arrays.unigram_log10[UNK] > model.arrays.unigram_log10[known].min(initial=0):
        raise UserError(
            "the language model's text has words outside its vocabulary, so perplexities cannot be compared; "
            "build the vocabulary of that text too"
        )
    smaller = model.known_words / all_words
    total = 0.0
    for sentence in sentences:
        state = model.begin_state
        for word in [*sentence.tolist(), EOS]:
            share = 10 ** model.score_word(state, UNK)[0]
            in_model = word < len(known) and known[word]
            log10_prob, state = model.score_word(state, word)
            total += log10(10**log10_prob - share * (1 - smaller)) if in_model else log10(share * smaller)
    return 10 ** (-total / (len(sentences.values) + len(sentences)))


def rounded_perplexity(scores: np.ndarray) -> float:
    """e to the mean of negative natural logs (float ``[n]``), to four digits after the point, as reports show it."""
    with np.errstate(over="ignore"):  # may be infinite
        return round(float(np.exp(-float(scores.mean()))), 4)
