"""Word alignments written down in tests, and what they lead to."""

from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from neural_smt.alignment.lexical import LexicalTable
from neural_smt.io.files import read_yaml
from neural_smt.io.ragged import Ragged, offsets_of
from neural_smt.networks.recurrent.configuration import LinkSets

CASES: dict[str, Any] = read_yaml(Path(__file__).parent / "alignment" / "cases.yaml")


def alignments_of(pairs: Iterable[Iterable[tuple[int, int]]]) -> Ragged:
    """Alignments from the links of each sentence pair."""
    links = [list(pair) for pair in pairs]
    values = np.array([link for pair in links for link in pair], dtype=np.int16).reshape(-1, 2)
    return Ragged(values, offsets_of([len(pair) for pair in links]))


def rounded(table: LexicalTable) -> LexicalTable:
    """The table as Moses reads it back from its text files: every probability with seven decimals."""
    offsets, targets, *probabilities = (getattr(table, field.name) for field in fields(table))
    return LexicalTable(offsets, targets, *(np.round(values, 7) for values in probabilities))


def link_sets(*sets: tuple[int, list[int]]) -> LinkSets:
    """Sets of source positions, each of a sentence."""
    sentences = np.array([sentence for sentence, _ in sets], dtype=np.int32)
    return LinkSets(sentences, Ragged.from_lists([positions for _, positions in sets]))
