"""Training of recurrent language models and joint models (Auli et al. 2013), and how well they predict texts."""

import logging
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from neural_smt.alignment.pharaoh import read_alignments
from neural_smt.errors import UserError
from neural_smt.experiment.settings import Settings
from neural_smt.io.files import read_lines
from neural_smt.io.ragged import Ragged
from neural_smt.language_model.estimation import estimate
from neural_smt.language_model.model import NgramModel, rounded_perplexity, score_ngrams
from neural_smt.networks.device import precision_context
from neural_smt.networks.distinct import number_rows
from neural_smt.networks.primitives import CLASSES
from neural_smt.networks.recurrent.configuration import AuxiliaryInputs, RecurrentConfig, WordClasses
from neural_smt.networks.recurrent.network import (
    Backpropagation,
    RecurrentNetwork,
    TrainedRecurrent,
    load_recurrent,
    save_recurrent,
)
from neural_smt.networks.recurrent.packing import SentenceBatch, feature_places, pack_sentences
from neural_smt.representations.links import training_links
from neural_smt.representations.representation import Representation, load_representation
from neural_smt.shortlist import shortlist_ids
from neural_smt.training.gradient_descent import GradientDescent, HalvingSchedule
from neural_smt.training.loop import BatchOrder, Minibatch, Record, TextTask, Training, by_length
from neural_smt.training.ngram_text import NgramText, draw_sentences
from neural_smt.training.word_classes import choose_classes, expected_cost, predicted_counts
from neural_smt.vocabulary import BOS, EOS, RESERVED, UNK, Vocabulary


def words_seen_twice(sentences: Ragged, vocabulary: Vocabulary) -> Vocabulary:
    """The words of sentences of ids but those that occur once (Auli et al. 2013, section 4.1)."""
    counts = np.bincount(sentences.values, minlength=len(vocabulary))
    kept = [number for number in np.flatnonzero(counts > 1).tolist() if number >= len(RESERVED)]
    return Vocabulary.from_counts(Counter({vocabulary.words[number]: int(counts[number]) for number in kept}))


@dataclass(frozen=True)
class JointText:
    """sentences: int32, ids without boundaries; rows: int32 ``[tokens, slots]``, the vectors of f of each prediction
    (words and ends, sentence by sentence; see ``AuxiliaryInputs``), or None without auxiliary input.
    """

    sentences: Ragged
    rows: np.ndarray | None = None

    def __post_init__(self) -> None:
        if self.rows is not None and len(self.rows) != self.tokens:
            raise ValueError(f"{len(self.rows)} inputs for {self.tokens} predictions")

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
        return JointText(sentences, Ragged(self.rows, offsets).take(chosen).values)


def without_boundaries(sentences: Ragged) -> Ragged:
    """Sentences in which words spelt like a boundary of sentences are unknown words."""
    values = sentences.values
    return Ragged(np.where((values == BOS) | (values == EOS), np.int32(UNK), values), sentences.offsets)


def unknown_words(sentences: Ragged) -> int:
    """Running words that are ``UNK``."""
    return int((sentences.values == UNK).sum())


def read_texts(paths: Sequence[Path]) -> list[str]:
    """The lines of all texts."""
    return [line for path in paths for line in read_lines(path)]


def read_inputs(
    representation: Representation,
    target: Sequence[str],
    texts: Sequence[Path],
    sources: Sequence[Path],
    alignment: Path | None,
) -> tuple[AuxiliaryInputs, np.ndarray]:
    """The inputs f of a text and int32 ``[tokens]``, the number of that of each prediction.

    target: the lines of ``texts``; sources: parallel to them; alignment: of all of them, one after the other, a line
    for each. Raises ``UserError`` for files that do not go together.
    """
    if alignment is None or not sources:
        raise UserError("a joint model needs the source and the alignment of its text; give sources and alignment")
    links = read_alignments(alignment)
    source = read_texts(sources)
    for lines, paths in ((source, sources), (links, [alignment])):
        if len(lines) != len(target):
            raise UserError(
                f"{', '.join(map(str, paths))}: {len(lines)} lines, but {', '.join(map(str, texts))} has "
                f"{len(target)}; give files made from the same sentences"
            )
    lengths = np.array([len(line.split()) for line in target], dtype=np.int64)
    try:
        sets, numbers = training_links(links, lengths)
    except ValueError as error:
        raise UserError(f"{alignment}: not an alignment of these texts ({error}); align them again") from None
    read = target if representation.side == "target" else source
    return representation.inputs([line.split() for line in read], sets), numbers


log = logging.getLogger(__name__)

VALIDATION_BATCH = 128
"""Sentences that are scored together."""

BUFFER = 16
"""Minibatches whose sentences are sorted by length together, so that those side by side end at about the same time."""


def pack(network: RecurrentNetwork, text: JointText, chosen: np.ndarray, table: Tensor | None) -> SentenceBatch:
    """Sentences of a text as a batch on the network's device; table: of given vectors, there too."""
    part = text.take(chosen)
    return pack_sentences(network.config, network.classes, part.sentences, network.recurrent.device, part.rows, table)


