"""How good the translations are that search could have chosen: a table of oracle BLEU, of n-best lists and lattices."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from neural_smt.bleu import bleu, corpus_statistics, sentence_bleu
from neural_smt.decoding.lattices import oracle as lattice_oracle
from neural_smt.decoding.lattices.flat import FlatLattices
from neural_smt.decoding.lattices.pruning import prune
from neural_smt.decoding.options import PreparedSentences
from neural_smt.decoding.oracles import corpus_oracle, sentence_oracle
from neural_smt.decoding.references import encode_references
from neural_smt.decoding.search import Decoder

HEADER = ("candidates", "per_sentence", "oracle", "bleu", "mean_sentence_bleu", "seconds_per_sentence")


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
    return rows + _of_lattices(decoder, prepared, references, density)


def statistics_row(candidates: str, each: float, oracle: str, statistics: np.ndarray, seconds: float) -> OracleRow:
    mean = float(sentence_bleu(statistics).mean()) if len(statistics) else 0.0
    return OracleRow(candidates, each, oracle, 100 * bleu(statistics), 100 * mean, seconds / max(1, len(statistics)))


def _of_lists(
    decoder: Decoder, prepared: PreparedSentences, references: Sequence[list[str]], size: int
) -> list[OracleRow]:
    began = time.perf_counter()
    translations = decoder.decode(prepared, nbest=size)
    entries = [(entry.tokens, number) for number, t in enumerate(translations) for entry in t.nbest]
    statistics = corpus_statistics([tokens for tokens, _ in entries], [references[number] for _, number in entries])
    offsets = np.searchsorted([number for _, number in entries], np.arange(len(references) + 1))
    searched = time.perf_counter() - began
    if size == 1:
        return [statistics_row("1-best", 1.0, "model", statistics, searched)]
    rows = []
    for name, find in (("sentence", sentence_oracle), ("corpus", corpus_oracle)):
        began = time.perf_counter()
        chosen = statistics[find(statistics, offsets)]
        seconds = searched + time.perf_counter() - began
        rows.append(statistics_row(f"{size}-best", len(entries) / max(1, len(references)), name, chosen, seconds))
    return rows


def _of_lattices(
    decoder: Decoder, prepared: PreparedSentences, references: Sequence[list[str]], density: float
) -> list[OracleRow]:
    began = time.perf_counter()
    lattices = [lattice and prune(lattice, density=density) for lattice in decoder.lattices(prepared)]
    flat = FlatLattices.of(lattices, decoder.feature_set.size)
    encoded = encode_references(references, decoder.model.target_vocabulary, prepared.unknown_words)
    searched = time.perf_counter() - began
    rows = []
    for name, find in (("sentence", lattice_oracle.sentence_oracle), ("corpus", lattice_oracle.corpus_oracle)):
        began = time.perf_counter()
        statistics = find(flat, encoded).statistics
        seconds = searched + time.perf_counter() - began
        rows.append(statistics_row("lattice", len(flat.tails) / max(1, len(references)), name, statistics, seconds))
    return rows
