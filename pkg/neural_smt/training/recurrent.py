"""Training of recurrent language models and joint models (Auli et al. 2013), and how well they predict texts."""

import logging
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from neural_smt.alignment.pharaoh import read_alignments
from neural_smt.errors import UserError
from neural_smt.experiment.settings import Settings
from neural_smt.io.files import read_lines
from neural_smt.io.ragged import Ragged
from neural_smt.io.streams import count_words, stream_texts
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
from neural_smt.representations.links import training_links
from neural_smt.representations.representation import Representation, load_representation
from neural_smt.selection.origins import lines_of_sources
from neural_smt.shortlist import repeated_words, shortlist_ids
from neural_smt.training.gradient_descent import GradientDescent, HalvingSchedule
from neural_smt.training.learning_curve import Record
from neural_smt.training.loop import Training
from neural_smt.training.noise import draw_masks
from neural_smt.training.tasks import WHOLE, BatchOrder, Minibatch, TextTask, by_length
from neural_smt.training.texts import NgramText, draw_lines, draw_sentences
from neural_smt.training.word_classes import choose_classes, expected_cost, predicted_counts
from neural_smt.vocabulary import UNK, Vocabulary


@dataclass(frozen=True)
class JointText:
    """sentences: int32, ids without boundaries; rows: int32 ``[tokens, slots]``, the vectors of f of each prediction
    (words and ends, sentence by sentence; see ``AuxiliaryInputs``), or None without auxiliary input; table: float32
    ``[R, dimensions]``, what rows mean, on the network's device, or None where the network learns it.
    """

    sentences: Ragged
    rows: np.ndarray | None = None
    table: Tensor | None = None

    def __len__(self) -> int:
        return len(self.sentences)

    @property
    def lengths(self) -> np.ndarray:
        """int64 ``[n]``: words of each sentence."""
        return self.sentences.lengths

    @property
    def tokens(self) -> int:
        """Predictions: words and ends of sentences."""
        return len(self.sentences.values) + len(self.sentences)

    def take(self, chosen: np.ndarray) -> "JointText":
        """The sentences numbered ``chosen``, in that order."""
        sentences = self.sentences.take(chosen)
        if self.rows is None:
            return JointText(sentences)
        offsets = self.sentences.offsets + np.arange(len(self) + 1)
        return replace(self, sentences=sentences, rows=Ragged(self.rows, offsets).take(chosen).values)


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


def read_inputs(
    representation: Representation | None,
    sentences: Ragged,
    lines: list[str],
    texts: Sequence[Path],
    sources: Sequence[Path],
    alignment: Path | None,
    place: torch.device,
    chosen: np.ndarray | None = None,
) -> JointText:
    """A text with what a joint model knows of its source, where there is a representation.

    sentences, lines: the text, as ids and as it stands in ``texts``; sources: parallel to them; alignment: of all of
    them, one after the other, a line for each; place: of the vectors; chosen: which lines of all these files the text
    is, bool, None for all. Raises ``UserError`` for files that do not go together.
    """
    if representation is None:
        return JointText(sentences)
    if alignment is None or not sources:
        raise UserError("a joint model needs the source and the alignment of its text; give sources and alignment")
    links, source = read_alignments(alignment), list(stream_texts(sources))
    count = len(lines) if chosen is None else len(chosen)
    for found, paths in ((source, sources), (links, [alignment])):
        if len(found) != count:
            raise UserError(
                f"{', '.join(map(str, paths))}: {len(found)} lines, but {', '.join(map(str, texts))} has "
                f"{count}; give files made from the same sentences"
            )
    if chosen is not None:
        source, links = list(compress(source, chosen)), links.take(np.flatnonzero(chosen))
    try:
        sets, numbers = training_links(links, sentences.lengths)
        read = lines if representation.settings.side == "target" else source
        inputs = representation.inputs([line.split() for line in read], sets)
    except ValueError as error:
        raise UserError(f"{alignment}: not an alignment of these texts ({error}); align them again") from None
    table = None if inputs.table is None else torch.from_numpy(inputs.table).to(place)
    return JointText(sentences, inputs.rows[numbers], table)


def choose_lines(
    texts: Sequence[Path], settings: Settings, origins: Sequence[Sequence[str]], seed: int
) -> np.ndarray | None:
    """bool ``[lines]``: the lines of texts that a network is trained and validated on; None for all of them.

    settings: sources, words, validation, validation_words; origins: of the texts, see ``lines_of_sources``. Texts may
    be long: their lines are counted one by one.
    """
    if not (settings.sources or settings.words):
        return None
    lengths = count_words(stream_texts(texts))
    among = lines_of_sources(origins, settings.sources) if settings.sources else np.ones(len(lengths), dtype=bool)
    if len(among) != len(lengths):
        raise UserError(
            f"{', '.join(map(str, texts))}: {len(lengths)} lines, but origins tell of {len(among)}; give the tables of "
            "cleaning and the scores of selection that belong to these texts"
        )
    if not settings.words:
        return among
    held_out = settings.validation_words or round(settings.words * settings.validation / (1 - settings.validation))
    return draw_lines(lengths, settings.words + held_out, seed, among)


def read_texts(
    texts: Sequence[Path],
    chosen: np.ndarray | None,
    settings: Settings,
    representation: Representation | None,
    sources: Sequence[Path],
    alignment: Path | None,
    place: torch.device,
    seed: int,
) -> tuple[Vocabulary, JointText, JointText]:
    """The words of a network, the text that it is trained on, and the one held out; for the arguments see ``prepare``
    and ``read_inputs``.
    """
    lines = list(stream_texts(texts) if chosen is None else compress(stream_texts(texts), chosen))
    everything = Vocabulary.from_sentences(lines)
    encoded = everything.encode(lines)
    if len(encoded.values) == 0:
        raise UserError(f"{', '.join(map(str, texts))}: no words to train on; check the selection stage")
    drawn = draw_sentences(encoded, settings.validation, seed, settings.validation_words)
    kept = np.flatnonzero(~drawn)
    vocabulary = repeated_words(lines[number] for number in kept.tolist())
    known = Ragged(shortlist_ids(everything, vocabulary)[encoded.values], encoded.offsets)
    whole = read_inputs(representation, known, lines, texts, sources, alignment, place, chosen)
    return vocabulary, whole.take(kept), whole.take(np.flatnonzero(drawn))


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
