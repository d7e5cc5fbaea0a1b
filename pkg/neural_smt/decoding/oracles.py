"""Oracle BLEU of n-best lists and lattices: how good the best translations are that they hold."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from neural_smt.bleu import bleu, corpus_statistics, sentence_bleu
from neural_smt.bleu_primitives import SIZE, log_bleu
from neural_smt.decoding.lattices import oracle as lattice_oracle
from neural_smt.decoding.lattices.flat import FlatLattices
from neural_smt.decoding.lattices.oracle import encode_references
from neural_smt.decoding.lattices.pruning import prune
from neural_smt.decoding.options import PreparedSentences
from neural_smt.decoding.search import Decoder
from neural_smt.io.ragged import Ragged
from neural_smt.jit import kernel

HEADER = ("candidates", "per_sentence", "oracle", "bleu", "mean_sentence_bleu", "seconds_per_sentence")

ROUNDS = 20
"""Passes over the sentences of the corpus-level search, at most; a handful are needed."""


@dataclass(frozen=True)
class OracleRow:
    """One row of the table.

    candidates: ``1-best``, ``100-best``, ``lattice``; per_sentence: mean number of entries, or of arcs of a lattice;
    oracle: ``sentence``, ``corpus``, or ``model`` for the 1-best; bleu, mean_sentence_bleu: 0 to 100, of tokens, the
    latter BLEU+1; seconds: per sentence, of search and oracle.
    """

    candidates: str
    per_sentence: float
    oracle: str
    bleu: float
    mean_sentence_bleu: float
    seconds: float

    def cells(self) -> list[str]:
        """The row as text, in the order of ``HEADER``."""
        scores = (f"{value:.2f}" for value in (self.bleu, self.mean_sentence_bleu))
        return [self.candidates, f"{self.per_sentence:.1f}", self.oracle, *scores, f"{self.seconds:.5f}"]


def oracle_table(
    decoder: Decoder,
    sentences: Sequence[list[str]],
    references: Sequence[list[str]],
    nbest_sizes: Sequence[int],
    density: float,
) -> list[OracleRow]:
    """Rows for the 1-best, each size of distinct n-best list, and the lattices, pruned to ``density`` arcs a word."""
    prepared = decoder.prepare(list(sentences))
    rows = []
    for size in [1, *sorted(set(nbest_sizes) - {1})]:
        rows += _of_lists(decoder, prepared, references, size)
    began = time.perf_counter()
    lattices = [lattice and prune(lattice, density=density) for lattice in decoder.lattices(prepared)]
    flat = FlatLattices.of(lattices, decoder.feature_set.size)
    encoded = encode_references(references, decoder.model.target_vocabulary, prepared.unknown_words)
    return rows + lattice_rows(flat, encoded, time.perf_counter() - began)


def _of_lists(
    decoder: Decoder, prepared: PreparedSentences, references: Sequence[list[str]], size: int
) -> list[OracleRow]:
    began = time.perf_counter()
    translations = decoder.decode(prepared, nbest=size)
    entries = [(entry.tokens, number) for number, t in enumerate(translations) for entry in t.nbest]
    statistics = corpus_statistics([tokens for tokens, _ in entries], [references[number] for _, number in entries])
    offsets = np.searchsorted([number for _, number in entries], np.arange(len(references) + 1))
    return list_rows(size, statistics, offsets, len(entries), time.perf_counter() - began)


def list_rows(size: int, statistics: np.ndarray, offsets: np.ndarray, entries: int, seconds: float) -> list[OracleRow]:
    """The rows of n-best lists of one size; entries: how many were listed; seconds: of listing them.

    statistics, offsets: as for ``sentence_oracle``.
    """
    if size == 1:
        return [_row("1-best", 1.0, "model", statistics, seconds)]
    rows = []
    for name, find in (("sentence", sentence_oracle), ("corpus", corpus_oracle)):
        began = time.perf_counter()
        chosen = statistics[find(statistics, offsets)]
        each, spent = entries / max(1, len(offsets) - 1), seconds + time.perf_counter() - began
        rows.append(_row(f"{size}-best", each, name, chosen, spent))
    return rows


def lattice_rows(lattices: FlatLattices, references: Ragged, seconds: float) -> list[OracleRow]:
    """The rows of lattices; references: from ``encode_references``; seconds: of searching the lattices."""
    rows = []
    for name, find in (("sentence", lattice_oracle.sentence_oracle), ("corpus", lattice_oracle.corpus_oracle)):
        began = time.perf_counter()
        statistics = find(lattices, references).statistics
        each, spent = len(lattices.tails) / max(1, len(lattices)), seconds + time.perf_counter() - began
        rows.append(_row("lattice", each, name, statistics, spent))
    return rows


def _row(candidates: str, each: float, oracle: str, statistics: np.ndarray, seconds: float) -> OracleRow:
    mean = float(sentence_bleu(statistics).mean()) if len(statistics) else 0.0
    return OracleRow(candidates, each, oracle, 100 * bleu(statistics), 100 * mean, seconds / max(1, len(statistics)))


def sentence_oracle(statistics: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """The row of each sentence's entry with the highest BLEU+1, int64 ``[S]``; -1 without entries, the first of ties.

    statistics: int32 ``[N, 9]``; offsets: int64 ``[S + 1]``, the entries of each sentence.
    """
    return _highest(sentence_bleu(statistics), np.asarray(offsets, dtype=np.int64))


def corpus_oracle(statistics: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Rows, int64 ``[S]``, whose corpus BLEU no exchange of one of them improves.

    An approximation of the best corpus BLEU, which depends on all sentences at once: it starts from the sentence-level
    oracle and goes over the sentences, each time taking the entry that gives the highest corpus BLEU together with the
    present ones of all the others, until nothing changes. BLEU never falls on the way.
    """
    offsets = np.asarray(offsets, dtype=np.int64)
    chosen = sentence_oracle(statistics, offsets)
    _climb(np.ascontiguousarray(statistics, dtype=np.int32), offsets, chosen, ROUNDS)
    return chosen


@kernel
def _highest(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    chosen = np.full(len(offsets) - 1, -1, dtype=np.int64)
    for sentence in range(len(chosen)):
        for row in range(offsets[sentence], offsets[sentence + 1]):
            if chosen[sentence] < 0 or values[row] > values[chosen[sentence]]:
                chosen[sentence] = row
    return chosen


@kernel
def _climb(statistics: np.ndarray, offsets: np.ndarray, chosen: np.ndarray, rounds: int) -> None:
    """Exchange the ``chosen`` rows, one sentence at a time, as long as the corpus gains."""
    total = np.zeros(SIZE)
    for row in chosen:
        if row >= 0:
            total += statistics[row]
    for _ in range(rounds):
        changed = False
        for sentence in range(len(chosen)):
            if chosen[sentence] < 0:
                continue
            total -= statistics[chosen[sentence]]
            best, best_value = chosen[sentence], log_bleu(statistics[chosen[sentence]], total)
            for row in range(offsets[sentence], offsets[sentence + 1]):
                value = log_bleu(statistics[row], total)
                if value > best_value:
                    best, best_value = row, value
            changed |= best != chosen[sentence]
            chosen[sentence] = best
            total += statistics[best]
        if not changed:
            break
