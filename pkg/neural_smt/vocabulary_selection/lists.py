"""What a source word and a source phrase are translated with: lists of ids of a network vocabulary.

Target words outside the network vocabulary are left out first, and do not count among the best.
"""

import hashlib

import numpy as np

from neural_smt.alignment.lexical import LexicalTable
from neural_smt.errors import UserError
from neural_smt.io.ragged import Ragged, offsets_of
from neural_smt.phrases.table import PhraseTable
from neural_smt.vocabulary import UNK, Vocabulary

DIRECT = 2
"""The column of p(e|f) among the scores of a phrase table."""


def table_digest(table: LexicalTable, source: Vocabulary, target: Vocabulary) -> str:
    """SHA-256 (hex) of what V^D is read from: both vocabularies' digests, word pairs, w(t|s)."""
    digest = hashlib.sha256(f"{source.digest} {target.digest}".encode())
    for array in (table.offsets, table.targets, table.target_given_source):
        digest.update(np.ascontiguousarray(array))
    return digest.hexdigest()


def _first_of_each(lists: Ragged, wanted: np.ndarray, count: int) -> Ragged:
    """The first ``count`` of those values of each list that are ``wanted`` (bool, one for every value)."""
    before = offsets_of(wanted)
    rank = before[:-1] - np.repeat(before[lists.offsets[:-1]], lists.lengths)
    kept = wanted & (rank < count)
    return Ragged(lists.values[kept], offsets_of(kept)[lists.offsets])


def word_lists(table: LexicalTable, ids: np.ndarray, count: int) -> Ragged:
    """D(x) of every source word x: at most ``count`` words by falling w(t|s), ties by id of the target vocabulary.

    ids: int32, the network id of every id of the target vocabulary. Returns int32 network ids.
    """
    ranked = table.top_translations(max(len(table.targets), 1))
    words = ids[ranked.values]
    return _first_of_each(Ragged(words, ranked.offsets), words != UNK, count)


def top_entries(table: PhraseTable, phrases: np.ndarray, count: int) -> Ragged:
    """The ``count`` most probable entries by p(e|f) of each phrase in ``phrases``, best first, ties in row order.

    Returns int64 rows of the table. Raises ``UserError`` for a table without that score.
    """
    if table.scores.shape[1] <= DIRECT:
        raise UserError(
            f"the phrase table has {table.scores.shape[1]} scores, but V^P needs p(e|f), the third; "
            "give a table with Moses' four scores or set vocabularies.phrases to 0"
        )
    starts = table.entry_offsets[phrases]
    lengths = table.entry_offsets[phrases + 1] - starts
    offsets = offsets_of(lengths)
    rows = np.repeat(starts - offsets[:-1], lengths) + np.arange(offsets[-1])
    owner = np.repeat(np.arange(len(phrases)), lengths)
    order = np.lexsort((-table.scores[rows, DIRECT], owner))  # stable: equal ones stay in row order
    return _first_of_each(Ragged(rows[order], offsets), np.ones(len(rows), dtype=np.bool_), count)


def phrase_lists(table: PhraseTable, ids: np.ndarray, phrases: np.ndarray, count: int) -> Ragged:
    """P(x_i .. x_j) of each source phrase: the words of its ``count`` best target phrases, which may repeat.

    ids: as for ``word_lists``; phrases: int64, numbers of source phrases. Returns int32 network ids. The paper speaks
    of the top 10 candidates of each phrase: these are target phrases here, as in a phrase table.
    """
    entries = top_entries(table, phrases, count)
    targets = table.target.take(entries.values)
    words = Ragged(ids[targets.values], targets.offsets[entries.offsets])
    return _first_of_each(words, words.values != UNK, len(words.values))
