"""Training of attention networks, from parallel text to a model folder."""

import logging
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import torch

from neural_smt.errors import UserError
from neural_smt.io.files import read_parallel
from neural_smt.networks.attention.configuration import AttentionConfig
from neural_smt.networks.attention.folder import TrainedAttention, save_attention
from neural_smt.networks.attention.network import AttentionNetwork
from neural_smt.networks.compiling import compile_steps
from neural_smt.networks.device import describe_device, select_device
from neural_smt.settings import read_settings
from neural_smt.training.adadelta import ClippedAdaDelta
from neural_smt.training.attention_settings import AttentionSettings
from neural_smt.training.attention_task import AttentionTask, SentencePairs
from neural_smt.training.checkpoint import fingerprint
from neural_smt.training.curve import plot_curve, write_curve
from neural_smt.training.launch import in_processes
from neural_smt.training.loop import Trainer
from neural_smt.training.processes import Processes
from neural_smt.training.snapshots import Snapshots
from neural_smt.vocabulary import Vocabulary
from neural_smt.vocabulary_selection.candidates import CandidateSets, text_digest
from neural_smt.vocabulary_selection.sources import encode_words

log = logging.getLogger(__name__)


@in_processes
def train_attention(
    *,
    source: Path,
    target: Path,
    source_vocabulary: Path,
    target_vocabulary: Path,
    settings: dict[str, Any],
    device: str,
    seed: int,
    output: Path,
    curve: Path,
    plot: Path,
    state: Path,
    candidates: Path | None = None,
    held_out_source: Path | None = None,
    held_out_target: Path | None = None,
    held_out_candidates: Path | None = None,
    epochs: Path | None = None,
    title: str = "attention network",
    processes: int = 1,
    compiled: bool = False,
) -> None:
    """Train an attention network on tokenised parallel text, with all target words or with those of each sentence.

    source_vocabulary, target_vocabulary: the words that the network knows; settings: see ``AttentionSettings``; device:
    auto, cpu or cuda; processes: see ``launch``; compiled: see ``compile_steps``. candidates: the target vocabularies
    of the training sentences (Mi et al. 2016), references among them; without, the softmax is over all target words, or
    over those of a part of the text (``tau``).
    held_out: sentences to measure perplexity with while training, each under its own target vocabulary; words of the
    references that are not in it count as unknown.
    Writes the model folder, the learning curve as CSV and PNG, and checkpoints into ``state``: a run that was killed
    goes on from there and ends with the same model. epochs: a folder for the models that the training would have ended
    with after each epoch (``1``, ``2``, ...). title: of the plot.
    """
    chosen = read_settings(AttentionSettings, settings, "training.attention")
    place = select_device(device)
    compile_steps(compiled)
    vocabularies = Vocabulary.load(source_vocabulary), Vocabulary.load(target_vocabulary)
    _check_held_out(chosen, candidates, held_out_source, held_out_target, held_out_candidates)
    text = _read(source, target, vocabularies, candidates)
    held_out = SentencePairs(text.source.take([]), text.target.take([]))
    if held_out_source and held_out_target:
        held_out = _read(held_out_source, held_out_target, vocabularies, held_out_candidates)
    if len(text.within(chosen.max_length)) == 0:
        raise UserError(f"{source}: no sentence pairs of 1 to {chosen.max_length} words to train on")
    sizes = {item.name: getattr(chosen, item.name) for item in fields(AttentionConfig) if hasattr(chosen, item.name)}
    config = AttentionConfig(len(vocabularies[0]), len(vocabularies[1]), **sizes)
    decided = [chosen.deciding(), seed, place.type, epochs is not None]
    run = _identify(decided, vocabularies, text, held_out)
    network = AttentionNetwork(config, seed).to(place)
    task = AttentionTask(network, text, held_out, chosen, seed)
    _tell(task, text, held_out, vocabularies, place)
    chosen = _within_epochs(chosen, task.updates_per_epoch)
    parameters = dict(network.named_parameters())
    limited = text.sets is not None or chosen.tau > 0
    optimiser = ClippedAdaDelta(parameters, chosen.rho, chosen.epsilon, chosen.clip, rows_only=limited)
    trained, origin = TrainedAttention(network, *vocabularies), {"candidates": _digest_of_sets(text)}

    def keep(folder: Path, epoch: int) -> None:
        save_attention(folder, trained, origin | {"updates": epoch * task.updates_per_epoch})

    snapshots = Snapshots(state, run, keep, last=0 if epochs else chosen.average, average=max(chosen.average, 1))
    kept = snapshots.keep if epochs or chosen.average else None
    records = Trainer(task, chosen, Path(state), run, optimiser, epoch_ended=kept).train()
    if not Processes.current().first:
        return
    completed = records[-1].updates // task.updates_per_epoch
    if chosen.average:
        snapshots.publish_last(output, completed)
    else:
        save_attention(output, trained, origin)
    if epochs:
        snapshots.publish(epochs, completed)
    snapshots.forget_other_runs()
    write_curve(curve, records)
    plot_curve(plot, records, title)


