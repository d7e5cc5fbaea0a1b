"""Plans: what an experiment will take, by stage or rule, as a table and as data; when its jobs would run; the rates."""

import datetime
import heapq
import math
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import pandas as pd

from neural_smt import STAGES
from neural_smt.corpus.fetching import find, is_url, published_name
from neural_smt.corpus.sources import archive_name, collect_archives, published_sources
from neural_smt.corpus.steps import extract_member, fetch, fetch_archive
from neural_smt.errors import UserError
from neural_smt.io.files import write_json
from neural_smt.planning.forecasts import Forecast, Throughputs, forecast_jobs, table
from neural_smt.planning.jobs import complete_configuration, dependencies, list_jobs, whole_target
from neural_smt.planning.sizes import expect_sizes, quantity
from neural_smt.report.pages import render
from neural_smt.workflow.inputs import Inputs


@dataclass(frozen=True)
class Machine:
    """Nodes that are all alike; gpus: of each."""

    nodes: int
    cores: int
    gpus: int

    def __post_init__(self) -> None:
        if self.nodes < 1 or self.cores < 1 or self.gpus < 0:
            raise UserError(
                "--nodes, --cores, --gpus: a plan needs at least one node and one core, and no negative number of GPUs"
                "; give others"
            )


def _remaining(forecasts: Sequence[Forecast], needed: Sequence[tuple[int, ...]]) -> tuple[list[float], list[int]]:
    """For each job the seconds of the longest chain from its start to the end of all, and the next job of it or -1."""
    after, following = [0.0] * len(forecasts), [-1] * len(forecasts)
    longest = [0.0] * len(forecasts)
    for number in reversed(list(TopologicalSorter(dict(enumerate(needed))).static_order())):
        longest[number] = forecasts[number].seconds + after[number]
        for maker in needed[number]:
            if following[maker] < 0 or longest[number] > after[maker]:
                after[maker], following[maker] = longest[number], number
    return longest, following


def critical_path(forecasts: Sequence[Forecast]) -> list[Forecast]:
    """The chain of jobs, each waiting for the one before, that takes longest: no machine is faster than that."""
    longest, following = _remaining(forecasts, dependencies([forecast.job for forecast in forecasts]))
    number = max(range(len(forecasts)), key=lambda job: longest[job], default=-1)
    chain = []
    while number >= 0:
        chain.append(forecasts[number])
        number = following[number]
    return chain


def schedule(forecasts: Sequence[Forecast], machine: Machine) -> list[float]:
    """The second at which each job would end; a job that wants more than a node has takes all that it has.

    Whenever a place is free, of the jobs whose inputs are there that with the longest chain after it starts, on the
    first node with room.
    """
    needed = dependencies([forecast.job for forecast in forecasts])
    longest, _ = _remaining(forecasts, needed)
    sorter = TopologicalSorter(dict(enumerate(needed)))
    sorter.prepare()
    # of a node: cores and GPUs
    wanted = [(min(one.job.threads, machine.cores), min(one.job.gpus, machine.gpus)) for one in forecasts]
    free = [[machine.cores, machine.gpus] for _ in range(machine.nodes)]
    ready: list[int] = []
    running: list[tuple[float, int, int]] = []
    ends = [0.0] * len(forecasts)
    now = 0.0
    while sorter.is_active():
        waiting, ready = sorted([*ready, *sorter.get_ready()], key=lambda job: (-longest[job], job)), []
        for number in waiting:
            cores, gpus = wanted[number]
            node = next((n for n, (c, g) in enumerate(free) if c >= cores and g >= gpus), None)
            if node is None:
                ready.append(number)
                continue
            free[node][0] -= cores
            free[node][1] -= gpus
            heapq.heappush(running, (now + forecasts[number].seconds, number, node))
        now, number, node = heapq.heappop(running)
        ends[number] = now
        free[node][0] += wanted[number][0]
        free[node][1] += wanted[number][1]
        sorter.done(number)
    return ends


