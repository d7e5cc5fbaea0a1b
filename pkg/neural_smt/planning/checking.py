"""What is looked at before hours are spent: the texts, room on the disk, the memory of the GPU."""

import logging
import shutil
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from neural_smt.corpus.fetching import is_url, locations, published_name
from neural_smt.corpus.sources import ALIGNMENT, published_sources
from neural_smt.errors import UserError
from neural_smt.io.files import unequal_lengths, write_json
from neural_smt.planning.jobs import complete_configuration, list_jobs, whole_target
from neural_smt.planning.quantities import HAZARDS, Experiment
from neural_smt.planning.sizes import RATIOS, Sizes, Text, count_text, disk_use, expect_sizes, quantity
from neural_smt.planning.throughputs import Throughputs, forecast_jobs

log = logging.getLogger(__name__)

AMPLE, BYTES_PER_WORD = 1e10, 6e3
"""Bytes that are free, at all and for each word of the texts, where no plan is needed to know that they suffice."""

CLEARLY = 2
"""What is predicted is at most so many times too much; a disk with less room than that is refused."""


def check(
    *,
    configfile: list[Path],
    config: dict | None = None,
    throughputs: Path = Path("benchmarks/throughputs.json"),
    snakefile: Path = Path("Snakefile"),
) -> None:
    """Check an experiment before it is started: its settings, its texts, the disk, the GPU.

    configfile: the experiment's files, each put over the one before; config: further settings. Texts that are on this
    machine are read once: UTF-8, not empty, both sides of one length. Of the others their declared size is taken, and
    the workflow checks them as soon as they are fetched. The first fault is told in one sentence.
    """
    if not configfile:
        raise UserError("--configfile: none given; name the experiment's configuration")
    whole = complete_configuration(snakefile, configfile, config or {})
    counted: dict[str, Text] = {}
    for name, sides in published_sources(whole):
        files = find_sides(whole, name, sides)
        here = {side: path for side, path in files.items() if path is not None}
        if here:
            checked = check_source(here, whole["corpus"]["sources"][name]["tokenised"])
            print(f"{name}: {checked.lines:,.0f} lines ({', '.join(here)})")
        if len(here) == len(files):
            counted[name] = checked
        else:
            absent = ", ".join(sorted(files.keys() - here.keys()))
            print(f"{name}: checked when the workflow fetches it ({absent})")
    sizes = expect_sizes(whole, RATIOS, Path(snakefile).parent, counted)
    print(_check_disk(whole, sizes, snakefile, throughputs))
    print(_check_gpu(whole, sizes, whole["device"]))


def check_experiment(
    *, texts: dict, snakefile: Path, throughputs: Path, configuration: dict, device: str, output: Path
) -> None:
    """Check an experiment once its texts are fetched, as the first job of the workflow; see ``check``.

    texts: source -> language, or ``alignment``, -> its text as it was fetched; configuration: the whole, complete.
    Writes what was found as JSON.
    """
    counted = {}
    for name, sides in texts.items():
        paths = {side: Path(path) for side, path in sides.items()}
        counted[name] = check_source(paths, configuration["corpus"]["sources"][name]["tokenised"])
    sizes = expect_sizes(configuration, RATIOS, Path("nowhere"), counted)
    disk = _check_disk(configuration, sizes, snakefile, throughputs)
    gpu = _check_gpu(configuration, sizes, device)
    log.info("%s; %s", disk, gpu)
    lines = {name: text.lines for name, text in counted.items()}
    write_json(output, {"lines": lines, "disk": disk, "gpu": gpu})


def _check_disk(config: Mapping[str, Any], sizes: Sizes, snakefile: Path, throughputs: Path) -> str:
    """What is told of the disk; ``UserError`` where it has clearly too little room."""
    place = Path("results")
    free = shutil.disk_usage(place if place.is_dir() else ".").free
    words = sum(text.both for text in sizes.sources.values())
    if free > AMPLE + BYTES_PER_WORD * words:
        return f"disk: {quantity(free)} free are enough"
    wanted = _expected_disk(config, sizes, snakefile, throughputs)
    there = disk_use(place / config["experiment"])
    told = f"{place.absolute()}: the experiment will take about {quantity(wanted)} of the disk, where "
    told += f"{quantity(free)} are free and {quantity(there)} its own"
    if wanted > CLEARLY * (free + there) and config["check"]["disk"]:
        raise UserError(f"{told}; make room, run it elsewhere, or set check: {{disk: false}} to start nevertheless")
    if wanted > free + there:
        print(f"warning: {told}; make room if you can", file=sys.stderr)
    return f"disk: about {quantity(wanted)} of {quantity(free + there)}"


