"""How well a model predicts a text."""

from dataclasses import dataclass
from math import log10

from neural_smt.language_model.model import NgramModel
from neural_smt.ragged import Ragged


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

    def shared(self, unknown_words: int) -> float:
        """Perplexity over all tokens where so many words that the model does not know share <unk>'s probability evenly.

        unknown_words: those of the vocabulary, and one more for all words outside it. The model is then a distribution
        over the whole vocabulary, so models of one vocabulary can be compared, whatever part of it each was made from.
        """
        log10_prob = self.log10_prob - self.unknown * log10(max(unknown_words, 1))
        return 10 ** (-log10_prob / (self.words + self.sentences))

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
