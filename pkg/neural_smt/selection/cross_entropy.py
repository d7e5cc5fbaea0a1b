"""Cross-entropy difference: how much more a sentence looks like in-domain text than like the pool.

Moore and Lewis (2010) score text by H_in(s) - H_out(s); Axelrod et al. (2011) add this up over both sides of a pair.
The details are those of XenC: both models know the in-domain words only, everything else is ``<unk>``; the pool's model
is estimated on random lines of it, drawn with replacement until they have as many words as the in-domain text; and
the cross-entropy of a sentence, log2, is divided by its words, while its probability includes ``</s>``.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log2
from pathlib import Path

import numpy as np

from neural_smt.io.ragged import Ragged
from neural_smt.io.streams import count_words
from neural_smt.language_model.estimation import estimate
from neural_smt.language_model.model import NgramModel
from neural_smt.shards import in_threads
from neural_smt.vocabulary import Vocabulary, encode_rows

_LOG2_OF_10 = log2(10)

LINES = 1 << 14
"""Lines of the pool that are in memory at a time."""


@dataclass(frozen=True)
class SideModels:
    """The models of one side: of the in-domain text, and of as much text of the pool, over the words of the former."""

    vocabulary: Vocabulary
    inside: NgramModel
    outside: NgramModel

    def score(self, lines: Iterable[str]) -> np.ndarray:
        """float64 ``[lines]``: the cross-entropy difference of each line, bits per word."""
        scores = [np.zeros(0)]
        for sentences in self.vocabulary.encode_pieces(lines, LINES):
            inside, outside = (sentence_cross_entropy(model, sentences) for model in (self.inside, self.outside))
            scores.append(inside - outside)
        return np.concatenate(scores)

    def save(self, folder: Path) -> None:
        """Write into an existing folder, for shards of the pool."""
        self.vocabulary.save(folder / "vocabulary.tsv")
        self.inside.save(folder / "inside")
        self.outside.save(folder / "outside")

    @classmethod
    def load(cls, folder: Path) -> "SideModels":
        """Read what ``save`` wrote, the models memory-mapped."""
        vocabulary = Vocabulary.load(folder / "vocabulary.tsv")
        return cls(vocabulary, *(NgramModel.load(folder / name, vocabulary) for name in ("inside", "outside")))


def train_sides(
    pool: Sequence[Iterable[str]], in_domain: Sequence[list[str]], order: int, generator: np.random.Generator
) -> list[SideModels]:
    """The models that score a pool.

    pool, in_domain: the tokenised lines of one side (monolingual) or of both (bilingual); those of the pool are gone
    through several times and may stay on disk.
    """
    models, sample = [], _sample_like(pool, in_domain, generator)
    for lines, inside in zip(pool, in_domain, strict=True):
        vocabulary = Vocabulary.from_sentences(inside)
        texts = (vocabulary.encode(inside), encode_rows(vocabulary.encode, lines, sample))
        estimated = (estimate(text, order, vocabulary_size=len(vocabulary) - 1) for text in texts)
        models.append(SideModels(vocabulary, *(NgramModel.from_tables(each.tables, vocabulary) for each in estimated)))
    return models


def score_sides(models: Sequence[SideModels], pool: Sequence[Iterable[str]], threads: int = 1) -> np.ndarray:
    """Score every line of the pool, float64 ``[lines]`` in bits per word; the lowest are most like the in-domain text.

    Of both sides of a bilingual pool the sum is taken.
    """
    return np.sum(in_threads(lambda side: side[0].score(side[1]), zip(models, pool, strict=True), threads), axis=0)


def sentence_cross_entropy(model: NgramModel, sentences: Ragged) -> np.ndarray:
    """float64 ``[n]``: bits per word; ``</s>`` is paid for but not counted, an empty sentence counts as one word."""
    log10_prob, _, _ = model.score_sentences(sentences)
    return -log10_prob * _LOG2_OF_10 / np.maximum(sentences.lengths, 1)


def _sample_like(
    pool: Sequence[Iterable[str]], in_domain: Sequence[list[str]], generator: np.random.Generator
) -> np.ndarray:
    """Rows of the pool, drawn with replacement until they have as many words (all sides) as the in-domain text."""
    lengths = sum((count_words(side) for side in pool), np.zeros((), dtype=np.int64))
    wanted = sum(int(count_words(side).sum()) for side in in_domain)
    draws: list[np.ndarray] = []
    words = 0
    while words < wanted:
        draws.append(generator.integers(len(lengths), size=len(lengths)))
        words += int(lengths[draws[-1]].sum())
    rows = np.concatenate(draws)
    return rows[: np.searchsorted(np.cumsum(lengths[rows]), wanted) + 1]
