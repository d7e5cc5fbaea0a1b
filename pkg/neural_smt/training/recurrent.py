"""Training of recurrent language models and joint models (Auli et al. 2013), and how well they predict texts."""

import logging
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from neural_smt.errors import UserError
from neural_smt.experiment.settings import Settings
from neural_smt.io.files import read_lines
from neural_smt.io.ragged import Ragged
from neural_smt.io.streams import stream_texts
from neural_smt.language_model.model import NgramModel, rounded_perplexity, score_ngrams
from neural_smt.networks.device import precision_context, uploaded
from neural_smt.networks.distinct import number_rows
from neural_smt.networks.folder import Trained
from neural_smt.networks.primitives import CLASSES
from neural_smt.networks.recurrent.class_softmax import feature_places
from neural_smt.networks.recurrent.configuration import RecurrentConfig, WordClasses
from neural_smt.networks.recurrent.network import (
    Backpropagation,
    RecurrentNetwork,
    SentenceBatch,
    Silence,
    pack_sentences,
)
from neural_smt.representations.representation import load_representation
from neural_smt.training.gradient_descent import GradientDescent, HalvingSchedule
from neural_smt.training.joint_texts import JointText, choose_lines, read_inputs, read_texts
from neural_smt.training.learning_curve import Record
from neural_smt.training.loop import Training
from neural_smt.training.noise import draw_masks
from neural_smt.training.tasks import WHOLE, BatchOrder, Minibatch, TextTask, by_length
from neural_smt.training.texts import NgramText
from neural_smt.training.word_classes import choose_classes, expected_cost, predicted_counts
from neural_smt.vocabulary import UNK

log = logging.getLogger(__name__)

VALIDATION_BATCH = 128
"""Sentences that are scored together."""

BUFFER = 16
"""Minibatches whose sentences are sorted by length together, so that those side by side end at about the same time."""


def pack(network: RecurrentNetwork, text: JointText, chosen: np.ndarray) -> SentenceBatch:
    """Sentences of a text as a batch on the CPU."""
    part = text.take(chosen)
    return pack_sentences(network.config, network.classes, part.sentences, part.rows, part.table)


class RecurrentTask(TextTask):
    """Minibatches of sentences of ``text``, drawn in a new order in each epoch; held-out sentences by length."""

    held_out_batch = VALIDATION_BATCH
    in_tiles = False
    network: RecurrentNetwork

    def __init__(self, *arguments: Any, dropout: float = 0.0):
        super().__init__(*arguments)
        self.dropout = dropout

    def minibatch(self, update: int, share: slice = WHOLE) -> Minibatch:
        """See ``TextTask``; with dropout some units of each sentence are silent."""
        batch = super().minibatch(update, share)
        if not (self.dropout and batch.examples):
            return batch
        order, whole, config = self.order, len(self.order.rows(update)), self.network.config
        masks = draw_masks(
            self.dropout, (config.hidden, config.hidden, config.inputs), order.seed, update, share, whole
        )
        silence = Silence(*(mask[batch.inputs.order] for mask in masks))
        return batch._replace(inputs=batch.inputs._replace(silence=silence))

    def pack(self, text: JointText, rows: np.ndarray, whole: int = 1) -> Minibatch:
        """See ``TextTask``."""
        batch = pack(self.network, text, rows)
        return Minibatch(batch, len(rows), len(batch.tokens))


def token_scores(network: RecurrentNetwork, text: JointText, precision: str) -> np.ndarray:
    """float64 ``[tokens]``: ln p of every word and end, sentence by sentence."""
    starts = text.sentences.offsets[:-1] + np.arange(len(text))
    scores = np.empty(text.tokens)
    with torch.no_grad(), precision_context(network.recurrent.device, precision):
        for chosen in by_length(text.lengths, VALIDATION_BATCH):
            batch = pack(network, text, chosen)
            lengths = text.sentences.lengths[chosen] + 1
            # tokens are numbered within the batch, sentence by sentence
            places = np.arange(lengths.sum()) + np.repeat(starts[chosen] - (np.cumsum(lengths) - lengths), lengths)
            scores[places[batch.tokens]] = network(uploaded(batch, network.recurrent.device)).double().cpu().numpy()
    return scores