def plan(
    *,
    configfile: list[Path],
    nodes: int = 1,
    cores: int = 2,
    gpus: int | None = None,
    config: dict[str, Any] | None = None,
    target: str = "",
    rules: bool = False,
    throughputs: Path = Path("benchmarks/throughputs.json"),
    snakefile: Path = Path("Snakefile"),
    output: Path | None = None,
) -> None:
    """Predict the time, memory and disk of every rule of an experiment before anyone starts it.

    configfile: the experiment's files, each put over the one before; nodes: of the machine; cores: of each node; gpus:
    of each node (as many as a job asks for); config: further settings; target: what is to be made (all that the
    experiment's systems need); rules: tell of every rule, and not of stages; throughputs: rates that were measured;
    output: the plan as JSON.
    """
    whole = complete_configuration(snakefile, configfile, config or {})
    asked = whole["training"]["processes"] if whole["device"] == "cuda" else 0
    machine = Machine(nodes, cores, asked if gpus is None else gpus)
    if machine.gpus < asked:
        raise UserError(f"--gpus: jobs ask for {asked} GPUs (device: cuda), a node has {machine.gpus}; give it as many")
    if machine.gpus and not asked:
        raise UserError(
            f"--gpus: no job asks for a GPU (device: {whole['device']}); set device: cuda, or --config device=cuda"
        )
    made = predict(whole, Throughputs.load(throughputs), snakefile, Path(snakefile).parent, machine, target)
    if output is not None:
        write_json(output, made)
    rates, jobs = made["throughputs"], sum(row["jobs"] for row in made["stages"])
    gpu = f"; of GPUs: {rates['gpu']}" if rates["gpu"] else ""
    print(f"{whole['experiment']}: {jobs} jobs; rates of {rates['machine']}, {rates['date']}{gpu}\n")
    print(*render_plan(made, rules), sep="\n")


def calibrate(
    *, results: list[Path], output: Path = Path("benchmarks/throughputs.json"), snakefile: Path = Path("Snakefile")
) -> None:
    """Fit the rates that plans are made with to finished runs.

    results: folders of results of experiments that stand beside the Snakefile, in which Snakemake's benchmarks are.
    Rates of rules that none of them has run stay in ``output``, where they were measured on this machine.
    """
    from neural_smt.planning.calibration import fit_throughputs, read_runs

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


def predict(
    config: Mapping[str, Any],
    throughputs: Throughputs,
    snakefile: Path,
    folder: Path,
    machine: Machine,
    target: str = "",
) -> dict[str, Any]:
    """The plan of a complete configuration, see ``summarise``, with its name and whose rates it was made with.

    folder: where ``results/`` of earlier runs may lie; target: what is to be made (all that its systems need).
    """
    sizes = expect_sizes(config, throughputs.ratios, folder)
    jobs = list_jobs(snakefile, config, target or whole_target(config), machine.cores)
    made = summarise(forecast_jobs(jobs, config, sizes, throughputs), machine)
    rates = {"machine": throughputs.machine, "date": throughputs.date, "gpu": throughputs.gpu}
    return made | {"experiment": config["experiment"], "throughputs": rates}


def summarise(forecasts: Sequence[Forecast], machine: Machine) -> dict[str, Any]:
    """The plan as plain data: rows of stages and rules, the longest chain, seconds on that machine."""
    chain = critical_path(forecasts)
    columns = ["stage", "rule", "gpus", "declared_memory", "seconds", "cpu_seconds", "memory", "disk", "basis"]
    rows = [{"stage": one.job.stage, **vars(one.job), **vars(one)} for one in forecasts]
    jobs = pd.DataFrame(rows, columns=columns)
    jobs["rule"] = jobs["stage"] + ": " + jobs["rule"]
    return {
        "machine": {"nodes": machine.nodes, "cores": machine.cores, "gpus": machine.gpus},
        "stages": _rows(jobs, "stage"),
        "rules": _rows(jobs, "rule"),
        "chain": [
            {"rule": one.job.rule, "output": one.job.outputs[0].split("/", 2)[-1], "seconds": round(one.seconds, 1)}
            for one in chain
        ],
        "chain_seconds": round(sum(one.seconds for one in chain), 1),
        "seconds": round(max(schedule(forecasts, machine), default=0.0), 1),
        "cpu_seconds": round(jobs.loc[jobs["gpus"] == 0, "cpu_seconds"].sum(), 1),
        "gpu_seconds": round((jobs["seconds"] * jobs["gpus"]).sum(), 1),
        "disk_bytes": round(jobs["disk"].sum()),
        "memory_mb": round(jobs["memory"].max()) if forecasts else 0,
    }


