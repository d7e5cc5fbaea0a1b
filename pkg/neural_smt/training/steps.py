"""The training stage: from a phrase table or text to a trained network."""

import logging
from pathlib import Path
from typing import Any

from neural_smt.errors import UserError
from neural_smt.io.files import read_lines, write_json
from neural_smt.io.ragged import Ragged
from neural_smt.language_model.estimation import estimate
from neural_smt.language_model.model import NgramModel
from neural_smt.networks.compiling import compile_steps
from neural_smt.networks.configuration import Conventions, EncoderDecoderConfig
from neural_smt.networks.cslm_network import CslmConfig, CslmNetwork
from neural_smt.networks.device import describe_device, select_device
from neural_smt.networks.encoder_decoder import EncoderDecoder
from neural_smt.networks.folder import TrainedCslm, TrainedModel, load_cslm, save_cslm, save_model
from neural_smt.phrases.table import PhraseTable
from neural_smt.settings import read_settings
from neural_smt.shortlist import shortlist_ids
from neural_smt.training.checkpoint import fingerprint
from neural_smt.training.cslm_perplexity import measure_perplexities
from neural_smt.training.cslm_settings import CslmSettings
from neural_smt.training.curve import plot_curve, write_curve
from neural_smt.training.launch import in_processes
from neural_smt.training.loop import Trainer
from neural_smt.training.ngram_task import NgramTask
from neural_smt.training.ngram_text import NgramText, split_sentences
from neural_smt.training.pairs import split_pairs, table_pairs
from neural_smt.training.phrase_task import PhraseTask
from neural_smt.training.processes import Processes
from neural_smt.training.settings import TrainingSettings
from neural_smt.vocabulary import Vocabulary

log = logging.getLogger(__name__)


@in_processes
def train_encoder_decoder(
    *,
    phrase_table: Path,
    source_vocabulary: Path,
    target_vocabulary: Path,
    source_shortlist: Path,
    target_shortlist: Path,
    settings: dict[str, Any],
    device: str,
    seed: int,
    output: Path,
    curve: Path,
    plot: Path,
    state: Path,
    title: str = "RNN encoder-decoder",
    processes: int = 1,
    compiled: bool = False,
) -> None:
    """Train the RNN encoder-decoder of Cho et al. (2014) on the distinct pairs of a phrase table.

    settings: see ``TrainingSettings``, whose ``unit`` and ``direction`` make variants of it; device: auto, cpu or cuda;
    processes: see ``launch``; compiled: see ``compile_steps``.
    Writes the model folder, the learning curve as CSV and PNG, and checkpoints into ``state``: a run that was killed
    goes on from there and ends with the same model. title: of the plot.
    """
    chosen = read_settings(TrainingSettings, settings, "training.encoder_decoder")
    place = select_device(device)
    compile_steps(compiled)
    shortlists = Vocabulary.load(source_shortlist), Vocabulary.load(target_shortlist)
    vocabularies = Vocabulary.load(source_vocabulary), Vocabulary.load(target_vocabulary)
    table = PhraseTable.load(phrase_table)
    table.check_vocabularies(*vocabularies)
    ids = [shortlist_ids(vocabulary, shortlist) for vocabulary, shortlist in zip(vocabularies, shortlists, strict=True)]
    pairs = table_pairs(table, *ids, chosen.max_length)
    pairs, held_out = split_pairs(pairs, chosen.validation_pairs, seed)
    if len(pairs) == 0:
        raise UserError(f"{phrase_table}: no phrase pairs of at most {chosen.max_length} words to train on")
    if chosen.direction == "backward":
        # after the split: both directions hold out the same pairs
        pairs, held_out, shortlists = pairs.swapped(), held_out.swapped(), shortlists[::-1]
    config = EncoderDecoderConfig(
        source_words=len(shortlists[0]),
        target_words=len(shortlists[1]),
        hidden=chosen.hidden,
        embedding=chosen.embedding,
        maxout=chosen.maxout,
        rank=chosen.rank,
        conventions=Conventions.following(chosen.conventions),
        unit=chosen.unit,
        direction=chosen.direction,
    )
    digests = [shortlist.digest for shortlist in shortlists]
    sides = [side for part in (pairs, held_out) for side in (part.source, part.target)]
    run = fingerprint([chosen.deciding(), seed, place.type, digests], *sides)
    log.info("%d pairs to train on, %d held out, on %s", len(pairs), len(held_out), describe_device(place))
    network = EncoderDecoder(config, seed).to(place)
    task = PhraseTask(network, pairs, held_out, chosen, seed)
    records = Trainer(task, chosen, Path(state), run).train()
    if not Processes.current().first:
        return
    save_model(output, TrainedModel(network, *shortlists))
    write_curve(curve, records)
    plot_curve(plot, records, title)


