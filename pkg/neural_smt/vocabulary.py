"""Words and their integer ids: one vocabulary per language of an experiment, shared by every stage."""

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from html import unescape
from itertools import compress, islice
from pathlib import Path

import numpy as np

from neural_smt.errors import UserError
from neural_smt.io.files import digest_lines, read_lines, write_lines
from neural_smt.io.ragged import Ragged, offsets_of

UNK, BOS, EOS = 0, 1, 2
"""Ids every vocabulary reserves: the unknown word, the start and the end of a sentence."""

RESERVED = ("<unk>", "<s>", "</s>")


def spelled(tokens: Iterable[str]) -> list[str]:
    """Words as a person spells them: without the escapes of Moses' tokeniser."""
    return [unescape(token) for token in tokens]


class Vocabulary:
    """Words by id: 0 ``<unk>``, 1 ``<s>``, 2 ``</s>``, then words by falling count, ties in code-point order.

    words: list of str; counts: int64 ``[n]``, the running count of each word in the text it was made from
    (0 for the reserved entries).
    """

    def __init__(self, words: Sequence[str], counts: Sequence[int] | np.ndarray):
        self.words, self.counts = list(words), np.asarray(counts, dtype=np.int64)
        self.index = {word: number for number, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: str) -> bool:
        return word in self.index

    @cached_property
    def digest(self) -> str:
        """SHA-256 (hex) of the words in order: two vocabularies with the same digest give the same ids."""
        return digest_lines(self.words)

    @classmethod
    def from_counts(cls, counts: Counter[str]) -> "Vocabulary":
        """Order the counted words; words spelt like a reserved entry are mapped to that entry, not counted."""
        items = sorted(((word, n) for word, n in counts.items() if word not in RESERVED), key=lambda x: (-x[1], x[0]))
        return cls([*RESERVED, *(word for word, _ in items)], [0, 0, 0, *(n for _, n in items)])

    @classmethod
    def from_sentences(cls, lines: Iterable[str]) -> "Vocabulary":
        """Count the space-separated tokens of tokenised sentences."""
        counts: Counter[str] = Counter()
        for line in lines:
            counts.update(line.split())
        return cls.from_counts(counts)

    def ids(self, tokens: Sequence[str]) -> np.ndarray:
        """int32 ids of a tokenised sentence; words outside the vocabulary become ``UNK``."""
        index = self.index
        return np.fromiter((index.get(token, UNK) for token in tokens), dtype=np.int32, count=len(tokens))

    def encode(self, lines: Iterable[str], unknown: int = UNK) -> Ragged:
        """Ids of many tokenised sentences (one string each), without sentence boundaries; int32 ``Ragged``.

        unknown: the id of words outside the vocabulary.
        """
        index, values, lengths = self.index, array("i"), array("q")
        for line in lines:
            tokens = line.split()
            values.fromlist([index.get(token, unknown) for token in tokens])
            lengths.append(len(tokens))
        return Ragged(np.array(values, dtype=np.int32), offsets_of(lengths))

    def encode_pieces(self, lines: Iterable[str], most: int) -> Iterator[Ragged]:
        """What ``encode`` gives of ``most`` lines after the other."""
        stream = iter(lines)
        while len(piece := self.encode(islice(stream, most))):
            yield piece

    def encode_words(self, lines: Iterable[str]) -> Ragged:
        """As ``encode``, but words spelt like a reserved entry are unknown ones: a network must meet these entries
        where they belong only.
        """
        sentences = self.encode(lines)
        sentences.values[sentences.values < len(RESERVED)] = UNK
        return sentences

    def text(self, ids: Iterable[int]) -> str:
        """The words of ``ids``, joined by spaces."""
        return " ".join([self.words[i] for i in ids])

    def save(self, path: Path) -> None:
        """Write ``word<TAB>count`` lines; the line number (from 0) is the id."""
        write_lines(path, (f"{word}\t{n}" for word, n in zip(self.words, self.counts.tolist(), strict=True)))

    @classmethod
    def load(cls, path: Path) -> "Vocabulary":
        """Read what ``save`` wrote; ``UserError`` names the line that is not ``word<TAB>count``."""
        words, counts = [], []
        for number, line in enumerate(read_lines(path), start=1):
            word, tab, count = line.partition("\t")
            if not tab or not (count.isascii() and count.isdigit() and len(count) < 19):
                raise UserError(f"{path}, line {number}: expected 'word<TAB>count'; make the vocabulary again")
            words.append(word)
            counts.append(int(count))
        if tuple(words[:3]) != RESERVED:
            raise UserError(f"{path}: does not start with {', '.join(RESERVED)}; make the vocabulary again")
        return cls(words, counts)


Vocabularies = tuple[Vocabulary, Vocabulary]
"""Those of both sides of a text, the source first."""

Encoder = Callable[[Iterable[str]], Ragged]
"""What makes ids of lines, such as ``Vocabulary.encode``."""


def encode_rows(encode: Encoder, lines: Iterable[str], rows: np.ndarray) -> Ragged:
    """The lines at ``rows`` (int ``[n]``) encoded, in that order; the others are not kept."""
    distinct = np.unique(rows)
    wanted = np.zeros(distinct.max(initial=-1) + 1, dtype=np.bool_)
    wanted[distinct] = True
    return encode(compress(lines, wanted)).take(np.searchsorted(distinct, rows))
