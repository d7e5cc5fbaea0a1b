"""What networks are trained on: pairs of sentences or phrases, n-grams of text, and the part that is held out."""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Self

import numpy as np

from neural_smt.errors import UserError
from neural_smt.io.arrays import ArrayWriter, read_arrays
from neural_smt.io.files import release
from neural_smt.io.ragged import PIECE, Ragged
from neural_smt.jit import kernel, mix
from neural_smt.vocabulary import BOS, EOS


@dataclass(frozen=True)
class Pairs:
    """Pair i is (source i, target i): int32 ids of the network's vocabularies, without end symbols."""

    source: Ragged
    target: Ragged

    def __len__(self) -> int:
        return len(self.source)

    @property
    def lengths(self) -> np.ndarray:
        """int32 ``[n]``: words of the longer side of each pair."""
        lengths = np.empty(len(self), dtype=np.int32)
        for first in range(0, len(self), PIECE):
            one, other = (np.diff(side.offsets[first : first + PIECE + 1]) for side in (self.source, self.target))
            lengths[first : first + PIECE] = np.maximum(one, other)
            release(self.source.values)
        return lengths

    @classmethod
    def joined(cls, parts: Sequence["Pairs"]) -> Self:
        """The pairs of all parts (at least one), in order."""
        sources, targets = [part.source for part in parts], [part.target for part in parts]
        return cls(Ragged.concatenate(sources), Ragged.concatenate(targets))

    @classmethod
    def stored(cls, parts: Iterable["Pairs"]) -> Self:
        """The same of parts that are gone through once: what is large lies in a file without a name, and is mapped."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "pairs"
            with ArrayWriter(path) as writer:
                for part in chain([NO_PAIRS], parts):
                    writer.append("source", part.source)
                    writer.append("target", part.target)
            arrays = read_arrays(path)
            return cls(*(Ragged(arrays[f"{side}.values"], arrays[f"{side}.offsets"]) for side in ("source", "target")))

    def take(self, rows: np.ndarray) -> "Pairs":
        """Both sides of the pairs at ``rows``, in that order, in memory."""
        taken = Pairs(self.source.take(rows), self.target.take(rows))
        release(self.source.values)
        return taken

    def swapped(self) -> "Pairs":
        """The same pairs with their sides exchanged."""
        return Pairs(self.target, self.source)


NO_PAIRS = Pairs(Ragged.from_lists([]), Ragged.from_lists([]))


@dataclass(frozen=True)
class NgramText:
    """Text as n-grams: every word and every end of a sentence, with the words before it.

    Sentences one after the other, each with n - 1 ``BOS`` before it and ``EOS`` after it.

    stream: int32 ``[M]``, the ids; before: int64 ``[sentences + 1]``, how many n-grams precede each sentence.
    """

    stream: np.ndarray
    before: np.ndarray
    history: int

    def __len__(self) -> int:
        return int(self.before[-1])

    @property
    def lengths(self) -> np.ndarray:
        """``[N]``: all n-grams are of one length, there is nothing to sort by."""
        return np.broadcast_to(np.int8(0), len(self))

    @classmethod
    def of(cls, sentences: Ragged, history: int, ids: np.ndarray | None = None) -> "NgramText":
        """The n-grams of sentences without boundaries, with ``history`` = n - 1 words before each word.

        ids: the id of each id that the sentences have; without, they stay as they are.
        """
        before = sentences.offsets + np.arange(len(sentences) + 1)
        stream = np.full(before[-1] + history * len(sentences), BOS, dtype=np.int32)
        for first in range(0, len(sentences), PIECE):
            piece = sentences.part(first, first + PIECE)
            # words of the sentences before, with an end and a padding for each, and the padding of their own
            starts = before[first : first + len(piece)] + history * np.arange(first + 1, first + len(piece) + 1)
            within = np.repeat(starts - piece.offsets[:-1], piece.lengths) + np.arange(len(piece.values))
            stream[within] = piece.values if ids is None else ids[piece.values]
            stream[starts + piece.lengths] = EOS
        return cls(stream, before, history)

    def ngrams(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Contexts, int32 ``[m, n - 1]``, oldest word first, and words, int32 ``[m]``, of the n-grams ``rows``."""
        places = rows + self.history * np.searchsorted(self.before, rows, side="right")
        return self.stream[places[:, None] + np.arange(-self.history, 0)], self.stream[places]

    def pieces(self, most: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Contexts and words of ``most`` n-grams after the other."""
        return (self.ngrams(np.arange(first, min(first + most, len(self)))) for first in range(0, len(self), most))


def split_sentences(sentences: Ragged, fraction: float, seed: int) -> tuple[Ragged, Ragged]:
    """Training sentences, and a random ``fraction`` (at least one of them) to be held out.

    The sentences with the smallest hashes are held out. A hash depends on a sentence's words and the seed alone, so
    sentences that are alike fall on the same side. Nothing is held out where ``fraction`` is 0.
    """
    held_out = draw_sentences(sentences, fraction, seed)
    return sentences.take(np.flatnonzero(~held_out)), sentences.take(np.flatnonzero(held_out))


def draw_sentences(sentences: Ragged, fraction: float, seed: int, words: int = 0) -> np.ndarray:
    """bool ``[n]``: the sentences that ``split_sentences`` holds out.

    words: so many words are held out whatever the fraction (the last sentence may exceed them); 0 for the fraction.
    """
    if len(sentences) == 0 or fraction == words == 0:
        return np.zeros(len(sentences), dtype=bool)
    hashes, count = hash_rows(seed, sentences), max(1, round(fraction * len(sentences)))
    if words:
        lengths = sentences.lengths[np.argsort(hashes, kind="stable")]
        count = min(int(np.searchsorted(np.cumsum(lengths), words)) + 1, len(hashes))
    chosen = hashes <= np.partition(hashes, count - 1)[count - 1]
    if chosen.all():
        raise UserError(
            "training: holding out sentences leaves none to train on; lower the setting validation or add text"
        )
    return chosen


def draw_lines(lengths: np.ndarray, words: int, seed: int, among: np.ndarray) -> np.ndarray:
    """bool ``[n]``: lines drawn at random that have so many words together (the last may exceed it); all where they
    have fewer.

    lengths: int ``[n]``, words of each line; among: bool ``[n]``, the lines that may be drawn.
    """
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(among))
    drawn = np.zeros(len(lengths), dtype=bool)
    drawn[rows[: np.searchsorted(np.cumsum(lengths[rows]), words) + 1]] = True
    return drawn


def hash_rows(seed: int, *sides: Ragged) -> np.ndarray:
    """uint64 ``[n]``: a hash of the ids that row i of every side (int32, n rows each) holds."""
    states = np.full(len(sides[0]), mix(np.uint64(seed)), dtype=np.uint64)
    for number, side in enumerate(sides):
        if number:
            states = mix.py_func(~states)
        _hash_on(states, side.values, side.offsets)
    return states


@kernel
def _hash_on(states: np.ndarray, values: np.ndarray, offsets: np.ndarray) -> None:
    for row in range(len(states)):
        for position in range(offsets[row], offsets[row + 1]):
            states[row] = mix(states[row] ^ np.uint64(values[position]))