class RecurrentTask(TextTask):
    """Minibatches of ``batch`` sentences of ``text``, drawn in a new order in each epoch; held-out sentences by length.

    table: float32 ``[R, dimensions]``, the vectors that the rows of both texts mean, or None where the network learns
    them or there is no auxiliary input.
    """

    def __init__(
        self,
        network: RecurrentNetwork,
        text: JointText,
        held_out: JointText,
        table: np.ndarray | None,
        batch: int,
        seed: int,
    ):
        self.table = None if table is None else torch.from_numpy(table).to(network.recurrent.device)
        order = BatchOrder(text.lengths, batch, BUFFER, seed, reshuffle=True)
        super().__init__(network, text, held_out, order, VALIDATION_BATCH)

    def pack(self, text: JointText, rows: np.ndarray, whole: int = 1) -> Minibatch:
        """See ``TextTask``."""
        batch = pack(self.network, text, rows, self.table)
        return Minibatch(batch, len(rows), len(batch.tokens))


LN_10 = math.log(10)


def token_scores(network: RecurrentNetwork, text: JointText, table: np.ndarray | None, precision: str) -> np.ndarray:
    """float64 ``[tokens]``: ln p of every word and end, sentence by sentence; table: see ``RecurrentTask``."""
    device = network.recurrent.device
    vectors: Tensor | None = None if table is None else torch.from_numpy(table).to(device)
    starts = text.sentences.offsets[:-1] + np.arange(len(text))
    scores = np.empty(text.tokens)
    with torch.no_grad(), precision_context(device, precision):
        for chosen in by_length(text.lengths, VALIDATION_BATCH):
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


class Collisions(NamedTuple):
    """features: distinct n-gram features of the predictions of a text, of classes and of words; sharing: those whose
    weight is that of another such feature too.
    """

    features: int
    sharing: int


def count_collisions(config: RecurrentConfig, classes: WordClasses, sentences: Ragged) -> Collisions:
    """Count over sentences of ids without boundaries.

    A feature is a history of some length with the class, or with the word, that follows it in the text. Features of
    words that do not follow share weights as well, but do less harm: they only learn that they are not meant.
    """
    if config.direct_size == 0:
        return Collisions(0, 0)
    order = config.direct_order
    text = NgramText.of(sentences, order - 1)
    contexts, words = text.ngrams(np.arange(len(text)))
    histories = np.ascontiguousarray(contexts[:, ::-1])
    numbers = classes.class_of_word[words]
    within = classes.unit_of_word[words] - classes.offsets[numbers]
    slots = []
    found_places = feature_places(config, classes, numbers, histories)
    for given, outputs, places in zip(
        (np.full_like(numbers, CLASSES), numbers), (numbers, within), found_places, strict=True
    ):
        for length in range(order):
            there = places[:, length] >= 0
            rows = np.column_stack([given, outputs, histories[:, :length]])[there].astype(np.int32)
            _, distinct = number_rows(np.ascontiguousarray(rows))
            slots.append((places[:, length] + outputs)[there][distinct])
    found = np.concatenate(slots)
    _, uses = np.unique(found, return_counts=True)
    return Collisions(len(found), int(uses[uses > 1].sum()))


class _Data(NamedTuple):
    """What a run trains on and validates with; table: of the vectors of f, where they are given; slots, dimensions,
    input_rows: see ``RecurrentConfig``.
    """

    vocabulary: Vocabulary
    text: JointText
    held_out: JointText
    table: np.ndarray | None
    slots: int
    dimensions: int
    input_rows: int


def _read(
    texts: Sequence[Path],
    sources: Sequence[Path],
    alignment: Path | None,
    representation: Path | None,
    settings: Settings,
    seed: int,
) -> _Data:
    lines = read_texts(texts)
    everything = Vocabulary.from_sentences(lines)
    sentences = everything.encode(lines)
    if len(sentences.values) == 0:
        raise UserError(f"{', '.join(map(str, texts))}: no words to train on; check the selection stage")
    held_out = draw_sentences(sentences, settings.validation, seed)
    kept = np.flatnonzero(~held_out)
    if 0 < settings.sentences < len(kept):
        kept = np.sort(np.random.default_rng(seed).choice(kept, settings.sentences, replace=False))
    vocabulary = words_seen_twice(sentences.take(kept), everything)
    known = Ragged(shortlist_ids(everything, vocabulary)[sentences.values], sentences.offsets)
    if representation is None:
        text, table, sizes = JointText(known), None, (0, 0, 0)
    else:
        loaded = load_representation(representation)
        inputs, numbers = read_inputs(loaded, lines, texts, sources, alignment)
        text, table = JointText(known, inputs.rows[numbers]), inputs.table
        sizes = loaded.slots, loaded.dimensions, loaded.input_rows
    return _Data(vocabulary, text.take(kept), text.take(np.flatnonzero(held_out)), table, *sizes)


