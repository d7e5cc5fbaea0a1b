"""The training stage: from text or a phrase table to a trained network, and how well it predicts texts.

A kind of network is a module of this package, called as in the configuration: its function ``prepare`` reads what the
network is trained on and makes it, and ``measure``, if it has one, yields the names of texts and the figures of each
under a trained network.
"""

import importlib
import logging
from pathlib import Path
from typing import Any

from neural_smt.errors import UserError
from neural_smt.experiment.settings import network_settings
from neural_smt.io.files import write_json
from neural_smt.networks.device import describe_device, select_device
from neural_smt.training.launch import in_processes
from neural_smt.training.learning_curve import plot_curve, write_curve
from neural_smt.training.loop import Trainer, held_out_perplexity
from neural_smt.training.processes import Processes
from neural_smt.training.snapshots import Snapshots
from neural_smt.workflow.invoke import invoke, parameters

log = logging.getLogger(__name__)


@in_processes
def train_network(
    *,
    kind: str,
    inputs: dict[str, Any],
    settings: dict[str, Any],
    device: str,
    seed: int,
    output: Path,
    curve: Path,
    plot: Path,
    held_out: Path,
    state: Path,
    epochs: Path | None = None,
    by_epoch: bool = False,
    title: str = "",
    processes: int = 1,
    graphs: bool = False,
) -> None:
    """Train a network of some kind: ``encoder_decoder``, ``cslm``, ``recurrent`` or ``attention``.

    inputs: the files it is trained on, by name, see ``prepare`` of the kind's module; settings: see the kind in the
    schema; device: auto, cpu or cuda; processes: see ``launch``; graphs: whether updates on a GPU are captured.
    Writes the model folder, the learning curve as CSV and PNG, what there is to tell of the network (its perplexity of
    held-out examples) as JSON, and checkpoints into ``state``: a run that was killed goes on from there and ends with
    the same model. epochs: a folder for the models after each epoch (``1``, ``2``, ...), whatever ``keep`` says; empty
    unless ``by_epoch``. title: of the plot.
    """
    place = select_device(device)
    by_epoch = by_epoch and epochs is not None
    given = {"settings": network_settings(kind, settings), "place": place, "seed": seed}
    training = _call(kind, "prepare", inputs, given)
    if not training.task.validation and (training.settings.patience or training.settings.keep == "best"):
        raise UserError("training: patience and keep: best need held-out examples, and there are none; hold out more")
    log.info("training on %s", describe_device(place))
    run = training.fingerprint(seed, place.type, by_epoch)

    def keep(folder: Path, epoch: int) -> None:
        training.save(folder, epoch * training.task.updates_per_epoch)

    snapshots = Snapshots(state, run, keep)
    kept = snapshots.keep if by_epoch else None
    arguments = training.task, training.settings, Path(state), run, training.optimiser, training.schedule, kept
    records = Trainer(*arguments, graphs=graphs).train()
    if not Processes.current().first:
        return
    training.save(output, None)
    report = training.report(records) if training.report else held_out_perplexity(records, training.settings.keep)
    if epochs is not None:
        snapshots.publish(epochs, records[-1].updates // training.task.updates_per_epoch if by_epoch else 0)
    snapshots.forget_other_runs()
    write_curve(curve, records)
    plot_curve(plot, records, title or kind)
    write_json(held_out, report)


def measure_network(
    *, kind: str, inputs: dict[str, Any], settings: dict[str, Any], device: str = "auto", output: Path
) -> None:
    """Perplexities of tokenised texts under a trained network, beside an n-gram model, as JSON.

    inputs: the model, the texts and what else is read, by name, see ``measure`` of the kind's module; settings: those
    that the network was trained with, of which ``precision`` and ``ngram_order`` are read.
    """
    given = {"settings": network_settings(kind, settings), "place": select_device(device)}
    write_json(output, dict(_call(kind, "measure", inputs, given)))


def _call(kind: str, name: str, inputs: dict[str, Any], given: dict[str, Any]) -> Any:
    """Call a function of a kind's module with its inputs; ``UserError`` where these are not the ones that it takes."""
    function = getattr(importlib.import_module(f"neural_smt.training.{kind}"), name)
    known = parameters(function)
    missing = [key for key, p in known.items() if p.default is p.empty and key not in {**inputs, **given}]
    unknown = [key for key in inputs if key not in known]
    for keys, fault in ((missing, "lack"), (unknown, "have an unknown")):
        if keys:
            raise UserError(f"inputs of a network of kind {kind} {fault} '{keys[0]}'; give {', '.join(known)}")
    return invoke(function, inputs, given)