@in_processes
def train_cslm(
    *,
    texts: list[Path],
    vocabulary: Path,
    shortlist: Path,
    settings: dict[str, Any],
    device: str,
    seed: int,
    output: Path,
    curve: Path,
    plot: Path,
    perplexity: Path,
    state: Path,
    processes: int = 1,
) -> None:
    """Train the CSLM of Cho et al. (2014, section 4.1.2) on tokenised text of the target language.

    texts: one sentence a line, taken together; settings: see ``CslmSettings``; device: auto, cpu or cuda; processes:
    see ``launch``. Writes the model folder, the learning curve as CSV and PNG, and as JSON the perplexities of the
    held-out sentences: that of the network alone, whose class of words outside the shortlist is one word, and those of
    ``measure_perplexities`` beside an n-gram model of the same training sentences (that of the stage ``language_model``
    has seen those held out).
    Checkpoints go into ``state``: a run that was killed goes on from there and ends with the same model.
    """
    chosen = read_settings(CslmSettings, settings, "training.cslm")
    place = select_device(device)
    words, known = Vocabulary.load(vocabulary), Vocabulary.load(shortlist)
    sentences = Ragged.concatenate([words.encode(read_lines(text)) for text in texts])
    sentences, held_out = split_sentences(sentences, chosen.validation, seed)
    if len(sentences) == 0:
        raise UserError(f"{', '.join(map(str, texts))}: no sentences to train on; check the selection stage")
    config = CslmConfig(len(known), chosen.order, chosen.projection, tuple(chosen.layers), chosen.initial_range)
    ids = shortlist_ids(words, known)
    text, validation = (
        NgramText.of(Ragged(ids[part.values], part.offsets), config.history) for part in (sentences, held_out)
    )
    decided_by = [chosen.deciding("ngram_order"), seed, place.type, known.digest]
    run = fingerprint(decided_by, text.stream, validation.stream)
    log.info("%d n-grams to train on, %d held out, on %s", len(text), len(validation), describe_device(place))
    task = NgramTask(CslmNetwork(config, seed).to(place), text, validation, chosen.batch, seed)
    records = Trainer(task, chosen, Path(state), run).train()
    if not Processes.current().first:
        return
    trained = TrainedCslm(task.network, known)
    save_cslm(output, trained)
    write_curve(curve, records)
    plot_curve(plot, records, "CSLM")
    validated = [record.validation_perplexity for record in records if record.validation_perplexity is not None]
    measured: dict[str, Any] = {}
    if validated:
        measured["network"] = min(validated) if chosen.keep == "best" else validated[-1]
        measured |= _beside_ngrams(trained, words, sentences, held_out, chosen)
    write_json(perplexity, measured)


def _beside_ngrams(
    trained: TrainedCslm, vocabulary: Vocabulary, sentences: Ragged, held_out: Ragged, settings: CslmSettings
) -> dict[str, Any]:
    """The figures of ``measure_perplexities`` for held-out sentences, with an n-gram model of the others, if wanted."""
    if settings.ngram_order == 0:
        return {}
    ngram = NgramModel.from_tables(estimate(sentences, settings.ngram_order).tables, vocabulary)
    measured = measure_perplexities(trained, ngram, vocabulary, held_out, settings.precision)
    log.info("perplexity of held-out text: CSLM %(cslm).2f, n-gram model %(ngram).2f", measured)
    return measured


def measure_cslm(
    *,
    model: Path,
    language_model: Path,
    vocabulary: Path,
    texts: list[Path],
    device: str,
    precision: str,
    output: Path,
) -> None:
    """Perplexities of tokenised texts under a trained CSLM and under the n-gram model it is used with, as JSON.

    Writes the figures of ``measure_perplexities`` for each text under the text's file name.
    """
    words = Vocabulary.load(vocabulary)
    ngram = NgramModel.load(language_model, words)
    trained = load_cslm(model, select_device(device))
    results = {}
    for text in texts:
        sentences = words.encode(read_lines(text))
        measured = measure_perplexities(trained, ngram, words, sentences, precision)
        log.info("perplexity of %s: CSLM %.2f, n-gram model %.2f", text, measured["cslm"], measured["ngram"])
        results[Path(text).name] = measured
    write_json(output, results)