def prepare(
    *,
    texts: list[Path],
    settings: Settings,
    place: torch.device,
    seed: int,
    sources: list[Path] = (),  # type: ignore[assignment]
    alignment: Path | None = None,
    representation: Path | None = None,
) -> Training:
    """A network and tokenised texts, taken together; a joint model where there is a representation of the source.

    sources, alignment, representation: what a joint model knows of the source, ``sources`` parallel to ``texts`` and
    ``alignment`` with a line for each line of theirs. What is told of it: the figures of ``measure_beside_ngrams`` for
    the held-out sentences, with an n-gram model of the training sentences, and what was trained: words, word classes
    and their cost on the training text, direct features that share weights, words of training per second.
    """
    data = _read(texts, sources, alignment, representation, settings, seed)
    words, sentences = len(data.vocabulary), data.text.sentences
    classes = choose_classes(Settings(settings.classes), sentences, words)
    config = RecurrentConfig(
        words=words,
        classes=len(classes),
        hidden=settings.hidden,
        slots=data.slots,
        dimensions=data.dimensions,
        input_rows=data.input_rows,
        direct_size=1 << settings.direct_bits if settings.direct_bits else 0,
        direct_order=settings.direct_order,
    )
    network = RecurrentNetwork(config, classes, seed).to(place)
    network.backpropagation = Backpropagation(settings.bptt, settings.clip)
    task = RecurrentTask(network, data.text, data.held_out, data.table, settings.batch, seed)
    parameters = dict(network.named_parameters())
    optimiser = GradientDescent(parameters, settings.rate, settings.l2, settings.optimiser == "adagrad")
    log.info(
        "%d predictions to train on, %d held out, %d words in %d classes",
        data.text.tokens,
        data.held_out.tokens,
        words,
        len(classes),
    )

    def report(records: Sequence[Record]) -> dict[str, Any]:
        ngram = _ngram_model(data.text.sentences, settings.ngram_order, data.vocabulary)
        measured = measure_beside_ngrams(network, ngram, data.held_out, data.table, settings.precision)
        log.info("perplexity of held-out text: network %(network).2f, n-gram model %(ngram).2f", measured)
        cost = expected_cost(classes, predicted_counts(data.text.sentences, words))
        return measured | {
            "vocabulary": words,
            "classes": {"method": settings.classes["method"], "count": len(classes), "cost": round(cost, 4)},
            "direct_features": count_collisions(config, classes, data.text.sentences)._asdict(),
            "words_per_second": round(records[-1].words / max(records[-1].seconds, 1e-9)),
        }

    return Training(
        task=task,
        # the schedule ends the training, and goes back to the best weights as it trains
        settings=settings.replace(
            updates=settings.epochs * task.updates_per_epoch, validate_every=0, patience=0, keep="best"
        ),
        decided_by=[data.vocabulary.digest, config.to_json()],
        data=[
            data.text.sentences,
            data.held_out.sentences,
            *(array for array in (data.text.rows, data.held_out.rows, data.table) if array is not None),
        ],
        optimiser=optimiser,
        schedule=HalvingSchedule(optimiser, settings.rate, settings.improvement),
        save=lambda folder, updates: save_recurrent(folder, TrainedRecurrent(network, data.vocabulary)),
        report=report,
    )


def measure(
    *,
    model: Path,
    texts: list[Path],
    training: list[Path],
    settings: Settings,
    place: torch.device,
    sources: list[Path] = (),  # type: ignore[assignment]
    alignments: list[Path] = (),  # type: ignore[assignment]
    representation: Path | None = None,
) -> dict[str, Any]:
    """The figures of ``measure_beside_ngrams`` for each text under its name.

    training: the text from which the n-gram model is estimated, with the words that the model knows and all others as
    ``UNK``. sources, alignments, representation: for a joint model, parallel to ``texts``.
    """
    trained = load_recurrent(model, place)
    if (representation is not None) != (trained.network.config.inputs > 0):
        raise UserError(f"{model}: a representation is for joint models, which need theirs; give it to these alone")
    for given in (sources, alignments):
        if representation is not None and len(given) != len(texts):
            raise UserError("give as many sources and alignments as texts")
    known = without_boundaries(trained.vocabulary.encode(read_texts(training)))
    ngram = _ngram_model(known, settings.ngram_order, trained.vocabulary)
    results = {}
    for number, text in enumerate(texts):
        lines, rows, table = read_texts([text]), None, None
        if representation is not None:
            # learned vectors are the network's
            loaded = load_representation(representation)
            inputs, numbers = read_inputs(loaded, lines, [text], [sources[number]], alignments[number])
            rows, table = inputs.rows[numbers], inputs.table
        joint = JointText(without_boundaries(trained.vocabulary.encode(lines)), rows)
        measured = measure_beside_ngrams(trained.network, ngram, joint, table, settings.precision)
        log.info("perplexity of %s: network %.2f, n-gram model %.2f", text, measured["network"], measured["ngram"])
        results[text.name] = measured
    return results


def _ngram_model(sentences: Ragged, order: int, vocabulary: Vocabulary) -> NgramModel:
    return NgramModel.from_tables(estimate(sentences, order).tables, vocabulary)
