"""How well a recurrent model predicts a text, beside an n-gram model of the same words."""

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from neural_smt.language_model.continuations import score_ngrams
from neural_smt.language_model.model import NgramModel
from neural_smt.language_model.perplexity import rounded_perplexity
from neural_smt.networks.device import precision_context
from neural_smt.networks.recurrent.network import RecurrentNetwork
from neural_smt.training.joint_text import JointText, predicted_counts, unknown_words
from neural_smt.training.ngram_text import NgramText
from neural_smt.training.recurrent_task import by_length, pack
from neural_smt.training.word_classes.partition import expected_cost

LN_10 = math.log(10)


def token_scores(network: RecurrentNetwork, text: JointText, table: np.ndarray | None, precision: str) -> np.ndarray:
    """float64 ``[tokens]``: ln p of every word and end, sentence by sentence; table: see ``RecurrentTask``."""
    device = network.recurrent.device
    vectors: Tensor | None = None if table is None else torch.from_numpy(table).to(device)
    starts = text.sentences.offsets[:-1] + np.arange(len(text))
    scores = np.empty(text.tokens)
    with torch.no_grad(), precision_context(device, precision):
        for chosen in by_length(text):
            batch = pack(network, text, chosen, vectors)
            lengths = text.sentences.lengths[chosen] + 1
            # tokens are numbered within the batch, sentence by sentence
            places = np.arange(lengths.sum()) + np.repeat(starts[chosen] - (np.cumsum(lengths) - lengths), lengths)
            scores[places[batch.tokens]] = network(batch).double().cpu().numpy()
    return scores


def measure_beside_ngrams(
    network: RecurrentNetwork, ngram: NgramModel, text: JointText, table: np.ndarray | None, precision: str
) -> dict[str, Any]:
    """Perplexities per prediction (words and ends) of a text of the network's words.

    sentences, tokens; unknown: words that are ``UNK``, which both models predict like a word; network; ngram_order and
    ngram; mixture: of half of each; cost: outputs that the softmax computes for a word of this text, C + sum P(c) |c|.
    """
    sentences = text.sentences
    ngrams = NgramText.of(sentences, ngram.order - 1)
    own = LN_10 * score_ngrams(ngram, *ngrams.ngrams(np.arange(len(ngrams))))
    scores = token_scores(network, text, table, precision)
    return {
        "sentences": len(text),
        "tokens": text.tokens,
        "unknown": unknown_words(sentences),
        "network": rounded_perplexity(scores),
        "ngram_order": ngram.order,
        "ngram": rounded_perplexity(own),
        "mixture": rounded_perplexity(np.logaddexp(scores, own) - math.log(2)),
        "cost": round(expected_cost(network.classes, predicted_counts(sentences, network.config.words)), 4),
    }
