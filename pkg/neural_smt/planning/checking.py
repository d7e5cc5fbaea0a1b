"""What is looked at before hours are spent: the texts, room on the disk, the memory of the GPU."""

import logging
import shutil
import sys
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from neural_smt.corpus.archives import MARKED_UP
from neural_smt.corpus.fetching import find, is_url, locations, published_name
from neural_smt.corpus.languages import check_split
from neural_smt.corpus.sources import ALIGNMENT, published_sources
from neural_smt.errors import UserError, singular
from neural_smt.io.files import check_as_long, write_json
from neural_smt.io.streams import stream_lines
from neural_smt.planning.forecasts import Experiment, Quantities, Throughputs, forecast_jobs, table
from neural_smt.planning.jobs import Job, complete_configuration, list_jobs, whole_target
from neural_smt.planning.sizes import RATIOS, Sizes, Text, count_text, disk_use, expect_sizes, quantity

log = logging.getLogger(__name__)

AMPLE, BYTES_PER_WORD = 1e10, 6e3
"""Bytes that are free, at all and for each word of the texts, where no plan is needed to know that they suffice."""

CLEARLY = 2
"""What is predicted is at most so many times too much; a disk with less room than that is refused."""


def check(
    *,
    configfile: list[Path],
    config: dict[str, Any] | None = None,
    throughputs: Path = Path("benchmarks/throughputs.json"),
    snakefile: Path = Path("Snakefile"),
) -> None:
    """Check an experiment before it is started: its settings, its texts, the disk, the GPU.

    configfile: the experiment's files, each put over the one before; config: further settings. Texts that are on this
    machine are read once: UTF-8, not empty, both sides of one length. Of the others their declared size is taken, and
    the workflow checks them as soon as they are fetched. The first fault ends the check, with one sentence.
    """
    whole = complete_configuration(snakefile, configfile, config or {})
    counted: dict[str, Text] = {}
    here: dict[str, dict[str, Path | None]] = {}
    for name, files, text in check_local(whole):
        here[name] = files
        absent = sorted(side for side, path in files.items() if not path)
        if text:
            present = ", ".join(side for side in files if side not in absent)
            print(singular(f"{name}: {text.lines:,.0f} lines ({present})"))
        if absent:
            print(f"{name}: checked when the workflow fetches it ({', '.join(absent)})")
        elif text:
            counted[name] = text
    warn_of_shared(whole, here)
    sizes = expect_sizes(whole, RATIOS, Path(snakefile).parent, counted)
    print(_check_disk(whole, sizes, snakefile, throughputs))
    print(_check_gpu(whole, sizes, whole["device"]))


def check_experiment(
    *,
    texts: dict[str, Any],
    snakefile: Path,
    throughputs: Path,
    configuration: dict[str, Any],
    device: str,
    output: Path,
) -> None:
    """Check an experiment once its texts are fetched, as the first job of the workflow; see ``check``.

    texts: source -> language, or ``alignment``, -> its text as it was fetched; configuration: the whole, complete.
    Writes what was found as JSON.
    """
    counted = {name: check_source(configuration, name, sides) for name, sides in texts.items()}
    warn_of_shared(configuration, texts)
    sizes = expect_sizes(configuration, RATIOS, Path("nowhere"), counted)
    disk = _check_disk(configuration, sizes, snakefile, throughputs)
    gpu = _check_gpu(configuration, sizes, device)
    log.info("%s; %s", disk, gpu)
    lines = {name: text.lines for name, text in counted.items()}
    write_json(output, {"lines": lines, "disk": disk, "gpu": gpu})


def _check_disk(config: Mapping[str, Any], sizes: Sizes, snakefile: Path, throughputs: Path) -> str:
    """The line about the disk; ``UserError`` where it clearly has too little room."""
    place = Path("results")
    free = shutil.disk_usage(place if place.is_dir() else ".").free
    words = sum(text.both for text in sizes.sources.values())
    if free > AMPLE + BYTES_PER_WORD * words:
        return f"disk: {quantity(free)} free are enough"
    jobs = list_jobs(snakefile, config, whole_target(config))
    wanted = sum(job.disk for job in forecast_jobs(jobs, config, sizes, Throughputs.load(throughputs)))
    there = disk_use(place / config["experiment"])
    message = f"{place.absolute()}: the experiment will take about {quantity(wanted)} of the disk, where "
    message += f"{quantity(free)} are free and {quantity(there)} its own"
    if wanted > CLEARLY * (free + there) and config["check"]["disk"]:
        raise UserError(f"{message}; make room, run it elsewhere, or set check: {{disk: false}} to start nevertheless")
    if wanted > free + there:
        print(f"warning: {message}; make room if you can", file=sys.stderr)
    return f"disk: about {quantity(wanted)} of {quantity(free + there)}"


def _check_gpu(config: Mapping[str, Any], sizes: Sizes, device: str) -> str:
    """The line about the GPU; ``UserError`` where a network will need more memory than it has."""
    if device != "cuda":
        return f"GPU: not asked for (device: {device})"
    total = gpu_memory()
    needs = gpu_needs(Experiment(config, sizes))
    for name, (weights, memory) in needs.items():
        if memory > total and config["check"]["gpu"]:
            raise UserError(
                f"networks.{name}: a network of {weights / 1e6:,.1f} million weights will take about "
                f"{quantity(memory)} of the GPU's {quantity(total)}; lower its batch or sizes, "
                "set training.processes for several GPUs, or check: {gpu: false} to start nevertheless"
            )
    largest = max((memory for _, memory in needs.values()), default=0.0)
    return f"GPU: about {quantity(largest)} of {quantity(total)}"