def _rows(jobs: pd.DataFrame, by: str) -> list[dict[str, Any]]:
    """Jobs by stage or rule; a row's basis is what most of its time rests on."""
    jobs = jobs.assign(beyond=jobs["memory"] > jobs["declared_memory"])
    return [
        {
            "name": name,
            "jobs": len(group),
            "seconds": round(group["seconds"].sum(), 1),
            "longest_seconds": round(group["seconds"].max(), 1),
            "memory_mb": round(group["memory"].max()),
            "beyond_request": int(group["beyond"].sum()),
            "disk_bytes": round(group["disk"].sum()),
            "basis": group.groupby("basis")["seconds"].sum().reindex(list(table()["bases"])).idxmax(),
        }
        for name, group in jobs.groupby(by, sort=False)
    ]


def duration(seconds: float) -> str:
    """Seconds as people say it."""
    for unit, size in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"


def render_plan(plan: dict[str, Any], by_rule: bool) -> list[str]:
    """The plan as lines of Markdown."""
    rows = sorted(plan["rules" if by_rule else "stages"], key=lambda row: STAGES.index(row["name"].split(":")[0]))
    # options of Snakemake with which rules ask for the memory that they are planned to need
    requests = [
        f"{row['name'].partition(': ')[2]}:mem_mb={math.ceil(1.1 * row['memory_mb'] / 1000) * 1000}"
        for row in plan["rules"]
        if row["beyond_request"]
    ]
    chain = [step for step in plan["chain"] if step["seconds"] >= 0.01 * plan["chain_seconds"]]
    says = {"duration": duration, "quantity": quantity, "heading": "rule" if by_rule else "stage"}
    return render("plan.txt", plan=plan, rows=rows, requests=requests, chain=chain, notes=table()["bases"], **says)


def data(*, experiment: str, data_mirror: str | None = None, download: bool = True) -> None:
    """List the texts that an experiment needs, and download those that are not here: data experiments/multi30k.yaml

    experiment: its name, or its configuration file. Of each text its size and licence are printed, as far as the
    experiment declares them, whether it is here, and else where it is to be had. Downloads go where the experiment's
    own jobs look for them. The last sentence tells what has to be given by hand.

    data_mirror: a folder or base URL where texts are looked for first; download: --no-download only lists.
    """
    # loads the search, which plans do without
    from neural_smt.translation.experiment import Experiment

    declared = Experiment.load(experiment)
    inputs, sources, missing = Inputs(declared.layout), declared.config["corpus"]["sources"], []
    mirror = data_mirror or declared.config["data_mirror"]
    needed = dict(published_sources(declared.config))
    for name, sides in needed.items():
        told = [f"{count:,} {what}" for what, count in sources[name].get("size", {}).items()]
        told += [f"{what}: {sources[name][what]}" for what in ("licence", "origin") if what in sources[name]]
        print(f"{name}: {'; '.join(told) or 'nothing is declared of it'}")
        for language in sides:
            side, kept = sources[name][language], Path(inputs.raw_text(name, language))
            place = str(kept) if kept.is_file() else find(side, mirror)
            if place is None:
                missing.append(published_name(side))
                print(f"  {language}: missing, {missing[-1]}")
                continue
            print(f"  {language}: {place if is_url(place) else f'here, {place}'}", flush=True)
            if not (download and is_url(place)):
                continue
            if "member" not in side:
                fetch(side=side, mirror=mirror, output=kept)
                continue
            archive = Path(declared.layout.folder, "corpus", "archives", archive_name(side))
            if not archive.is_file():
                fetch_archive(side=collect_archives(sources)[archive_name(side)], mirror=mirror, output=archive)
            extract_member(archive=archive, member=side["member"], output=kept, unescape=side.get("unescape", False))
    if not needed:
        print("none: its text is generated")
    if missing:
        advice = f"a folder that holds {missing[0]} and the others that are listed as missing"
        raise UserError(f"{len(missing)} files cannot be downloaded; set data_mirror to {advice}")
