"""What finished runs tell: the lines, ratios and hazards that plans are made with."""

import logging
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import huber

from neural_smt.experiment.configuration import read_configuration
from neural_smt.experiment.systems import Systems
from neural_smt.io.tables import read_frame
from neural_smt.planning.forecasts import HAZARDS, START, Experiment, Line, Quantities, Throughputs, costs
from neural_smt.planning.jobs import Job, complete_configuration, list_jobs, whole_target
from neural_smt.planning.sizes import RATIOS, Sizes, count_text, disk_use, measure_sizes
from neural_smt.workflow.job_usage import read_benchmark

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Run:
    """A finished experiment: its complete configuration, its jobs, its sizes, and its results' folder."""

    config: Mapping[str, Any]
    jobs: Sequence[Job]
    sizes: Sizes
    iterations: Mapping[str, int]
    folder: Path

    @property
    def name(self) -> str:
        """The experiment's name."""
        return self.config["experiment"]

    def path(self, path: str) -> Path:
        """Where a file of a job lies."""
        return self.folder / Path(path).relative_to(Path("results") / self.name)


def read_runs(*, results: list[Path], snakefile: Path = Path("Snakefile")) -> list[Run]:
    """The finished runs in these folders (``results/news``): those of experiments that stand beside the Snakefile."""
    base = Path(snakefile).parent
    files = [base / "config.yaml", *sorted((base / "experiments").glob("*.yaml"))]
    # a file that only changes settings of another experiment has no name
    declared = {read_configuration([path]).get("experiment"): path for path in files if path.is_file()}
    runs = []
    for folder in results:
        if folder.name not in declared:
            logger.warning("%s: left out, for no experiment beside the Snakefile has that name", folder)
        elif (folder / "benchmarks").is_dir():
            config = complete_configuration(snakefile, [declared[folder.name]], {})
            jobs = list_jobs(snakefile, config, whole_target(config))
            runs.append(Run(config, jobs, measure_sizes(folder, config), count_iterations(folder), Path(folder)))
            logger.info("%s: %d jobs", folder, len(jobs))
    return runs


def count_iterations(folder: Path) -> dict[str, int]:
    """Rows of histories and curves: iterations of tuning runs, validations or epochs of networks, by their folder."""
    paths = [path for pattern in ("tuning/*/run*/history.csv", "training/*/curve.csv") for path in folder.glob(pattern)]
    return {str(path.parent.relative_to(folder)): count_text(path)[0] - 1 for path in paths}


def observe(run: Run) -> pd.DataFrame:
    """What the jobs of a run took, a row each: experiment, rule, benchmark, and for each cost (CPU seconds, MB, bytes)
    its value and the quantity that it grows with.

    Jobs that wrote no benchmark, or one of a part of their work, are left out; disk is missing where files are gone.
    """
    experiment = Experiment(run.config, run.sizes, iterations=run.iterations)
    rows = []
    for job in run.jobs:
        if not job.benchmark or not run.path(job.benchmark).is_file():
            continue
        outputs = [run.path(output) for output in job.outputs]
        wall, seconds, memory = read_benchmark(run.path(job.benchmark))
        if any(logged_seconds(output) > RESUMED * wall for output in outputs):
            continue
        disk = sum(map(disk_use, outputs)) if all(output.exists() for output in outputs) else math.nan
        quantities = Quantities(job, experiment)
        row: dict[str, Any] = {"experiment": run.name, "rule": quantities.entry, "benchmark": job.benchmark}
        cost = costs()[quantities.entry]
        amounts = [quantities.value(one) for one in (cost.cpu, cost.memory, cost.disk)]
        for kind, value, amount in zip(START, (seconds, memory, disk), amounts, strict=True):
            row |= {kind: value, f"{kind} quantity": amount}
        rows.append(row)
    return pd.DataFrame(rows)


RESUMED = 1.15
"""A job whose own record has so many times the seconds of its benchmark was killed on the way, and went on."""


def logged_seconds(path: Path) -> float:
    """Seconds that a job records itself, over all its starts: in the curve of a training, the history of a tuning.

    0 for another file; infinite where the curve or history is missing, so that a benchmark cannot be attributed.
    """
    if path.name not in ("curve.csv", "history.csv"):
        return 0.0
    if not path.is_file():
        return math.inf
    if path.name == "curve.csv":
        return read_frame(path, numbers="seconds")["seconds"].max()
    return read_frame(path, numbers="decode_seconds mert_seconds")[["decode_seconds", "mert_seconds"]].sum().sum()


def fit_throughputs(runs: Sequence[Run], known: Throughputs | None = None) -> Throughputs:
    """The throughputs that finished runs tell; of what they do not have, those that are known stay."""
    known = known or Throughputs({})
    lines = fit_lines(pd.concat([observe(run) for run in runs]), known.lines) if runs else {}
    return Throughputs(
        merge_lines(known.lines, lines),
        measure_ratios(runs, known.ratios),
        measure_hazards(runs, known.hazards),
        tuple(sorted({*known.experiments, *(run.name for run in runs)})),
        gpu=known.gpu,
    )


def merge_lines(
    known: Mapping[str, Mapping[str, Line]], lines: Mapping[str, Mapping[str, Line]]
) -> dict[str, dict[str, Line]]:
    """The lines of both, in the order of their rules; the latter hold where both have one."""
    return {rule: {**known.get(rule, {}), **lines.get(rule, {})} for rule in sorted({*known, *lines})}


START_SHARE = 0.3
"""What the start of a job counts among its observations, of which all jobs of an experiment are one."""

_LEAST = {"cpu": 0.3, "memory": 20.0, "disk": 1e3}


