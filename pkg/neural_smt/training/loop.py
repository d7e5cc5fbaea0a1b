"""The training loop of every network: update, validate, checkpoint, resume."""

import logging
import math
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from neural_smt.experiment.settings import Settings
from neural_smt.io.checkpoint import Checkpoint, fingerprint, load_checkpoint, save_checkpoint
from neural_smt.io.ragged import Ragged
from neural_smt.networks.device import (
    Staged,
    multiplies_in_tiles,
    precision_context,
    repeatable,
    trained_by_onednn,
    uploaded,
)
from neural_smt.training.graphs import Graphs
from neural_smt.training.learning_curve import Record
from neural_smt.training.processes import Processes, sum_gradients
from neural_smt.training.tasks import Minibatch, Task
from neural_smt.training.weight_averaging import WeightMean

log = logging.getLogger(__name__)

UNDECIDED = "updates", "epochs", "ngram_order"
"""Settings that do not decide on the weights after an update: how long a run goes, and what it is compared with."""


class Optimiser(Protocol):
    """How weights follow their gradients.

    update: take a step along the gradients that lie with the parameters, and return their norm; tensors, load: its
    state by name for a checkpoint, and back after so many updates.
    """

    def update(self) -> float: ...

    def tensors(self) -> dict[str, Tensor]: ...

    def load(self, tensors: dict[str, Tensor], updates: int) -> None: ...


class Schedule(Protocol):
    """Steers an optimiser from one validation to the next.

    follow: set the optimiser to what the validation perplexities so far ask for; false ends the training. A function of
    the perplexities alone, so that a resumed run needs no more. After a validation that is not the best one, training
    goes on from the best weights.
    """

    def follow(self, perplexities: list[float]) -> bool: ...


@dataclass(frozen=True)
class Training:
    """A network that is about to be trained, as its kind prepares it.

    settings: those of the loop among them: updates in all, validate_every (0 for once an epoch) and checkpoint_every,
    in updates; patience, validations without a better perplexity before training stops (0 never stops); keep, the
    weights at the end, ``last`` or ``best`` on the held-out examples; precision.
    decided_by, data: what decides on the weights beside the settings (``UNDECIDED`` left out); only a run of which all
    of that is the same is gone on with. schedule: see ``Trainer``.
    save: write the model folder, after so many updates or (None) at the end; report: what is told of the network.
    """

    task: Task
    optimiser: Optimiser
    settings: Settings
    decided_by: list[Any]
    data: Sequence[np.ndarray | Ragged]
    save: Callable[[Path, int | None], None]
    schedule: Schedule | None = None
    report: Callable[[Sequence[Record]], dict[str, Any]] | None = None

    def fingerprint(self, *others: Any) -> str:
        """Of all that decides on where a run is after an update: with more updates it may go on from where it ended."""
        decided = {name: value for name, value in self.settings.as_dict().items() if name not in UNDECIDED}
        return fingerprint([decided, self.decided_by, *others], *self.data)


def held_out_perplexity(records: Sequence[Record], keep: str, name: str = "network") -> dict[str, Any]:
    """``name``: the perplexity of the held-out examples under the weights that are kept; nothing without any."""
    validated = [record.validation_perplexity for record in records if record.validation_perplexity is not None]
    return {name: min(validated) if keep == "best" else validated[-1]} if validated else {}


@dataclass
class Progress:
    """How far a run is. cost: nats, and words: predicted words, both since the last record; stale: validations since
    the best one; non_finite: updates whose gradient was not finite.
    """

    updates: int = 0
    examples: int = 0
    seconds: float = 0.0
    cost: float = 0.0
    words: int = 0
    best: float = math.inf
    stale: int = 0
    non_finite: int = 0
    records: list[Record] = field(default_factory=list)


