"""Cross-entropy difference: how much more a sentence looks like in-domain text than like the pool.

Moore and Lewis (2010) score text by H_in(s) - H_out(s); Axelrod et al. (2011) add this up over both sides of a pair.
The details are those of XenC: both models know the in-domain words only, everything else is ``<unk>``; the pool's model
is estimated on random lines of it, drawn with replacement until they have as many words as the in-domain text; and
the cross-entropy of a sentence, log2, is divided by its words, while its probability includes ``</s>``.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from math import log2

import numpy as np

from neural_smt.language_model.estimation import estimate
from neural_smt.language_model.model import NgramModel
from neural_smt.ragged import Ragged
from neural_smt.vocabulary import Vocabulary

_LOG2_OF_10 = log2(10)


def cross_entropy_difference(
    pool: Sequence[list[str]], in_domain: Sequence[list[str]], order: int, generator: np.random.Generator, threads: int
) -> np.ndarray:
    """Score every line of the pool, float64 ``[lines]`` in bits per word; the lowest are most like the in-domain text.

    pool, in_domain: the tokenised lines of one side (monolingual) or of both (bilingual, then the sum is taken).
    """
    sample = _sample_like(pool, in_domain, generator)
    with ThreadPoolExecutor(max_workers=threads) as executor:
        sides = executor.map(lambda p, i: _score_side(p, i, sample, order), pool, in_domain)
        return np.sum(list(sides), axis=0)


def sentence_cross_entropy(model: NgramModel, sentences: Ragged) -> np.ndarray:
    """float64 ``[n]``: bits per word; ``</s>`` is paid for but not counted, an empty sentence counts as one word."""
    log10_prob, _, _ = model.score_sentences(sentences)
    return -log10_prob * _LOG2_OF_10 / np.maximum(sentences.lengths, 1)


def _score_side(pool: list[str], in_domain: list[str], sample: np.ndarray, order: int) -> np.ndarray:
    vocabulary = Vocabulary.from_sentences(in_domain)
    encoded_pool = vocabulary.encode(pool)
    inside = vocabulary.encode(in_domain)
    outside = encoded_pool.take(sample)
    entropies = []
    for text in (inside, outside):
        estimated = estimate(text, order, vocabulary_size=len(vocabulary) - 1)
        model = NgramModel.from_tables(estimated.tables, vocabulary)
        entropies.append(sentence_cross_entropy(model, encoded_pool))
    return entropies[0] - entropies[1]


def _sample_like(
    pool: Sequence[list[str]], in_domain: Sequence[list[str]], generator: np.random.Generator
) -> np.ndarray:
    """Rows of the pool, drawn with replacement until they have as many words (all sides) as the in-domain text."""
    lengths = sum(_words_per_line(side) for side in pool)
    wanted = sum(int(_words_per_line(side).sum()) for side in in_domain)
    draws: list[np.ndarray] = []
    while sum(int(lengths[drawn].sum()) for drawn in draws) < wanted:
        draws.append(generator.integers(len(lengths), size=len(lengths)))
    rows = np.concatenate(draws)
    return rows[: np.searchsorted(np.cumsum(lengths[rows]), wanted) + 1]


def _words_per_line(lines: list[str]) -> np.ndarray:
    return np.fromiter((len(line.split()) for line in lines), dtype=np.int64, count=len(lines))
