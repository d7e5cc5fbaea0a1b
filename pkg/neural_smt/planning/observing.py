"""What finished runs tell: time and memory from Snakemake's benchmarks, disk from their files, sizes and ratios."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neural_smt.configuration import complete
from neural_smt.declared_networks import networks_of_kind
from neural_smt.errors import UserError
from neural_smt.io.files import read_csv
from neural_smt.planning.experiment import HAZARDS, Experiment
from neural_smt.planning.jobs import Job, list_jobs, read_configuration
from neural_smt.planning.sizes import RATIOS, Sizes, count_text, measure_sizes
from neural_smt.planning.throughputs import Observation
from neural_smt.planning.work import WORK
from neural_smt.systems import rescores_lattices, translation
from neural_smt.workflow.job_usage import number, read_benchmark


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


def complete_configuration(snakefile: Path, configfiles: Sequence[Path], changes: Mapping[str, Any]) -> dict[str, Any]:
    """An experiment's configuration, checked, with its defaults."""
    if not Path(snakefile).is_file():
        raise UserError(f"{snakefile}: no such file; run this where the Snakefile is, or name it with --snakefile")
    return complete(read_configuration(configfiles, changes))


def whole_target(config: Mapping[str, Any]) -> str:
    """The target that leads to all systems of an experiment."""
    if any(translation(system) for system in config["systems"].values()):
        return "mi2016"
    lattices = any(rescores_lattices(config, name) for name in config["systems"])
    return "auli2013" if lattices else "all"


def read_run(snakefile: Path, configfiles: Sequence[Path], folder: Path) -> Run:
    """A run by its experiment's files and the folder of its results."""
    config = complete_configuration(snakefile, configfiles, {})
    jobs = list_jobs(snakefile, config, whole_target(config))
    return Run(config, jobs, measure_sizes(folder, config), count_iterations(folder), Path(folder))


def count_iterations(folder: Path) -> dict[str, int]:
    """Rows of histories and curves: iterations of tuning runs, validations or epochs of networks, by their folder."""
    found = {}
    for pattern in ("tuning/*/run*/history.csv", "training/*/curve.csv"):
        for path in Path(folder).glob(pattern):
            found[str(path.parent.relative_to(folder))] = count_text(path)[0] - 1
    return found


def observe(run: Run) -> list[Observation]:
    """What the jobs of a run took; those that wrote no benchmark, or one of a part of their work, are left out."""
    experiment = Experiment(run.config, run.sizes, HAZARDS, run.iterations)
    found = []
    for job in run.jobs:
        path = _below(run, job.benchmark)
        if not job.benchmark or not path.is_file():
            continue
        outputs = [_below(run, output) for output in job.outputs]
        wall, seconds, memory = read_benchmark(path)
        if any(told_seconds(output) > RESUMED * wall for output in outputs):
            continue
        disk = sum(map(disk_use, outputs)) if all(output.exists() for output in outputs) else None
        units = WORK[job.rule].units(job, experiment)
        found.append(Observation(run.name, job.rule, job.benchmark, units, seconds, memory, disk))
    return found


def _below(run: Run, path: str) -> Path:
    return run.folder / Path(path).relative_to(Path("results") / run.name) if path else run.folder


RESUMED = 1.15
"""A job that tells of so many times the seconds of its benchmark was killed on the way, and went on."""


def told_seconds(path: Path) -> float:
    """Seconds that a job itself tells of, over all its starts: in the curve of a training, the history of a tuning.

    0 for another file; without end where curve or history is gone, so that nobody knows what a benchmark is of.
    """
    if path.name not in ("curve.csv", "history.csv"):
        return 0.0
    if not path.is_file():
        return math.inf
    rows = read_csv(path)
    if path.name == "curve.csv":
        return max((number(row.get("seconds", "")) for row in rows), default=0.0)
    return sum(number(row.get("decode_seconds", "")) + number(row.get("mert_seconds", "")) for row in rows)


def disk_use(path: Path) -> float:
    """Bytes of a file, or of all files below a folder."""
    if path.is_dir():
        return float(sum(file.stat().st_size for file in path.rglob("*") if file.is_file()))
    return float(path.stat().st_size) if path.is_file() else 0.0


def measure_ratios(runs: Iterable[Run], known: Mapping[str, float] = RATIOS) -> dict[str, float]:
    """``RATIOS`` of finished runs: the geometric mean over those that tell something of each, else the known one."""
    found: dict[str, list[float]] = {}
    for run in runs:
        for name, value in _ratios(run).items():
            if value > 0:
                found.setdefault(name, []).append(value)
    means = {name: math.exp(sum(map(math.log, values)) / len(values)) for name, values in found.items()}
    return {name: float(f"{means.get(name, known[name]):.4g}") for name in RATIOS}


def _ratios(run: Run) -> dict[str, float]:
    sizes, corpus = run.sizes, run.config["corpus"]
    found: dict[str, float] = {}
    read = [sizes.sources[name] for name in corpus["train"] if name in sizes.sources]
    if len(read) == len(corpus["train"]) and sizes.pool.lines:
        found["kept lines"] = sizes.pool.lines / sum(text.lines for text in read)
        found["kept words"] = sizes.pool.both / sum(text.both for text in read)
    if "selected" not in sizes.data:
        return found
    selected, target = sizes.data["selected"], sizes.target
    if run.config["selection"]["method"] != "none":
        found["selected lines"] = (selected.lines - sizes.in_domain.lines) / sizes.pool.lines
        found["selected words"] = (selected.both - sizes.in_domain.both) / sizes.pool.both
    found["rows per word"] = sizes.rows["selected"] / selected.words[target]
    found["sources per row"] = sizes.sources_of_rows["selected"] / max(sizes.rows["selected"], 1)
    found["n-grams per word"] = sizes.ngrams["selected"] / sizes.language_model_words("selected")
    words = sizes.pool.words[target] + sizes.in_domain.words.get(target, 0) + sizes.monolingual.words.get(target, 0)
    found["types"] = sizes.types[target] / words**0.5
    return found


def measure_hazards(runs: Iterable[Run], known: Mapping[str, float] = HAZARDS) -> dict[str, float]:
    """``HAZARDS`` of finished runs: ends before the last iteration, over the iterations that might have been ends; what
    is known counts as one end.
    """
    ends, chances = dict.fromkeys(HAZARDS, 1.0), {name: 1 / known[name] for name in HAZARDS}
    for run in runs:
        for key, count in run.iterations.items():
            kind, most = _kind(run, key)
            if kind:
                ends[kind] += count < most
                chances[kind] += min(count, most - 1)
    return {name: float(f"{ends[name] / chances[name]:.4g}") for name in HAZARDS}


def _kind(run: Run, key: str) -> tuple[str, int]:
    stage, name = key.split("/")[:2]
    settings = networks_of_kind(run.config, "recurrent")
    if stage == "training":
        return ("epochs", settings[name]["epochs"]) if name in settings else ("", 0)
    if name not in run.config["systems"]:
        return "", 0
    most = run.config["tuning"]["iterations"]
    if rescores_lattices(run.config, name):
        return "choosing", most
    return ("tuning", most) if not run.config["systems"][name].get("rescore") else ("", 0)