@dataclass
class Trainer:
    """Trains the network of ``task`` in place; ``state`` keeps checkpoints of the run with this ``fingerprint``.

    Everything random is a function of the seed and the number of the update, so weights, optimiser and ``Progress``
    are all that a run needs to go on where it was and end as if it had never been stopped. schedule: needs
    ``settings.keep`` best; epoch_ended: is told the number of every epoch, from 1, after its last update, and again by
    a run that goes on from before, while the network has the weights of the model, which are the mean of its own with
    ``settings.average_weights``. graphs: whether updates on a GPU are captured (``Graphs``).
    Of several processes (``Processes``) each differentiates its share of a minibatch; all take the same steps, and the
    first one writes. Their number decides on rounding alone.
    """

    task: Task
    settings: Settings
    state: Path
    fingerprint: str
    optimiser: Optimiser
    schedule: Schedule | None = None
    epoch_ended: Callable[[int], None] | None = None
    graphs: bool = False
    progress: Progress = field(default_factory=Progress)
    best_weights: dict[str, Tensor] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.network = self.task.network
        self.parameters = dict(self.network.named_parameters())
        self.mean = WeightMean(self.parameters, self.settings.as_dict().get("average_weights", False))
        self.device = next(self.network.parameters()).device
        self.processes = Processes.current()
        # on a GPU the minibatch of an update is packed while the one before is at work
        self._ahead: dict[int, Future[tuple[Minibatch, Staged]]] = {}
        on_gpu = self.device.type != "cpu"
        self._threads = ThreadPoolExecutor(2) if on_gpu else None
        self._graphs = Graphs(self._differentiate, self.parameters) if on_gpu and self.graphs else None
        self.in_tiles = (
            not on_gpu and self.task.in_tiles and self.settings.precision != "fp32" and multiplies_in_tiles()
        )
        # tiles round by themselves
        self._precision = "fp32" if self.in_tiles else self.settings.precision
        compiled = self.in_tiles or (not on_gpu and trained_by_onednn())
        self.task.filled = "rows" if self._graphs else "tiles" if compiled else ""
        # what updates have cost, which may still be on a GPU, and the examples and words of this process since
        self._cost = torch.zeros((), dtype=torch.float64, device=self.device)
        self._seen = [0, 0]
        # a checkpoint is written while a GPU goes on; what waits until the last one is
        self._written: Callable[[], object] = lambda: None
        self.validate_every = self.settings.validate_every or self.task.updates_per_epoch

    def products(self) -> AbstractContextManager[None]:
        """What updates multiply by (``repeatable``)."""
        return repeatable(self.device, self.in_tiles)

    def train(self) -> list[Record]:
        """Go on from the checkpoint, if there is one, to the end; returns the learning curve.

        The network then holds the weights that ``settings.keep`` asks for.
        """
        with self.products(), self._threads or nullcontext():
            records = self._train()
            self._written()
            return records

    def _train(self) -> list[Record]:
        settings, progress = self.settings, self._restore()
        self.processes.start_alike(f"{self.fingerprint} {progress.updates}", self.parameters)
        began = time.perf_counter() - progress.seconds
        epoch_ended = self.epoch_ended if self.processes.first else None
        interactive = sys.stderr.isatty() and self.processes.first
        with tqdm(total=settings.updates, initial=progress.updates, unit="update", disable=not interactive) as bar:
            while progress.updates < settings.updates and not self._exhausted():
                self.update()
                bar.update()
                progress.seconds = time.perf_counter() - began
                if epoch_ended and progress.updates % self.task.updates_per_epoch == 0:
                    with self.mean.shown():
                        epoch_ended(progress.updates // self.task.updates_per_epoch)
                if progress.updates % self.validate_every == 0:
                    record = self._validate()
                    bar.set_postfix(cost=f"{record.train_cost:.3f}", perplexity=record.validation_perplexity)
                    if self.schedule and progress.stale and self.best_weights:
                        self.network.load_state_dict(self.best_weights)
                if progress.updates % settings.checkpoint_every == 0:
                    self._save()
        # Saved before the closing record: with more updates the run can go on as if this end had not been planned.
        self._save()
        progress.seconds = time.perf_counter() - began
        if not progress.records or progress.records[-1].updates < progress.updates:
            self._validate()
        if progress.non_finite:
            log.warning("%d updates had a gradient that was not finite", progress.non_finite)
        if settings.keep == "best" and self.best_weights:
            self.network.load_state_dict(self.best_weights)
        else:
            self.mean.put()
        return progress.records

    def perplexity(self) -> float | None:
        """Perplexity per predicted word of the held-out examples, end symbols included; None without any."""
        batches = self.task.validation
        if not batches:
            return None
        totals = [0.0] * len(batches)
        with torch.no_grad(), precision_context(self.device, self._precision):
            for number in range(len(batches))[self.processes.share]:
                inputs = uploaded(batches[number].inputs, self.device)
                totals[number] = self.network(inputs).double().sum().item()
        entropy = -sum(self.processes.total(*totals)) / sum(batch.words for batch in batches)
        return torch.tensor(entropy, dtype=torch.float64).exp().item()  # may be infinite

    def update(self) -> None:
        """One minibatch: cost, gradient, step."""
        progress, number = self.progress, self.progress.updates
        self.task.begin(number)
        for parameter in self.parameters.values():
            parameter.grad = None
        if self._threads is None:
            batch = self.task.minibatch(number, self.processes.share)
            if batch.examples:
                self._differentiate(batch.inputs, batch.divisor)
        else:
            ahead = self._ahead.pop(number, None)
            batch, staged = ahead.result() if ahead else self._pack(number)
            if batch.examples and self._graphs:
                self._graphs(staged, batch.divisor)
            elif batch.examples:
                self._differentiate(staged.on(self.device), batch.divisor)
            if number + 1 < self.settings.updates:
                self._ahead = {number + 1: self._threads.submit(self._pack, number + 1)}
        if self.processes.size > 1:
            sum_gradients(self.parameters)
        if not math.isfinite(self.optimiser.update()):
            progress.non_finite += 1
        progress.updates += 1
        self.mean.follow(progress.updates)
        self._seen = [self._seen[0] + batch.examples, self._seen[1] + batch.words]
        if self.device.type == "cpu":
            self._settle()

    def _pack(self, number: int) -> tuple[Minibatch, Staged]:
        """The minibatch of an update, or the share of this process, and its way to a GPU."""
        batch = self.task.minibatch(number, self.processes.share)
        return batch, Staged.of(batch.inputs)

    def _differentiate(self, inputs: Any, divisor: int) -> None:
        """Leave the gradient of a minibatch's cost with the parameters, and add the cost to those before."""
        with precision_context(self.device, self._precision):
            cost = -self.network(inputs).sum()
        (cost / divisor).backward()
        self._cost += cost.detach()

    def _settle(self) -> None:
        """Add to the progress what updates have cost and seen since, in all processes."""
        progress = self.progress
        nats, examples, words = self.processes.total(self._cost.item(), *self._seen)
        progress.cost += nats
        progress.examples += int(examples)
        progress.words += int(words)
        self._cost.zero_()
        self._seen = [0, 0]

    def _validate(self) -> Record:
        """Add a record to the learning curve, log it, and remember the best weights."""
        self._settle()
        progress = self.progress
        with self.mean.shown():
            perplexity = self.perplexity()
            progress.stale += 1
            if perplexity is not None and perplexity < progress.best:
                progress.best, progress.stale = perplexity, 0
                if self.settings.keep == "best":
                    self.best_weights = {name: tensor.clone() for name, tensor in self.network.state_dict().items()}
        cost = progress.cost / max(progress.words, 1)
        words = progress.words + (progress.records[-1].words if progress.records else 0)
        epochs = progress.updates / self.task.updates_per_epoch
        record = Record(progress.updates, progress.examples, progress.seconds, cost, perplexity, words, epochs)
        progress.records.append(record)
        progress.cost, progress.words = 0.0, 0
        figures = cost, "none" if perplexity is None else f"{perplexity:.2f}", record.seconds
        shape = "update %d of %d: %.3f nats per word, validation perplexity %s, %.0f s"
        log.info(shape, record.updates, self.settings.updates, *figures)
        return record

    def _exhausted(self) -> bool:
        if self.schedule is not None:
            records = self.progress.records
            found = [record.validation_perplexity for record in records if record.validation_perplexity is not None]
            if not self.schedule.follow(found):
                return True
        return 0 < self.settings.patience <= self.progress.stale

    def _save(self) -> None:
        self._settle()
        if not self.processes.first:
            return
        tensors = {f"weights/{name}": tensor for name, tensor in self.network.state_dict().items()}
        tensors |= {f"best/{name}": tensor for name, tensor in self.best_weights.items()}
        tensors |= {f"mean/{name}": tensor for name, tensor in self.mean.tensors.items()}
        tensors |= {f"optimiser/{name}": tensor for name, tensor in self.optimiser.tensors().items()}
        fetched = {name: tensor.cpu().numpy() for name, tensor in tensors.items()}
        arguments = self.state, self.fingerprint, Checkpoint(fetched, asdict(self.progress))
        if self._threads is None:
            save_checkpoint(*arguments)
            return
        self._written()
        self._written = self._threads.submit(save_checkpoint, *arguments).result

    def _restore(self) -> Progress:
        checkpoint = load_checkpoint(self.state, self.fingerprint)
        if checkpoint is not None and checkpoint.progress["updates"] <= self.settings.updates:
            groups: dict[str, dict[str, Tensor]] = {"weights": {}, "best": {}, "mean": {}, "optimiser": {}}
            for key, values in checkpoint.arrays.items():
                group, _, name = key.partition("/")
                groups[group][name] = torch.from_numpy(values).to(self.device)
            self.progress = Progress(**checkpoint.progress)
            self.progress.records = [Record(*record) for record in self.progress.records]
            self.network.load_state_dict(groups["weights"])
            self.best_weights = groups["best"]
            self.mean.tensors = groups["mean"]
            self.optimiser.load(groups["optimiser"], self.progress.updates)
            log.info("going on after update %d", self.progress.updates)
        return self.progress
