"""A system by its folder, or by the name of its experiment, with the command that makes results which are missing."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from neural_smt.errors import EXPERIMENTS, UserError, program
from neural_smt.experiment.configuration import complete, read_configuration, read_configuration_file
from neural_smt.experiment.layout import Layout
from neural_smt.experiment.system_folder import FILE, System
from neural_smt.io.manifest import check_listed
from neural_smt.translation.translators import check_inputs

DEFAULT = Path("config.yaml")
"""The configuration that Snakemake takes where none is named."""


@dataclass(frozen=True)
class Experiment:
    """config: complete; files: the configuration files that it is made of, in order; folder: where Snakemake runs."""

    config: Mapping[str, Any]
    files: tuple[Path, ...]
    folder: Path

    @cached_property
    def layout(self) -> Layout:
        """Where its files lie."""
        return Layout(self.config)

    @classmethod
    def load(cls, name: str, further: Sequence[Path] = (), folder: Path = Path()) -> "Experiment":
        """Of a configuration file, or of the name that an experiment has which is declared here or in ``folder``.

        further: files whose settings go over those of the first, as with Snakemake's ``--configfile``. Raises
        ``UserError`` where there is no such experiment, and for the first fault of its configuration.
        """
        files = (_find(name, Path(folder)), *map(Path, further))
        return cls(complete(read_configuration(files)), files, Path(folder))

    def open(self, system: str | None, run: int | None = None) -> System:
        """A system whose results are there, with its run, and its experiment, label and device of the configuration.

        Raises ``UserError`` where there is no such system or run, where it cannot translate new text, and for the first
        result that is missing.
        """
        systems, run = self.config["systems"], 1 if run is None else run
        if system is None or system not in systems:
            fault = "name a system with --system" if system is None else f"there is no system '{system}'"
            raise UserError(f"{fault}; experiment {self.config['experiment']} has {', '.join(systems)}")
        chosen = systems[system]
        runs = len(self.layout.runs(system))
        if not 1 <= run <= runs:
            raise UserError(f"--run {run}: system '{system}' has run{'s 1 to ' if runs > 1 else ' '}{runs}")
        check_inputs(System(Path(), self.layout.description(system)))
        chain = [system, chosen["base"]] if self.layout.is_rescored(system) else [system]
        weights = [] if chosen.get("translate") else [self.layout.weights(one, run) for one in chain]
        # the weights are made last: the command that makes them makes all the others
        inputs = self.layout.system_inputs(system)
        for path in (*weights, *inputs["depends"], inputs["system"]):
            if not (self.folder / path).exists():
                raise UserError(f"{self.folder / path}: not made yet; run: {self.command(path)}")
        opened = System.load(self.folder / self.layout.system(system))
        further = {"experiment": self.config["experiment"], "label": chosen.get("label", system), "run": run}
        return System(opened.file, {**opened.content, **further, "device": self.config["device"]})

    def command(self, target: str) -> str:
        """What a person types to make a result."""
        place = [] if self.folder == Path() else ["--directory", str(self.folder)]
        files = [] if self.files == (DEFAULT,) else ["--configfile", *map(str, self.files)]
        return shlex.join([program("snakemake"), "--cores", "2", target, *place, *files])


def _find(name: str, folder: Path) -> Path:
    """The configuration file that a name stands for. One that cannot be read counts where no other has the name."""
    if Path(name).is_file():
        return Path(name)
    files = [file for place in (folder, Path()) for pattern in EXPERIMENTS for file in sorted(place.glob(pattern))]
    named: dict[str, Path] = {}
    faults: list[UserError] = []
    for file in files:
        try:
            named[str(read_configuration_file(file).get("experiment"))] = file
        except UserError as error:
            faults.append(error)
    if name.rstrip("/") not in named:
        if faults:
            raise faults[0]
        there = f"experiments: {', '.join(named)}" if named else "start it where its file lies, or name the file"
        raise UserError(f"{name}: neither a configuration file nor an experiment; {there}")
    return named[name.rstrip("/")]


def open_system(
    name: str, system: str | None = None, run: int | None = None, settings: Sequence[Path] = (), folder: Path = Path()
) -> System:
    """A system by its folder, or of an experiment; arguments as of ``translate``."""
    place = Path(name)
    if not (place / FILE).is_file() and place.name != FILE:
        return Experiment.load(name, settings, folder).open(system, run)
    if system is not None or settings:
        raise UserError(f"{name} is the folder of one system; leave out --system and --settings")
    check_listed(place.parent if place.name == FILE else place)
    opened = System.load(place)
    packed = opened.content.get("run", run)
    if run not in (None, packed):
        raise UserError(f"{name}: holds the weights of run {packed} alone; leave out --run {run}")
    defaults = {"experiment": str(opened.file.parent), "label": opened["name"]}
    return System(opened.file, {**defaults, **opened.content, "run": packed or 1})
