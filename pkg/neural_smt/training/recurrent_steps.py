"""Training of recurrent language models and joint models from text to a model folder, and measuring them on texts."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from neural_smt.errors import UserError
from neural_smt.io.files import write_json
from neural_smt.io.ragged import Ragged
from neural_smt.language_model.estimation import estimate
from neural_smt.language_model.model import NgramModel
from neural_smt.networks.device import describe_device, select_device
from neural_smt.networks.folder import TrainedRecurrent, load_recurrent, save_recurrent
from neural_smt.networks.recurrent.configuration import RecurrentConfig
from neural_smt.networks.recurrent.network import Backpropagation, RecurrentNetwork
from neural_smt.representations.folder import load_representation
from neural_smt.settings import read_settings
from neural_smt.shortlist import shortlist_ids
from neural_smt.training.checkpoint import fingerprint
from neural_smt.training.collisions import count_collisions
from neural_smt.training.curve import Record, plot_curve, write_curve
from neural_smt.training.gradient_descent import GradientDescent
from neural_smt.training.halving import Halving
from neural_smt.training.joint_reading import read_inputs, read_texts
from neural_smt.training.joint_text import JointText, predicted_counts, without_boundaries, words_seen_twice
from neural_smt.training.launch import in_processes
from neural_smt.training.loop import Trainer
from neural_smt.training.ngram_text import draw_sentences
from neural_smt.training.processes import Processes
from neural_smt.training.recurrent_perplexity import measure_beside_ngrams
from neural_smt.training.recurrent_settings import RecurrentSettings
from neural_smt.training.recurrent_task import RecurrentTask
from neural_smt.training.word_classes.choice import choose_classes
from neural_smt.training.word_classes.partition import expected_cost
from neural_smt.vocabulary import Vocabulary

log = logging.getLogger(__name__)


class _Data(NamedTuple):
    """What a run trains on and validates with; table: of the vectors of f, where they are given; slots, dimensions,
    input_rows: see ``RecurrentConfig``.
    """

    vocabulary: Vocabulary
    text: JointText
    held_out: JointText
    table: np.ndarray | None = None
    slots: int = 0
    dimensions: int = 0
    input_rows: int = 0


@in_processes
def train_recurrent(
    *,
    texts: list[Path],
    settings: dict[str, Any],
    device: str,
    seed: int,
    output: Path,
    curve: Path,
    plot: Path,
    perplexity: Path,
    state: Path,
    title: str = "recurrent language model",
    sources: list[Path] = (),  # type: ignore[assignment]
    alignment: Path | None = None,
    representation: Path | None = None,
    processes: int = 1,
) -> None:
    """Train the recurrent language model, or with a representation the joint model, of Auli et al. (2013).

    texts: tokenised text of the target language, taken together; settings: see ``RecurrentSettings``; device: auto, cpu
    or cuda; processes: see ``launch``. sources, alignment, representation: what a joint model knows of the source,
    ``sources`` parallel to ``texts`` and ``alignment`` with a line for each line of theirs.
    Writes the model folder, the learning curve as CSV and PNG, and as JSON the figures of ``measure_beside_ngrams`` for
    the held-out sentences, with an n-gram model of the training sentences, and what was trained: words, word classes
    and their cost on the training text, direct features that share weights, words of training per second. Checkpoints
    go into ``state``: a run that was killed goes on from there and ends with the same model. title: of the plot.
    """
    chosen = read_settings(RecurrentSettings, settings, "training.recurrent")
    place = select_device(device)
    data = _read(texts, sources, alignment, representation, chosen, seed)
    words, sentences = len(data.vocabulary), data.text.sentences
    classes = choose_classes(chosen.class_settings, sentences, words)
    config = RecurrentConfig(
        words=words,
        classes=len(classes),
        hidden=chosen.hidden,
        slots=data.slots,
        dimensions=data.dimensions,
        input_rows=data.input_rows,
        direct_size=1 << chosen.direct_bits if chosen.direct_bits else 0,
        direct_order=chosen.direct_order,
    )
    network = RecurrentNetwork(config, classes, seed).to(place)
    network.backpropagation = Backpropagation(chosen.bptt, chosen.clip)
    task = RecurrentTask(network, data.text, data.held_out, data.table, chosen.batch, seed)
    parameters = dict(network.named_parameters())
    optimiser = GradientDescent(parameters, chosen.rate, chosen.l2, chosen.optimiser == "adagrad")
    inputs = [a for a in (data.text.rows, data.held_out.rows, data.table) if a is not None]
    decided_by = [chosen.deciding(), seed, place.type, data.vocabulary.digest, config.to_json()]
    run = fingerprint(decided_by, data.text.sentences, data.held_out.sentences, *inputs)
    log.info(
        "%d predictions to train on, %d held out, %d words in %d classes, on %s",
        data.text.tokens,
        data.held_out.tokens,
        words,
        len(classes),
        describe_device(place),
    )
    limited = replace(chosen, updates=min(chosen.updates, chosen.epochs * task.updates_per_epoch))
    schedule = Halving(optimiser, chosen.rate, chosen.improvement)
    records = Trainer(task, limited, Path(state), run, optimiser, schedule).train()
    if not Processes.current().first:
        return
    save_recurrent(output, TrainedRecurrent(network, data.vocabulary))
    write_curve(curve, records)
    plot_curve(plot, records, title)
    write_json(perplexity, _report(network, data, chosen, records))


def measure_recurrent(
    *,
    model: Path,
    texts: list[Path],
    training: list[Path],
    output: Path,
    device: str = "auto",
    precision: str = "auto",
    order: int = 5,
    sources: list[Path] = (),  # type: ignore[assignment]
    alignments: list[Path] = (),  # type: ignore[assignment]
    representation: Path | None = None,
) -> None:
    """Perplexities of tokenised texts under a trained recurrent or joint model, beside an n-gram model, as JSON.

    training: the text from which the n-gram model is estimated, with the words that the model knows and all others as
    ``UNK``; order: of it. sources, alignments, representation: for a joint model, parallel to ``texts``. Writes the
    figures of ``measure_beside_ngrams`` for each text under the text's file name.
    """
    trained = load_recurrent(model, select_device(device))
    if (representation is not None) != (trained.network.config.inputs > 0):
        raise UserError(f"{model}: a representation is for joint models, which need theirs; give it to these alone")
    for given in (sources, alignments):
        if representation is not None and len(given) != len(texts):
            raise UserError("give as many sources and alignments as texts")
    known = without_boundaries(trained.vocabulary.encode(read_texts(training)))
    ngram = _ngram_model(known, order, trained.vocabulary)
    results = {}
    for number, text in enumerate(texts):
        lines, rows, table = read_texts([text]), None, None
        if representation is not None:
            # learned vectors are the network's
            inputs, numbers = read_inputs(
                load_representation(representation), lines, [text], [sources[number]], alignments[number]
            )
            rows, table = inputs.rows[numbers], inputs.table
        joint = JointText(without_boundaries(trained.vocabulary.encode(lines)), rows)
        results[Path(text).name] = measured = measure_beside_ngrams(trained.network, ngram, joint, table, precision)
        log.info("perplexity of %s: network %.2f, n-gram model %.2f", text, measured["network"], measured["ngram"])
    write_json(output, results)


def _read(
    texts: Sequence[Path],
    sources: Sequence[Path],
    alignment: Path | None,
    representation: Path | None,
    settings: RecurrentSettings,
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
        text = JointText(known)
        return _Data(vocabulary, text.take(kept), text.take(np.flatnonzero(held_out)))
    loaded = load_representation(representation)
    inputs, numbers = read_inputs(loaded, lines, texts, sources, alignment)
    text = JointText(known, inputs.rows[numbers])
    parts = text.take(kept), text.take(np.flatnonzero(held_out))
    return _Data(vocabulary, *parts, inputs.table, loaded.slots, loaded.dimensions, loaded.input_rows)


def _ngram_model(sentences: Ragged, order: int, vocabulary: Vocabulary) -> NgramModel:
    return NgramModel.from_tables(estimate(sentences, order).tables, vocabulary)


def _report(
    network: RecurrentNetwork, data: _Data, settings: RecurrentSettings, records: Sequence[Record]
) -> dict[str, Any]:
    """What ``train_recurrent`` writes about a trained network."""
    ngram = _ngram_model(data.text.sentences, settings.ngram_order, data.vocabulary)
    measured = measure_beside_ngrams(network, ngram, data.held_out, data.table, settings.precision)
    log.info("perplexity of held-out text: network %(network).2f, n-gram model %(ngram).2f", measured)
    classes = network.classes
    cost = expected_cost(classes, predicted_counts(data.text.sentences, len(data.vocabulary)))
    collisions = count_collisions(network.config, classes, data.text.sentences)
    return measured | {
        "vocabulary": len(data.vocabulary),
        "classes": {"method": settings.class_settings.method, "count": len(classes), "cost": round(cost, 4)},
        "direct_features": collisions._asdict(),
        "words_per_second": round(records[-1].words / max(records[-1].seconds, 1e-9)),
    }
