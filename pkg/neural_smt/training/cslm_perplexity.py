"""How well a CSLM predicts a text, beside the n-gram model that scores the words outside its shortlist."""

import math
from typing import Any

import numpy as np

from neural_smt.io.ragged import Ragged
from neural_smt.language_model.continuations import score_ngrams
from neural_smt.language_model.model import NgramModel
from neural_smt.language_model.perplexity import rounded_perplexity
from neural_smt.networks.cslm import LN_10, CslmScorer
from neural_smt.networks.cslm_network import OUTSIDE
from neural_smt.networks.folder import TrainedCslm
from neural_smt.training.ngram_text import NgramText
from neural_smt.vocabulary import Vocabulary

BLOCK = 65536
"""N-grams scored together."""


def measure_perplexities(
    trained: TrainedCslm, language_model: NgramModel, vocabulary: Vocabulary, sentences: Ragged, precision: str
) -> dict[str, Any]:
    """Perplexities per word, ends of sentences included, of sentences of vocabulary ids.

    tokens: words and ends; covered: those in the shortlist; ngram_order; ngram: perplexity of the n-gram model; cslm:
    of the CSLM with that model for the words outside the shortlist (not quite a distribution: the mass that the network
    leaves to those words need not be what the n-gram model gives them); cslm_renormalised: of the CSLM scaled to the
    n-gram model's mass of the shortlist (a distribution); mixture: of half of it and half of the n-gram model, which
    shows how much each knows that the other does not. The two with _covered are means over the covered tokens.
    """
    text = NgramText.of(sentences, trained.network.config.history)
    scorers = [
        CslmScorer(*trained, language_model, vocabulary, precision=precision, renormalise=renormalise)
        for renormalise in (False, True)
    ]
    blocks = []
    for start in range(0, len(text), BLOCK):
        contexts, words = text.ngrams(np.arange(start, min(start + BLOCK, len(text))))
        ngram = LN_10 * score_ngrams(language_model, contexts, words)
        blocks.append([scorers[0].classes[words] != OUTSIDE, ngram, *(scorer(contexts, words) for scorer in scorers)])
    covered, ngram, raw, renormalised = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    covered = covered.astype(bool)
    return {
        "sentences": len(sentences),
        "tokens": len(text),
        "covered": int(covered.sum()),
        "ngram_order": language_model.order,
        "ngram": rounded_perplexity(ngram),
        "cslm": rounded_perplexity(raw),
        "cslm_renormalised": rounded_perplexity(renormalised),
        "mixture": rounded_perplexity(np.logaddexp(renormalised, ngram) - math.log(2)),
        "ngram_covered": rounded_perplexity(ngram[covered]),
        "cslm_covered": rounded_perplexity(raw[covered]),
    }
