"""The tables and vocabularies that target vocabularies of sentences are drawn from."""

import hashlib
from array import array
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from neural_smt.alignment.lexical import LexicalTable
from neural_smt.errors import UserError
from neural_smt.io.ragged import Ragged, offsets_of
from neural_smt.phrases.table import PhraseTable
from neural_smt.shortlist import shortlist_ids
from neural_smt.vocabulary import RESERVED, UNK, Vocabulary


@dataclass(frozen=True)
class Sources:
    """Both vocabularies of the tables, the network's, and the tables of the parts that are used.

    network: the target words that the network knows, most frequent first; lexical: for V^D; phrase_table: for V^P.
    """

    source: Vocabulary
    target: Vocabulary
    network: Vocabulary
    lexical: LexicalTable | None
    phrase_table: PhraseTable | None

    @cached_property
    def ids(self) -> np.ndarray:
        """int32 ``[len(target)]``: the network id of every id of the target vocabulary, UNK for words outside."""
        return shortlist_ids(self.target, self.network)

    def target_id(self, word: int) -> int:
        """The id of the target vocabulary of a network id."""
        return self.target.index[self.network.words[word]]

    @cached_property
    def dictionary_digest(self) -> str | None:
        """What ``table_digest`` says of the word translation table."""
        return None if self.lexical is None else table_digest(self.lexical, self.source, self.target)

    def encode(self, lines: list[str]) -> Ragged:
        """int32 source ids of tokenised sentences; -1 for words outside the vocabulary, which no table knows."""
        return _encode(self.source.index, -1, lines)

    def encode_reference(self, lines: list[str]) -> Ragged:
        """int32 network ids of tokenised target sentences, see ``encode_words``."""
        return encode_words(self.network, lines)


def encode_words(network: Vocabulary, lines: list[str]) -> Ragged:
    """int32 ids of tokenised sentences; UNK for unknown words and for those spelt like a reserved entry."""
    known = {word: number for word, number in network.index.items() if number >= len(RESERVED)}
    return _encode(known, UNK, lines)


def _encode(index: dict[str, int], unknown: int, lines: list[str]) -> Ragged:
    ids, lengths = array("i"), np.empty(len(lines), dtype=np.int64)
    for number, line in enumerate(lines):
        tokens = line.split()
        lengths[number] = len(tokens)
        ids.extend(index.get(token, unknown) for token in tokens)
    return Ragged(np.array(ids, dtype=np.int32), offsets_of(lengths))


def load_sources(
    *,
    source_vocabulary: Path,
    target_vocabulary: Path,
    network_vocabulary: Path,
    lexical: Path | None,
    phrase_table: Path | None,
) -> Sources:
    """Read all of it; raises ``UserError`` where a table was made with other vocabularies."""
    source, target = Vocabulary.load(source_vocabulary), Vocabulary.load(target_vocabulary)
    words = None if lexical is None else LexicalTable.load(lexical)
    if words is not None and (len(words.offsets) - 1, len(words.target_given_null)) != (len(source), len(target)):
        raise UserError(f"{lexical}: made with other vocabularies than those given; build the lexical tables again")
    table = None if phrase_table is None else PhraseTable.load(phrase_table)
    if table is not None:
        table.check_vocabularies(source, target)
    return Sources(source, target, Vocabulary.load(network_vocabulary), words, table)


def table_digest(table: LexicalTable, source: Vocabulary, target: Vocabulary) -> str:
    """SHA-256 (hex) of what V^D is read from: both vocabularies' digests, word pairs, w(t|s)."""
    digest = hashlib.sha256(f"{source.digest} {target.digest}".encode())
    for values in (table.offsets, table.targets, table.target_given_source):
        digest.update(np.ascontiguousarray(values))
    return digest.hexdigest()