def _expected_disk(config: Mapping[str, Any], sizes: Sizes, snakefile: Path, throughputs: Path) -> float:
    jobs = list_jobs(snakefile, config, whole_target(config))
    experiment = Experiment(config, sizes, HAZARDS, {})
    return sum(forecast.disk for forecast in forecast_jobs(jobs, experiment, Throughputs.load(throughputs)))


def _check_gpu(config: Mapping[str, Any], sizes: Sizes, device: str) -> str:
    """What is told of the GPU; ``UserError`` where a network will not find the memory that it needs."""
    if device != "cuda":
        return f"GPU: not asked for (device: {device})"
    total = gpu_memory()
    needs = Experiment(config, sizes, HAZARDS, {}).gpu_needs()
    for need in needs:
        if need.memory > total and config["check"]["gpu"]:
            raise UserError(
                f"{need.where}: a network of {need.weights / 1e6:,.1f} million weights will take about "
                f"{quantity(need.memory)} of the GPU's {quantity(total)}; lower its batch or sizes, "
                "set training.processes for several GPUs, or check: {gpu: false} to start nevertheless"
            )
    largest = max((need.memory for need in needs), default=0.0)
    return f"GPU: about {quantity(largest)} of {quantity(total)}"


def gpu_memory() -> float:
    """Bytes of the GPU; ``UserError`` without one."""
    import torch

    from neural_smt.networks.device import select_device

    return float(torch.cuda.get_device_properties(select_device("cuda")).total_memory)


class _Absent(UserError):
    """A text that should be on this machine is not."""


TOKENS_PER_WORD = 1.15
"""Tokens that a word between blanks becomes, about."""


def check_source(sides: Mapping[str, Path], tokenised: bool) -> Text:
    """The size of a source whose sides are good: UTF-8, not empty, and of one length.

    sides: language, or ``alignment``, -> its text (plain or ``.gz``). Raises ``UserError`` for the first fault.
    """
    lines: dict[str, int] = {}
    words: dict[str, float] = {}
    for side, path in sides.items():
        if side == ALIGNMENT:
            # loads Numba, which takes half a second of every dry run
            from neural_smt.alignment.pharaoh import read_marked_alignments

            lines[side] = len(read_marked_alignments(path)[0])
        else:
            # a NUL in what is still to be tokenised is dropped there
            lines[side], found = count_text(path, nul=not tokenised)
            words[side] = found * (1.0 if tokenised else TOKENS_PER_WORD)
        if not lines[side]:
            raise UserError(f"{path}: empty; give a text, one sentence a line")
    first = next(iter(sides))
    for side, path in sides.items():
        if lines[side] != lines[first]:
            raise unequal_lengths(sides[first], lines[first], path, lines[side])
    return Text(lines[first], words)


def local_file(side: Mapping[str, Any], where: str, mirror: str) -> Path | None:
    """The file that a side will be fetched from, where it is on this machine; None for what is to be downloaded.

    Raises ``UserError``, naming the side (``where``), for a file that nothing else can stand in for.
    """
    places = [place for place in locations(dict(side), mirror) if not is_url(place)]
    for place in map(Path, places):
        if place.is_file():
            return place
    if not side.get("url") and not is_url(mirror):
        raise _Absent(f"{where}: {' and '.join(places)}: no such file; correct its path, or set data_mirror")
    return None


def find_sides(config: Mapping[str, Any], name: str, sides: Iterable[str]) -> dict[str, Path | None]:
    """The texts of a source's sides where they are on this machine, and neither in an archive nor SGML.

    Raises ``UserError`` as ``local_file`` does.
    """
    found = {}
    for side in sides:
        declared = config["corpus"]["sources"][name][side]
        path = local_file(declared, f"corpus.sources.{name}.{side}", config["data_mirror"])
        packed = "member" in declared or published_name(dict(declared)).endswith(".sgm")
        found[side] = None if packed else path
    return found


def check_here(config: Mapping[str, Any]) -> None:
    """Check all texts that are on this machine; what is missing is left to be told where it is fetched."""
    for name, sides in published_sources(config):
        with suppress(_Absent):
            files = find_sides(config, name, sides)
            here = {side: path for side, path in files.items() if path is not None}
            if here:
                check_source(here, config["corpus"]["sources"][name]["tokenised"])
