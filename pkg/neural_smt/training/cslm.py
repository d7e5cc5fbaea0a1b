"""Training of the CSLM of Cho et al. (2014, section 4.1.2) on n-grams of text, and how well it predicts a text."""

import logging
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from neural_smt.errors import UserError
from neural_smt.experiment.settings import Settings
from neural_smt.io.ragged import Ragged
from neural_smt.io.streams import stream_lines, stream_texts
from neural_smt.language_model.model import NgramModel, rounded_perplexity, score_ngrams
from neural_smt.networks.cslm import LN_10, OUTSIDE, CslmConfig, CslmNetwork, CslmScorer, NgramBatch, word_classes
from neural_smt.networks.folder import Trained
from neural_smt.shortlist import shortlist_ids
from neural_smt.training.learning_curve import Record
from neural_smt.training.loop import Training, held_out_perplexity
from neural_smt.training.optimisers import optimiser_of
from neural_smt.training.tasks import BatchOrder, Minibatch, TextTask
from neural_smt.training.texts import NgramText, split_sentences
from neural_smt.vocabulary import UNK, Vocabulary

log = logging.getLogger(__name__)


class NgramTask(TextTask):
    """Minibatches of ``batch`` n-grams of ``text`` (shortlist ids), drawn in a new order in each epoch."""

    held_out_batch = 1024

    def pack(self, text: NgramText, rows: np.ndarray, whole: int = 1) -> Minibatch:
        """See ``TextTask``."""
        contexts, words = text.ngrams(rows)
        arrays = contexts.astype(np.int64), word_classes(words).astype(np.int64)
        batch = NgramBatch(*map(torch.from_numpy, arrays))
        return Minibatch(batch, len(rows), len(rows))


BLOCK = 65536
"""N-grams scored together."""


def measure_perplexities(
    trained: Trained[CslmNetwork], language_model: NgramModel, vocabulary: Vocabulary, sentences: Ragged, precision: str
) -> dict[str, Any]:
    """Perplexities per word, ends of sentences included, of sentences of vocabulary ids.

    tokens: words and ends; covered: those in the shortlist; ngram_order; ngram: perplexity of the n-gram model;
    network: of the CSLM with that model for the words outside the shortlist (not quite a distribution: the mass that
    the network leaves to those words need not be what the n-gram model gives them); network_renormalised: of the CSLM
    scaled to the n-gram model's mass of the shortlist (a distribution); mixture: of half of it and half of the n-gram
    model, which shows how much each knows that the other does not. The two with _covered are means over the covered
    tokens.
    """
    text = NgramText.of(sentences, trained.network.config.history)
    scorers = [CslmScorer(trained, language_model, vocabulary, precision, way) for way in ("backoff", "renormalise")]
    blocks = []
    for contexts, words in text.pieces(BLOCK):
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
        "network": rounded_perplexity(raw),
        "network_renormalised": rounded_perplexity(renormalised),
        "mixture": rounded_perplexity(np.logaddexp(renormalised, ngram) - math.log(2)),
        "ngram_covered": rounded_perplexity(ngram[covered]),
        "network_covered": rounded_perplexity(raw[covered]),
    }


def prepare(
    *, texts: list[Path], vocabulary: Path, shortlist: Path, settings: Settings, place: torch.device, seed: int
) -> Training:
    """A network and tokenised texts of the target language, taken together.

    What is told of it: ``alone``, the perplexity of the network whose class of words outside the shortlist is one word,
    and those of ``measure_perplexities`` beside an n-gram model of the same training sentences (that of the stage
    ``language_model`` has seen those held out).
    """
    words, known = Vocabulary.load(vocabulary), Vocabulary.load(shortlist)
    sentences = words.encode(stream_texts(texts))
    sentences, held_out = split_sentences(sentences, settings.validation, seed)
    if len(sentences) == 0:
        raise UserError(f"{', '.join(map(str, texts))}: no sentences to train on; check the selection stage")
    config = CslmConfig.of(settings.as_dict(), words=len(known))
    ids = shortlist_ids(words, known)
    text, validation = (NgramText.of(part, config.history, ids) for part in (sentences, held_out))
    log.info("%d n-grams to train on, %d held out", len(text), len(validation))
    network = CslmNetwork(config, seed).to(place)
    trained = Trained(network, known)

    def report(records: Sequence[Record]) -> dict[str, Any]:
        measured = held_out_perplexity(records, settings.keep, "alone")
        if measured and settings.ngram_order:
            ngram = NgramModel.of_text(sentences, settings.ngram_order, words, held_out, np.flatnonzero(ids == UNK))
            measured |= measure_perplexities(trained, ngram, words, held_out, settings.precision)
            log.info("perplexity of held-out text: CSLM %(network).2f, n-gram model %(ngram).2f", measured)
        return measured

    return Training(
        task=NgramTask(network, text, validation, BatchOrder(text.lengths, settings.batch, seed)),
        optimiser=optimiser_of(network, settings),
        settings=settings,
        decided_by=[known.digest],
        data=[text.stream, validation.stream],
        save=lambda folder, updates: trained.save(folder),
        report=report,
    )


def measure(
    *, model: Path, language_model: Path, vocabulary: Path, texts: list[Path], settings: Settings, place: torch.device
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The name of each text and its figures of ``measure_perplexities``; language_model: that which the CSLM is used
    with.
    """
    words = Vocabulary.load(vocabulary)
    ngram = NgramModel.load(language_model, words)
    trained = Trained.load(model, CslmNetwork, place)
    for text in texts:
        sentences = words.encode(stream_lines(text))
        measured = measure_perplexities(trained, ngram, words, sentences, settings.precision)
        log.info("perplexity of %s: CSLM %.2f, n-gram model %.2f", text, measured["network"], measured["ngram"])
        yield text.name, measured
