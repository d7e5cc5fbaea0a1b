"""Rates of every rule's units, fitted to what finished jobs took, and kept in a file."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import scipy.optimize

from neural_smt.errors import UserError
from neural_smt.io.files import read_json, write_json
from neural_smt.planning.experiment import HAZARDS
from neural_smt.planning.sizes import RATIOS
from neural_smt.planning.work import WORK

FIXED = "fixed"
"""In place of a unit's name: what every job of a rule costs."""

QUANTITIES = ("time", "memory", "disk")
"""Processor seconds, MB, bytes."""

Rates = dict[str, dict[str, float]]

START = {"time": {FIXED: 0.8}, "memory": {FIXED: 200.0}, "disk": {FIXED: 1e4}}
"""What a job costs of which nothing is known but that it starts Python."""


START_SHARE = 0.3
"""What this counts among observations, of which all jobs of an experiment are one."""


@dataclass(frozen=True)
class Observation:
    """What a finished job took: its units of work, and the three quantities; benchmark: where they stand; disk:
    None where its files are gone."""

    experiment: str
    rule: str
    benchmark: str
    units: Mapping[str, float]
    time: float
    memory: float
    disk: float | None


@dataclass(frozen=True)
class Throughputs:
    """Rates by rule and quantity: of what is fixed, and of each unit; with the ratios that sizes follow by.

    ``experiments``: those that they were measured with; ``machine`` and ``date``: on what, and when.
    """

    rates: Mapping[str, Rates]
    ratios: Mapping[str, float] = field(default_factory=lambda: dict(RATIOS))
    hazards: Mapping[str, float] = field(default_factory=lambda: dict(HAZARDS))
    experiments: tuple[str, ...] = ()
    machine: str = ""
    date: str = ""

    def of(self, rule: str, quantity: str) -> tuple[Mapping[str, float], str]:
        """The rates of a rule, and whose they are: its own, those of a rule like it, or ('') of a start of Python."""
        while rule and not self.rates.get(rule, {}).get(quantity):
            rule = WORK[rule].like
        return (self.rates[rule][quantity] if rule else START[quantity]), rule

    def save(self, path: Path) -> None:
        """Write as JSON."""
        write_json(path, asdict(self))

    @classmethod
    def load(cls, path: Path) -> "Throughputs":
        """Read what ``save`` wrote; ``UserError`` for another file."""
        read = read_json(path)
        try:
            return cls(**{**read, "experiments": tuple(read["experiments"])})
        except (TypeError, KeyError):
            raise UserError(f"{path}: not a file of throughputs; write one with `make bench`") from None


def fit_rates(observations: Sequence[Observation]) -> dict[str, Rates]:
    """The rates of every rule that was observed, none negative, that predict best in relation to what was measured."""
    rules: dict[str, list[Observation]] = {}
    for observation in observations:
        rules.setdefault(observation.rule, []).append(observation)
    return {rule: {quantity: _fit(seen, quantity) for quantity in QUANTITIES} for rule, seen in sorted(rules.items())}


_LEAST = {"time": 0.3, "memory": 20.0, "disk": 1e3}


def _fit(seen: Sequence[Observation], quantity: str) -> dict[str, float]:
    rule, seen = seen[0].rule, [one for one in seen if getattr(one, quantity) is not None]
    if not seen:
        return {}
    names = [FIXED, *getattr(WORK[rule], quantity)]
    measured = np.array([max(getattr(one, quantity), _LEAST[quantity]) for one in seen])
    amounts = np.array([[1.0, *(one.units.get(name, 0.0) for name in names[1:])] for one in seen])
    # every experiment counts alike, however many jobs of it there are
    jobs = Counter(one.experiment for one in seen)
    shares = np.array([1 / jobs[one.experiment] for one in seen])
    if len(names) > 1:
        # jobs of one size do not tell what is fixed of what grows: without work there is only the start
        amounts = np.vstack([amounts, np.eye(1, len(names))])
        start = WORK[rule].start if quantity == "memory" else START[quantity][FIXED]
        measured, shares = np.append(measured, start), np.append(shares, START_SHARE)
    rates = fit_relative(amounts, measured, shares)
    return {name: float(f"{rate:.4g}") for name, rate in zip(names, rates, strict=True) if rate > 0 or name == FIXED}


def fit_relative(amounts: np.ndarray, measured: np.ndarray, shares: np.ndarray, rounds: int = 12) -> np.ndarray:
    """Non-negative x so that ``amounts @ x`` is close to ``measured`` by its ratio, whatever the outliers.

    amounts: (jobs, units); measured: (jobs,), positive; shares: (jobs,) weights. Least squares of the relative errors,
    weighted anew in each round so that large errors count by their size and not by its square (Huber's weights, from
    0.25 on), and that errors count alike in both directions.
    """
    scaled = amounts / measured[:, None]
    units = scaled.max(axis=0)
    units[units == 0] = 1.0
    weights = shares.copy()
    found = np.zeros(amounts.shape[1])
    for _ in range(rounds):
        root = np.sqrt(weights)
        found, _ = scipy.optimize.nnls(scaled / units * root[:, None], root)
        ratio = np.maximum(scaled / units @ found, 1e-3)
        error = np.abs(np.log(ratio))
        linear = np.maximum(np.abs(ratio - 1), 1e-6)
        weights = shares * (np.minimum(error, 0.25) * error / linear**2).clip(1e-4, 1e4)
        weights[error < 1e-6] = shares[error < 1e-6]
    return found / units
