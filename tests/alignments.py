"""Word alignments written down in tests."""

from collections.abc import Iterable
from dataclasses import fields

import numpy as np

from neural_smt.alignment.lexical import LexicalTable
from neural_smt.io.ragged import Ragged, offsets_of


def alignments_of(pairs: Iterable[Iterable[tuple[int, int]]]) -> Ragged:
    """Alignments from the links of each sentence pair."""
    links = [list(pair) for pair in pairs]
    values = np.array([link for pair in links for link in pair], dtype=np.int16).reshape(-1, 2)
    return Ragged(values, offsets_of([len(pair) for pair in links]))


def rounded(table: LexicalTable) -> LexicalTable:
    """The table as Moses reads it back from its text files: every probability with seven decimals."""
    offsets, targets, *probabilities = (getattr(table, field.name) for field in fields(table))
    return LexicalTable(offsets, targets, *(np.round(values, 7) for values in probabilities))
