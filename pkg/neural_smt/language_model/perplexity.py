"""How well a model predicts a text."""

from dataclasses import dataclass
from math import exp, log10

import numpy as np

from neural_smt.io.ragged import Ragged
from neural_smt.language_model.model import NgramModel
from neural_smt.vocabulary import EOS, UNK


@dataclass(frozen=True)
class Perplexity:
    """Totals of a scored text; all logarithms are log10, and every ``</s>`` counts as a token.

    unknown: tokens the model does not know; unknown_log10: their part of ``log10_prob``.
    """

    sentences: int
    words: int
    unknown: int
    log10_prob: float
    unknown_log10: float

    @property
    def value(self) -> float:
        """Perplexity over all tokens, unknown words at the probability of ``<unk>``."""
        return 10 ** (-self.log10_prob / (self.words + self.sentences))

    @property
    def known(self) -> float:
        """Perplexity over the known tokens alone (unknown words still stand in the history of others)."""
        tokens = self.words + self.sentences - self.unknown
        return 10 ** (-(self.log10_prob - self.unknown_log10) / tokens)


def measure_perplexity(model: NgramModel, sentences: Ragged) -> Perplexity:
    """Score sentences of word ids (without boundaries)."""
    log10_prob, unknown, unknown_log10 = model.score_sentences(sentences)
    return Perplexity(
        len(sentences), len(sentences.values), int(unknown.sum()), float(log10_prob.sum()), float(unknown_log10.sum())
    )


def comparable_perplexity(model: NgramModel, sentences: Ragged, all_words: int) -> float:
    """Perplexity over all tokens of the model with its uniform distribution spread over a whole vocabulary.

    Estimation shares what it sets free among the words that the text has, ``<unk>`` one of them: the less text, the
    cheaper is an unknown word. Here ``all_words`` share it (with ``<unk>`` and ``</s>``, without ``<s>``), so models of
    one vocabulary can be compared. After h, p(<unk> | h) is that share of every word: known words get the smaller share
    instead, unknown ones the smaller share alone. Exact for interpolated models that are not pruned.
    """
    smaller = model.known_words / all_words
    total = 0.0
    for sentence in sentences:
        state = model.begin_state
        for word in [*sentence.tolist(), EOS]:
            share = 10 ** model.score_word(state, UNK)[0]
            known = word < len(model.arrays.lexicon) and model.arrays.lexicon[word] != UNK
            log10_prob, state = model.score_word(state, word)
            total += log10(10**log10_prob - share * (1 - smaller)) if known else log10(share * smaller)
    return 10 ** (-total / (len(sentences.values) + len(sentences)))


def rounded_perplexity(scores: np.ndarray) -> float:
    """e to the mean of negative natural logs (float ``[n]``), to four digits after the point, as reports show it."""
    return round(exp(-scores.mean()), 4)