def _digest_of_sets(text: SentencePairs) -> str | None:
    """Of the target vocabularies of sentences, where they have some of their own."""
    return None if text.sets is None else text.sets.digest


def _identify(
    decided: list[Any], vocabularies: tuple[Vocabulary, Vocabulary], text: SentencePairs, held_out: SentencePairs
) -> str:
    """A digest of all that decides on what is trained: only the same run may be gone on with."""
    digests = [vocabulary.digest for vocabulary in vocabularies]
    sides = [side for part in (text, held_out) for side in (part.source, part.target)]
    return fingerprint([*decided, digests, [_digest_of_sets(part) for part in (text, held_out)]], *sides)


def _tell(
    task: AttentionTask,
    text: SentencePairs,
    held_out: SentencePairs,
    vocabularies: tuple[Vocabulary, Vocabulary],
    place: torch.device,
) -> None:
    """Log what is trained on."""
    log.info(
        "%d pairs to train on, %d held out, %d and %d words, on %s",
        len(task.usable),
        len(held_out),
        *(len(vocabulary) for vocabulary in vocabularies),
        describe_device(place),
    )
    for name, part in (("training", text), ("held-out", held_out)):
        if missing := part.uncovered():
            log.warning("%d words of the %s references are in no set of theirs and count as unknown", missing, name)


def _within_epochs(settings: AttentionSettings, updates_per_epoch: int) -> AttentionSettings:
    """The settings, with no more updates than the epochs have."""
    if settings.average and settings.updates < updates_per_epoch:
        raise UserError(
            f"training: average takes weights at ends of epochs, but {settings.updates} updates are less than one "
            f"epoch of {updates_per_epoch}; set average to 0 or updates higher"
        )
    most = settings.epochs * updates_per_epoch if settings.epochs else settings.updates
    return replace(settings, updates=min(settings.updates, most))


def _check_held_out(
    settings: AttentionSettings,
    candidates: Path | None,
    source: Path | None,
    target: Path | None,
    held_out_candidates: Path | None,
) -> None:
    if (source is None) != (target is None):
        raise UserError("held-out text needs both its sides; give held_out_source and held_out_target")
    if source is None and (settings.patience > 0 or settings.keep == "best"):
        raise UserError("training: patience and keep: best need held-out text; give held_out_source and _target")
    if settings.tau:
        # What is decoded with candidate lists may be validated with them (Jean et al. 2015).
        if candidates is not None:
            raise UserError("training: tau cuts the text into parts with words of their own; leave candidates out")
    elif source is not None and (candidates is None) != (held_out_candidates is None):
        raise UserError("give both candidates and held_out_candidates, or neither: both texts use the same softmax")


def _read(
    source: Path, target: Path, vocabularies: tuple[Vocabulary, Vocabulary], candidates: Path | None
) -> SentencePairs:
    """Pairs of sentences as ids, with the target vocabularies that were made for them."""
    lines = read_parallel(source, target)
    sides = [encode_words(vocabulary, text) for vocabulary, text in zip(vocabularies, lines, strict=True)]
    if candidates is None:
        return SentencePairs(*sides)
    digests = {"vocabulary": vocabularies[1].digest, "source": text_digest(lines[0])}
    sets = CandidateSets.load(candidates, **digests, reference=text_digest(lines[1]))
    if len(sets) != len(sides[0]):
        raise UserError(
            f"{candidates}: target vocabularies of {len(sets)} sentences, but {source} has {len(sides[0])}; "
            "run the vocabularies stage on this text"
        )
    return SentencePairs(*sides, sets)