def measure_beside_ngrams(
    network: RecurrentNetwork, ngram: NgramModel, text: JointText, precision: str
) -> dict[str, Any]:
    """Perplexities per prediction (words and ends) of a text of the network's words.

    sentences, tokens; unknown: words that are ``UNK``, which both models predict like a word; network; ngram_order and
    ngram; mixture: of half of each; cost: outputs that the softmax computes for a word of this text, C + sum P(c) |c|.
    """
    sentences = text.sentences
    ngrams = NgramText.of(sentences, ngram.order - 1)
    own = math.log(10) * score_ngrams(ngram, *ngrams.ngrams(np.arange(len(ngrams))))
    scores = token_scores(network, text, precision)
    return {
        "sentences": len(text),
        "tokens": text.tokens,
        "unknown": int(np.count_nonzero(sentences.values == UNK)),
        "network": rounded_perplexity(scores),
        "ngram_order": ngram.order,
        "ngram": rounded_perplexity(own),
        "mixture": rounded_perplexity(np.logaddexp(scores, own) - math.log(2)),
        "cost": round(expected_cost(network.classes, predicted_counts(sentences, network.config.words)), 4),
    }


COUNTED = 1 << 22
"""Predictions whose features are held at once."""


def count_collisions(config: RecurrentConfig, classes: WordClasses, sentences: Ragged) -> dict[str, int]:
    """Over sentences of ids without boundaries: features, distinct n-gram features of the predictions, of classes and
    of words; sharing, those whose weight is that of another such feature too.

    A feature is a history of some length with the class, or with the word, that follows it in the text. Features of
    words that do not follow share weights as well, but do less harm: they only learn that they are not meant. Of a long
    text some weights are looked at, with all their features, after the other.
    """
    if config.direct_size == 0:
        return {"features": 0, "sharing": 0}
    text = NgramText.of(sentences, config.direct_order - 1)
    features, sharing, parts = 0, 0, -(-len(text) // COUNTED)
    for part in range(parts):
        kinds: dict[tuple[int, int], list[tuple[np.ndarray, np.ndarray]]] = {}
        for contexts, words in text.pieces(COUNTED):
            for kind, described, slots in _features(config, classes, contexts, words):
                own = slots % parts == part
                kinds.setdefault(kind, []).append((described[own], slots[own]))
        distinct = []
        for found in kinds.values():
            described, slots = map(np.concatenate, zip(*found, strict=True))
            distinct.append(slots[number_rows(described)[1]])
        _, uses = np.unique(np.concatenate(distinct), return_counts=True)
        features, sharing = features + int(uses.sum()), sharing + int(uses[uses > 1].sum())
    return {"features": features, "sharing": sharing}


def _features(
    config: RecurrentConfig, classes: WordClasses, contexts: np.ndarray, words: np.ndarray
) -> Iterator[tuple[tuple[int, int], np.ndarray, np.ndarray]]:
    """Of each kind, of classes (0) or words (1) and by length of the history: int32 ``[N, columns]`` that tell features
    apart, and the numbers of their weights, int64 ``[N]``.
    """
    histories, numbers = np.ascontiguousarray(contexts[:, ::-1]), classes.class_of_word[words]
    within = classes.unit_of_word[words] - classes.offsets[numbers]
    of_each = feature_places(config, classes, numbers, histories)
    described = (np.full_like(numbers, CLASSES), numbers), (numbers, within)
    for kind, ((given, outputs), places) in enumerate(zip(described, of_each, strict=True)):
        for length in range(config.direct_order):
            there = places[:, length] >= 0
            columns = [given[there], outputs[there], histories[there, :length]]
            slots = places[there, length] + outputs[there]
            yield (kind, length), np.column_stack(columns).astype(np.int32), slots


def prepare(
    *,
    texts: list[Path],
    settings: Settings,
    place: torch.device,
    seed: int,
    sources: Sequence[Path] = (),
    alignment: Path | None = None,
    representation: Path | None = None,
    origins: Sequence[Sequence[str]] = (),
) -> Training:
    """A network and tokenised texts, taken together; a joint model where there is a representation of the source.

    sources, alignment, representation: what a joint model knows of the source, ``sources`` parallel to ``texts`` and
    ``alignment`` with a line for each line of theirs; origins: where lines come from, see ``lines_of_sources``, for a
    network of some sources. What is told of it: the figures of ``measure_beside_ngrams`` for the held-out sentences,
    with an n-gram model of the training sentences, and what was trained: words, word classes and their cost on the
    training text, direct features that share weights, words of training per second.
    """
    read = None if representation is None else load_representation(representation)
    chosen = choose_lines(texts, settings, origins, seed)
    vocabulary, text, held_out = read_texts(texts, chosen, settings, read, sources, alignment, place, seed)
    words, sentences = len(vocabulary), text.sentences
    classes = choose_classes(Settings(settings.classes), sentences, words)
    of_source = (read.slots, read.dimensions, read.input_rows) if read else (0, 0, 0)
    direct_size = 1 << settings.direct_bits if settings.direct_bits else 0
    config = RecurrentConfig(words, len(classes), settings.hidden, *of_source, direct_size, settings.direct_order)
    network = RecurrentNetwork(config, classes, seed).to(place)
    network.backpropagation = Backpropagation(settings.bptt, settings.clip)
    order = BatchOrder(text.lengths, settings.batch, seed, BUFFER)
    task = RecurrentTask(network, text, held_out, order, dropout=settings.dropout)
    parameters = dict(network.named_parameters())
    adaptive = settings.optimiser == "adagrad"
    optimiser = GradientDescent(parameters, settings.rate, settings.l2, adaptive, network.tables)
    sizes = text.tokens, held_out.tokens, words, len(classes)
    log.info("%d predictions to train on, %d held out, %d words in %d classes", *sizes)

    def report(records: Sequence[Record]) -> dict[str, Any]:
        ngram = NgramModel.of_text(sentences, settings.ngram_order, vocabulary, held_out.sentences)
        measured = measure_beside_ngrams(network, ngram, held_out, settings.precision)
        log.info("perplexity of held-out text: network %(network).2f, n-gram model %(ngram).2f", measured)
        cost = expected_cost(classes, predicted_counts(sentences, words))
        return measured | {
            "vocabulary": words,
            "classes": {"method": settings.classes["method"], "count": len(classes), "cost": round(cost, 4)},
            "direct_features": count_collisions(config, classes, sentences),
            "words_per_second": round(records[-1].words / max(records[-1].seconds, 1e-9)),
        }

    given = text.rows, held_out.rows, None if text.table is None else text.table.cpu().numpy()
    return Training(
        task=task,
        # the schedule ends the training, and goes back to the best weights as it trains
        settings=settings.replace(
            updates=settings.epochs * task.updates_per_epoch, validate_every=0, patience=0, keep="best"
        ),
        decided_by=[vocabulary.digest, asdict(config)],
        data=[sentences, held_out.sentences, *(array for array in given if array is not None)],
        optimiser=optimiser,
        schedule=HalvingSchedule(optimiser, settings.rate, settings.improvement),
        save=lambda folder, updates: Trained(network, vocabulary).save(folder),
        report=report,
    )


def measure(
    *,
    model: Path,
    texts: list[Path],
    training: list[Path],
    settings: Settings,
    place: torch.device,
    sources: Sequence[Path] = (),
    alignments: Sequence[Path] = (),
    representation: Path | None = None,
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The name of each text and its figures of ``measure_beside_ngrams``.

    training: the text from which the n-gram model is estimated, with the words that the model knows and all others as
    ``UNK``. sources, alignments, representation: for a joint model, parallel to ``texts``.
    """
    trained = Trained.load(model, RecurrentNetwork, place)
    if (representation is not None) != (trained.network.config.inputs > 0):
        raise UserError(f"{model}: a representation is for joint models, which need theirs; give it to these alone")
    if representation is not None and not len(sources) == len(alignments) == len(texts):
        raise UserError("give as many sources and alignments as texts")
    known = trained.target.encode_words(stream_texts(training))
    lines = [read_lines(text) for text in texts]
    sentences = [trained.target.encode_words(of_text) for of_text in lines]
    ngram = NgramModel.of_text(known, settings.ngram_order, trained.target, Ragged.concatenate(sentences))
    read = None if representation is None else load_representation(representation)
    for number, text in enumerate(texts):
        source, alignment = ([sources[number]], alignments[number]) if read else ([], None)
        joint = read_inputs(read, sentences[number], lines[number], [text], source, alignment, place)
        measured = measure_beside_ngrams(trained.network, ngram, joint, settings.precision)
        log.info("perplexity of %s: network %.2f, n-gram model %.2f", text, measured["network"], measured["ngram"])
        yield text.name, measured
