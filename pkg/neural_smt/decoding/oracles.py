"""Oracle BLEU of n-best lists and lattices: how good the best translations are that they hold."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from neural_smt.decoding.lattices.flat import FlatLattices
from neural_smt.decoding.lattices.lattice import prune
from neural_smt.decoding.lattices.oracle import BEAM, ROUNDS, corpus_oracle, encode_references, sentence_oracle
from neural_smt.decoding.options import PreparedSentences
from neural_smt.decoding.search import Decoder
from neural_smt.io.ragged import Ragged, offsets_of

LIST_ROUNDS = 20
"""Passes over the sentences of the corpus-level search in n-best lists, at most; a handful are needed."""


class OracleRow(NamedTuple):
    """One row of the table.

    candidates: ``1-best``, ``100-best``, ``lattice``; per_sentence: mean number of entries, or of arcs of a lattice;
    oracle: ``sentence``, ``corpus``, or ``model`` for the 1-best; bleu, mean_sentence_bleu: 0 to 100, of tokens, the
    latter BLEU+1; seconds_per_sentence: of search and oracle.
    """

    candidates: str
    per_sentence: float
    oracle: str
    bleu: float
    mean_sentence_bleu: float
    seconds_per_sentence: float

    def cells(self) -> list[str]:
        """The row as text, in the order of ``HEADER``."""
        return [format(value, form) for value, form in zip(self, ("", ".1f", "", ".2f", ".2f", ".5f"), strict=True)]


HEADER = OracleRow._fields


def oracle_table(
    decoder: Decoder,
    sentences: Sequence[list[str]],
    references: Sequence[list[str]],
    nbest_sizes: Sequence[int],
    density: float,
) -> list[OracleRow]:
    """Rows for the 1-best, each size of distinct n-best list, and the lattices, pruned to ``density`` arcs a word."""
    prepared = decoder.prepare(list(sentences))
    encoded = encode_references(references, decoder.model.target_vocabulary, prepared.unknown_words)
    rows = []
    for size in [1, *sorted(set(nbest_sizes) - {1})]:
        rows += _of_lists(decoder, prepared, encoded, size)
    began = time.perf_counter()
    lattices = [lattice and prune(lattice, density=density) for lattice in decoder.lattices(prepared)]
    flat = FlatLattices.of(lattices, decoder.feature_set.size)
    return rows + score_oracles("lattice", flat, encoded, time.perf_counter() - began)


def _of_lists(decoder: Decoder, prepared: PreparedSentences, references: Ragged, size: int) -> list[OracleRow]:
    began = time.perf_counter()
    lists = [translation.nbest for translation in decoder.decode(prepared, nbest=size)]
    offsets = offsets_of([len(entries) for entries in lists])
    words = Ragged.concatenate([entries.words for entries in lists])
    seconds = time.perf_counter() - began
    return score_oracles(f"{size}-best", lattices_of_lists(words, offsets), references, seconds, len(words))


def lattices_of_lists(words: Ragged, offsets: np.ndarray) -> FlatLattices:
    """Lists of translations as lattices of two nodes, with an arc for each translation.

    words: int32 ``Ragged``, the translations; offsets: int64 ``[S + 1]``, those of each sentence, one at least.
    """
    starts = 2 * np.arange(len(offsets))
    tails = np.repeat(starts[:-1], np.diff(offsets)).astype(np.int32)
    return FlatLattices(starts, np.repeat(offsets, 2)[:-1], tails, np.zeros((0, len(words)), np.float32), words)


def score_oracles(
    candidates: str, lattices: FlatLattices, references: Ragged, seconds: float, listed: int | None = None
) -> list[OracleRow]:
    """The rows of both oracles, or of the translations themselves where ``candidates`` is ``1-best``.

    references: from ``encode_references``; seconds: of making the lattices; listed: where these are n-best lists (see
    ``lattices_of_lists``), how many entries were listed.
    """
    beam, rounds = (BEAM, ROUNDS) if listed is None else (0, LIST_ROUNDS)
    each = (len(lattices.tails) if listed is None else listed) / max(1, len(lattices))
    finders = {"sentence": sentence_oracle, "corpus": partial(corpus_oracle, rounds=rounds)}
    if candidates == "1-best":
        each, finders = 1.0, {"model": sentence_oracle}
    rows = []
    for name, find in finders.items():
        began = time.perf_counter()
        found = find(lattices, references, beam)
        spent = (seconds + time.perf_counter() - began) / max(1, len(found.statistics))
        rows.append(OracleRow(candidates, each, name, 100 * found.bleu, 100 * found.mean_sentence_bleu, spent))
    return rows