def gpu_needs(experiment: Experiment) -> dict[str, tuple[float, float]]:
    """Weights of every network that the experiment trains on a GPU, and the bytes that this takes on each."""
    kinds = [kind for kind, formulas in table()["kinds"].items() if "kept_numbers" in formulas]
    names = experiment.systems.used_networks(*kinds)
    trained = {name: Quantities(Job("train_network", {"network": name}), experiment) for name in names}
    return {name: (one["weights"], one["gpu_memory"]) for name, one in trained.items()}


def gpu_memory() -> float:
    """Bytes of the GPU; ``UserError`` without one."""
    import torch

    from neural_smt.networks.device import select_device

    return float(torch.cuda.get_device_properties(select_device("cuda")).total_memory)


class _Absent(UserError):
    """A text that should be on this machine is not."""


SHARED, LONG = 0.05, 5
"""The share of the sentences of a set, of so many words at least, that may be in training text before it is told."""


def warn_of_shared(config: Mapping[str, Any], texts: Mapping[str, Mapping[str, Path | str | None]]) -> None:
    """Warn where many source sentences of a set that is tuned or scored on are in training text too, unless the
    configuration allows it.

    texts: of each source that is here, language -> its text.
    """
    corpus, language = config["corpus"], config["languages"]["source"]

    def lines(name: str) -> Iterator[str]:
        for part in corpus["sources"][name].get("join", [name]):
            if path := texts.get(part, {}).get(language):
                yield from stream_lines(Path(path))

    names = [corpus["dev"], *corpus["test"]] if config["check"]["texts"] else []
    sets = {name: {line for line in lines(name) if len(line.split()) >= LONG} for name in names}
    held_out: set[str] = set().union(*sets.values())
    for name in dict.fromkeys([*corpus["train"], *corpus["in_domain"]]):
        found = {line for line in lines(name) if line in held_out}
        for one, sentences in sets.items():
            if len(found & sentences) > SHARED * len(sentences):
                share = f"{len(found & sentences) / len(sentences):.0%} of the sentences of '{one}'"
                print(
                    f"warning: {share} are in the training text '{name}' too; its scores say little of other text",
                    file=sys.stderr,
                )


TOKENS_PER_WORD = 1.15
"""Tokens that a word between blanks becomes, about."""


def check_source(config: Mapping[str, Any], name: str, sides: Mapping[str, Path | str]) -> Text:
    """The size of a source whose sides are good: UTF-8, not empty, and of one length.

    sides: language, or ``alignment``, -> its text (plain or ``.gz``). Raises ``UserError`` for the first fault.
    """
    tokenised = config["corpus"]["sources"][name]["tokenised"]
    lines: dict[str, int] = {}
    words: dict[str, float] = {}
    for side, path in sides.items():
        if side == ALIGNMENT:
            # loads Numba, which takes half a second of every dry run
            from neural_smt.alignment.pharaoh import read_marked_alignments

            lines[side] = len(read_marked_alignments(Path(path))[0])
        else:
            # a NUL in what is still to be tokenised is dropped there
            found = count_text(Path(path), nul=not tokenised)
            lines[side], words[side] = found.lines, found.words * (1.0 if tokenised else TOKENS_PER_WORD)
            check_split(Path(path), found.unsplit, found.characters)
            if found.escaped and not tokenised and not config["corpus"]["sources"][name][side].get("unescape"):
                held = f"{found.escaped:,} lines hold character references such as &amp; that tokenising splits"
                advice = f"if the text is escaped as XML, set corpus.sources.{name}.{side}.unescape"
                print(f"warning: {path}: {singular(held)}; {advice}", file=sys.stderr)
        if not lines[side]:
            raise UserError(f"{path}: empty; give a text, one sentence a line")
    first = next(iter(sides))
    for side, path in sides.items():
        check_as_long(Path(sides[first]), Path(path), lines[first], lines[side])
    return Text.of(lines[first], words, config["languages"])


def find_side(config: Mapping[str, Any], name: str, side: str) -> Path | None:
    """The text of a source's side, where it is on this machine; None where it is to be downloaded, or is in an archive
    or SGML.

    Raises ``UserError``, naming the side, for a file that nothing else can stand in for.
    """
    declared, mirror = dict(config["corpus"]["sources"][name][side]), config["data_mirror"]
    place, file = find(declared, mirror), published_name(declared)
    if place is None:
        raise _Absent(
            f"corpus.sources.{name}.{side}: {' and '.join(locations(declared, mirror))}: no such file; "
            f"set data_mirror to a folder that holds {file} (neural-smt data {config['experiment']} lists all), "
            "or correct its path"
        )
    return None if "member" in declared or file.endswith(MARKED_UP) or is_url(place) else Path(place)


def check_local(
    config: Mapping[str, Any], missing: list[str] | None = None
) -> Iterator[tuple[str, dict[str, Path | None], Text | None]]:
    """Check all texts that are on this machine: of each source its name, where its sides are (None: not here), and the
    size of those that are here.

    missing: takes what is wrong with sources whose texts are nowhere, which are left out; else that is raised.
    """
    for name, sides in published_sources(config):
        try:
            files = {side: find_side(config, name, side) for side in sides}
        except _Absent as absence:
            if missing is None:
                raise
            missing.append(str(absence))
            continue
        here = {side: path for side, path in files.items() if path}
        yield name, files, check_source(config, name, here) if here else None


def check_here(config: Mapping[str, Any]) -> None:
    """Check all texts that are on this machine. Those that should be here and are not are warned of: a dry run may be
    of an experiment whose data come later.
    """
    missing: list[str] = []
    deque(check_local(config, missing), maxlen=0)
    if missing:
        more = f" ({len(missing)} sources lack files)" if len(missing) > 1 else ""
        print(f"warning: {missing[0]}{more}", file=sys.stderr)
