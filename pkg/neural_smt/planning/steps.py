"""Steps of planning: what an experiment will cost, and the rates that this is predicted from."""

import datetime
import logging
import os
import platform
from dataclasses import replace
from pathlib import Path
from typing import Any

from neural_smt.errors import UserError
from neural_smt.io.files import write_json
from neural_smt.planning.accuracy import fit_throughputs
from neural_smt.planning.jobs import read_configuration
from neural_smt.planning.observing import Run, complete_configuration, read_run
from neural_smt.planning.prediction import predict
from neural_smt.planning.schedule import Machine
from neural_smt.planning.summary import render
from neural_smt.planning.throughputs import Throughputs
from neural_smt.report.costs import STAGES

logger = logging.getLogger(__name__)


def plan(
    *,
    configfile: list[Path],
    nodes: int = 1,
    cores: int = 2,
    gpus: int = 0,
    config: dict | None = None,
    target: str = "",
    rules: bool = False,
    throughputs: Path = Path("benchmarks/throughputs.json"),
    snakefile: Path = Path("Snakefile"),
    output: Path | None = None,
) -> None:
    """Predict the time, memory and disk of every rule of an experiment before anyone starts it.

    configfile: the experiment's files, each put over the one before; nodes, cores and gpus: of the machine, the latter
    two of each node, with networks on the GPUs where there are any; config: further settings; target: what is to be
    made (all that the experiment's systems need); rules: tell of every rule, and not of stages; throughputs: rates that
    were measured; output: the plan as JSON.
    """
    changes = dict(config or {})
    machine = Machine(nodes, cores, gpus)
    if gpus:
        changes.setdefault("device", "cuda")
    if not configfile:
        raise UserError("--configfile: none given; name the experiment's configuration")
    whole = complete_configuration(snakefile, configfile, changes)
    made = predict(whole, Throughputs.load(throughputs), snakefile, Path(snakefile).parent, machine, target)
    if output is not None:
        write_json(output, made)
    rates, jobs = made["throughputs"], sum(row["jobs"] for row in made["stages"])
    print(f"{whole['experiment']}: {jobs} jobs; rates of {rates['machine']}, {rates['date']}\n")
    print("\n".join(render(made, rules, STAGES)))


def read_runs(*, results: list[Path], snakefile: Path = Path("Snakefile")) -> list[Run]:
    """The finished runs in these folders (``results/news``): those of experiments that stand beside the Snakefile."""
    base = Path(snakefile).parent
    files = [base / "config.yaml", *sorted((base / "experiments").glob("*.yaml"))]
    declared = {_name(path): path for path in files if path.is_file()}
    runs = []
    for folder in results:
        if folder.name not in declared:
            logger.warning("%s: left out, for no experiment beside the Snakefile has that name", folder)
        elif (folder / "benchmarks").is_dir():
            runs.append(read_run(snakefile, [declared[folder.name]], folder))
            logger.info("%s: %d jobs", folder, len(runs[-1].jobs))
    return runs


def _name(path: Path) -> Any:
    """What an experiment is called; None for a file that only changes settings of another."""
    return read_configuration([path], {}).get("experiment")


def calibrate(
    *, results: list[Path], output: Path = Path("benchmarks/throughputs.json"), snakefile: Path = Path("Snakefile")
) -> None:
    """Fit the rates that plans are made with to finished runs.

    results: folders of results of experiments that stand beside the Snakefile, in which Snakemake's benchmarks are.
    Rates of rules that none of them has run stay in ``output``, where they were measured on this machine.
    """
    runs = read_runs(results=results, snakefile=snakefile)
    if not runs:
        raise UserError("--results: no finished run among them; give folders such as results/multi30k")
    known = Throughputs.load(output) if Path(output).is_file() else None
    here, today = machine_name(), datetime.date.today().isoformat()
    fitted = fit_throughputs(runs, known if known and known.machine == here else None)
    replace(fitted, machine=here, date=today).save(output)


def machine_name() -> str:
    """Processor and cores of this machine."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text(encoding="utf-8").splitlines() if cpuinfo.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.processor() or platform.machine()}, {os.cpu_count()} cores"
