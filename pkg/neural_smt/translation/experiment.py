"""An experiment by its name or its file, and what of its results a person still has to make."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from neural_smt.configuration import complete, read_configuration_file
from neural_smt.errors import UserError
from neural_smt.layout import Layout
from neural_smt.systems import rescores_lattices

"""The schema of configurations, in the checkout that the package belongs to."""

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
        """Of a configuration file, or of the name that an experiment of ``config.yaml`` or ``experiments/`` has.

        further: files whose settings go over those of the first, as with Snakemake's ``--configfile``. Raises
        ``UserError`` where there is no such experiment, and for the first fault of its configuration.
        """
        files = (_find(name, Path(folder)), *map(Path, further))
        merged: dict[str, Any] = {}
        for file in files:
            _update(merged, read_configuration_file(file))
        return cls(complete(merged), files, Path(folder))

    def choose_system(self, system: str | None, run: int) -> str:
        """The name of a system of this experiment; ``UserError`` where there is no such system or run of it."""
        systems = self.config["systems"]
        if system not in systems:
            fault = "name a system with --system" if system is None else f"there is no system '{system}'"
            raise UserError(f"{fault}; experiment {self.config['experiment']} has {', '.join(systems)}")
        runs = 1 if systems[system].get("translate") else self.config["tuning"]["runs"]
        if not 1 <= run <= runs:
            raise UserError(f"--run {run}: system '{system}' has run{'s 1 to ' if runs > 1 else ' '}{runs}")
        return system

    def rescores_lattices(self, system: str) -> bool:
        """Whether a system chooses among lattices of its base."""
        return rescores_lattices(self.config, system)

    def need(self, paths: Iterable[str | None]) -> list[Path | None]:
        """Results (relative to the folder; None stays None) as paths that are there.

        Raises ``UserError`` naming the first one that is missing and the command that makes it.
        """
        found = []
        for path in paths:
            whole = None if path is None else self.folder / path
            if whole is not None and not whole.exists():
                raise UserError(f"{whole}: not made yet; run: {self.command(path)}")
            found.append(whole)
        return found

    def command(self, target: str) -> str:
        """What a person types to make a result."""
        place = [] if self.folder == Path() else ["--directory", str(self.folder)]
        files = [] if self.files == (DEFAULT,) else ["--configfile", *map(str, self.files)]
        return shlex.join(["snakemake", "--cores", "2", target, *place, *files])


def _find(name: str, folder: Path) -> Path:
    """The configuration file that a name stands for."""
    if Path(name).is_file():
        return Path(name)
    known = [DEFAULT, *sorted(Path("experiments").glob("*.yaml"))]
    named = {read_configuration_file(file).get("experiment"): file for file in known if file.is_file()}
    if name not in named:
        there = ", ".join(str(other) for other in named) or "none here"
        raise UserError(f"{name}: neither a configuration file nor an experiment; experiments: {there}")
    return named[name]


def _update(settings: dict[str, Any], others: Mapping[str, Any]) -> None:
    """Put ``others`` over ``settings``, section by section, as Snakemake does."""
    for key, value in others.items():
        if isinstance(value, Mapping) and isinstance(settings.get(key), dict):
            _update(settings[key], value)
        else:
            settings[key] = deepcopy(value)