def fit_lines(observations: pd.DataFrame, known: Mapping[str, Mapping[str, Line]]) -> dict[str, dict[str, Line]]:
    """The lines of every rule that was observed, out of rows such as ``observe`` makes.

    Every experiment counts alike, however many jobs of it there are. Where no job had work to do, as where nothing is
    selected, what work takes was not seen: there is no line if ``known`` ones tell it.
    """
    lines: dict[str, dict[str, Line]] = {}
    for rule, seen in observations.groupby("rule"):
        for kind, least in _LEAST.items():
            table = seen.dropna(subset=[kind])
            if table.empty:
                continue
            amounts, measured = table[f"{kind} quantity"].to_numpy(), table[kind].clip(lower=least).to_numpy()
            weights = 1 / table.groupby("experiment")["rule"].transform("size").to_numpy()
            if amounts.any():
                # jobs of one size do not tell what is fixed of what grows: without work there is only the start
                start = costs()[str(rule)].start if kind == "memory" else START[kind].fixed
                amounts, measured = np.append(amounts, 0.0), np.append(measured, start)
                weights = np.append(weights, START_SHARE)
            elif known.get(str(rule), {}).get(kind, START[kind]).rate:
                continue
            lines.setdefault(str(rule), {})[kind] = fit_line(amounts, measured, weights)
    return lines


def fit_line(amounts: np.ndarray, measured: np.ndarray, weights: np.ndarray) -> Line:
    """The line through ``measured`` over ``amounts`` whose relative errors are least; neither part is negative.

    weights: of the jobs. Errors are ratios, the same in both directions; from a quarter on they count by their size and
    not by its square (Huber), so that disturbed jobs change little.
    """
    scale = amounts.max() or 1.0
    logs = np.log(measured)

    def loss(line: np.ndarray) -> float:
        fixed, slope = np.exp(np.clip(line, -50, 50))
        return weights @ huber(0.25, np.log(fixed + slope * amounts / scale) - logs)

    if not amounts.any():
        found = minimize(lambda fixed: loss(np.array([fixed[0], -50])), [np.median(logs)], method="Nelder-Mead")
        return Line(float(f"{math.exp(found.x[0]):.4g}"), 0.0)
    starts = [(logs.min(), logs.max()), (logs.max(), logs.min()), (np.median(logs), logs.max() - 5)]
    options = {"xatol": 1e-9, "fatol": 1e-13, "maxiter": 2000}
    found = min((minimize(loss, start, method="Nelder-Mead", options=options) for start in starts), key=lambda f: f.fun)
    fixed, slope = np.exp(np.clip(found.x, -50, 50))
    return Line(float(f"{fixed:.4g}"), float(f"{slope / scale:.4g}") if slope > 1e-6 * fixed else 0.0)


def measure_ratios(runs: Iterable[Run], known: Mapping[str, float] = RATIOS) -> dict[str, float]:
    """``RATIOS`` of finished runs: the geometric mean over those that tell something of each, else the known one."""
    table = pd.DataFrame([_ratios(run) for run in runs], columns=list(RATIOS), dtype=float)
    means = np.exp(np.log(table.where(table > 0)).mean()).fillna(pd.Series(dict(known)))
    return {name: float(f"{means[name]:.4g}") for name in RATIOS}


def _ratios(run: Run) -> dict[str, float]:
    sizes, corpus = run.sizes, run.config["corpus"]
    pool, in_domain = sizes.kept["train"], sizes.kept["in_domain"]
    found: dict[str, float] = {}
    read = [sizes.sources[name] for name in corpus["train"] if name in sizes.sources]
    if len(read) == len(corpus["train"]) and pool.lines:
        found["kept lines"] = pool.lines / sum(text.lines for text in read)
        found["kept words"] = pool.both / sum(text.both for text in read)
    if "selected" not in sizes.data:
        return found
    selected = sizes.data["selected"]
    if run.config["selection"]["method"] != "none":
        found["selected lines"] = (selected.lines - in_domain.lines) / pool.lines
        found["selected words"] = (selected.both - in_domain.both) / pool.both
    found["rows per word"] = sizes.rows["selected"] / selected.target
    found["sources per row"] = sizes.sources_of_rows["selected"] / max(sizes.rows["selected"], 1)
    found["n-grams per word"] = sizes.ngrams["selected"] / sizes.language_model_words("selected")
    words = sum(text.target for text in sizes.kept.values())
    found["types"] = sizes.types[run.config["languages"]["target"]] / words**0.5
    return found


def measure_hazards(runs: Iterable[Run], known: Mapping[str, float] = HAZARDS) -> dict[str, float]:
    """``HAZARDS`` of finished runs: ends before the last iteration, over the iterations that might have been ends; what
    is known counts as one end.
    """
    ends, chances = dict.fromkeys(HAZARDS, 1.0), {name: 1 / known[name] for name in HAZARDS}
    for run in runs:
        for key, count in run.iterations.items():
            kind, most = _loop(run, key)
            if kind:
                ends[kind] += count < most
                chances[kind] += min(count, most - 1)
    return {name: float(f"{ends[name] / chances[name]:.4g}") for name in HAZARDS}


def _loop(run: Run, key: str) -> tuple[str, int]:
    """The hazard of a loop, '' for none, and its iterations at most."""
    stage, name = key.split("/")[:2]
    if stage == "training":
        settings = run.config["networks"].get(name, {})
        return ("epochs", settings["epochs"]) if settings.get("kind") == "recurrent" else ("", 0)
    if name not in run.config["systems"]:
        return "", 0
    kinds = {None: "tuning", "lists": ""}
    return kinds.get(Systems(run.config).rescored_candidates(name), "choosing"), run.config["tuning"]["iterations"]
