"""From the n-grams of an ARPA file to a model over the words of a larger vocabulary."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from neural_smt.errors import UserError
from neural_smt.io.files import read_lines
from neural_smt.language_model.automaton import NgramError
from neural_smt.language_model.model import NgramModel
from neural_smt.language_model.ngrams import NgramTable
from neural_smt.vocabulary import RESERVED, Vocabulary


def arpa_model(path: Path, tables: Sequence[NgramTable], own: Vocabulary, vocabulary: Vocabulary) -> NgramModel:
    """The model of what ``read_arpa(path)`` returned, over the ids of ``vocabulary``.

    So a file is read once, though the vocabulary of a system is known only after all its files have been read. N-grams
    with a word outside the vocabulary are left out. Raises ``UserError`` naming the line of an n-gram that stands twice
    or whose context is missing.
    """
    ids = np.array([vocabulary.index.get(word, -1) for word in own.words], dtype=np.int32)
    tables = [_renumber(table, ids) for table in tables]
    try:
        return NgramModel.from_tables(tables, vocabulary)
    except NgramError as error:
        words = [vocabulary.words[word] for word in error.ngram]
        raise UserError(
            f"{path}, line {_find_line(path, words)}: {' '.join(words)!r} {error.reason}; "
            "the ARPA file is damaged, make it again"
        ) from None


def _renumber(table: NgramTable, ids: np.ndarray) -> NgramTable:
    words = ids[table.words]
    known = (words >= 0).all(axis=1)
    if known.all():
        return NgramTable(words, table.log10_prob, table.backoff)
    return NgramTable(words[known], table.log10_prob[known], table.backoff[known])


def _find_line(path: Path, words: Sequence[str]) -> int:
    """The last line of an n-gram in an ARPA file, where it must stand."""
    order, found = 0, 0
    for number, line in enumerate(read_lines(path), start=1):
        if line.strip() == f"\\{order + 1}-grams:":
            order += 1
        fields = [field for field in line.replace("\t", " ").split(" ") if field]
        same = [RESERVED[0] if word == "<UNK>" else word for word in fields[1 : len(words) + 1]] == list(words)
        if order == len(words) and same:
            found = number
    return found
