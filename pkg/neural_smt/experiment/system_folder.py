"""A system is a folder: its ``system.json`` names by relative path what the system is made of and how it is used.

Every description has ``name``, ``languages`` and a ``kind``; the others depend on the kind:

- ``search``: ``features`` (its feature groups, a network's called by its kind), ``phrase_table``,
  ``language_models``, ``source_vocabulary``, ``target_vocabulary``, ``columns`` (group -> score column), ``network``
  (in the search, or null) and ``search`` (a file of ``SearchSettings``);
- ``lattices`` and ``lists``: ``base``, the folder of the system whose candidates are reranked, ``network`` (null where
  only weights differ) or the ``networks`` of lists, and which candidates (``density``, ``candidates``, ``beam``,
  ``nbest``, ``list_size``);
- ``attention``: ``network``, the ``settings`` of its beam search, and the ``dictionary`` that replaces unknown words.

A network has ``name``, ``kind`` and ``model`` (its folder), and what its kind needs besides. All but attention systems
have ``weights``, a file with a place for the run.
"""

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from neural_smt.errors import UserError
from neural_smt.experiment.settings import read_described
from neural_smt.io.files import atomic, write_json
from neural_smt.io.manifest import write_manifest

FILE = "system.json"

PATHS = (
    *("phrase_table", "language_models", "language_model", "source_vocabulary", "target_vocabulary"),
    *("model", "representation", "lexical", "search", "weights", "base"),
)
"""Keys of a description, at any depth but in ``settings``, whose values are a path or several; ``columns`` is a mapping
of paths.
"""


def map_paths(content: Mapping[str, Any], change: Callable[..., Any]) -> dict[str, Any]:
    """A description with every path changed."""
    result: dict[str, Any] = {}
    for key, value in content.items():
        if key in PATHS and not isinstance(value, Mapping | None):
            result[key] = [change(path) for path in value] if isinstance(value, list) else change(value)
        elif key == "columns":
            result[key] = {group: change(path) for group, path in value.items()}
        elif key == "networks":
            result[key] = [map_paths(network, change) for network in value]
        else:
            deeper = isinstance(value, Mapping) and key != "settings"
            result[key] = map_paths(value, change) if deeper else value
    return result


def write_description(*, description: dict[str, Any], output: Path) -> None:
    """Write ``system.json``: a description whose paths are relative to its folder, or a file of search settings."""
    write_json(output, description)


@dataclass(frozen=True)
class System:
    """file: where the description stands; content: the description, its paths as ``Path`` from where the program runs.

    ``system["phrase_table"]`` is what the description says of it; ``UserError`` where it says nothing.
    """

    file: Path
    content: Mapping[str, Any]

    @classmethod
    def load(cls, path: Path) -> "System":
        """The system of a folder, or of the ``system.json`` in it."""
        file = Path(path) / FILE if Path(path).is_dir() else Path(path)
        content = read_described(file, "system", "write the folder of the system again")
        return cls(file, map_paths(content, lambda place: Path(os.path.normpath(file.parent / place))))

    def __getitem__(self, key: str) -> Any:
        if key not in self.content:
            raise UserError(f"{self.file}: the system has no '{key}'; write the folder of the system again")
        return self.content[key]

    def of_each_network(self) -> list["System"]:
        """The same system as one of each of the networks that it reranks with; ``number``: of the networks of a kind,
        from 0.
        """
        networks = self["networks"] if "networks" in self.content else [self["network"]]
        kinds = [network["kind"] for network in networks if network]
        numbers = [kinds[:place].count(kind) for place, kind in enumerate(kinds)]
        found = zip(filter(None, networks), numbers, strict=True)
        return [System(self.file, {**self.content, "network": network | {"number": n}}) for network, n in found]

    def of_network(self, key: str) -> Any:
        """What the description says of the system's network; ``UserError`` where it says nothing or there is none."""
        network = self["network"]
        if network is None:
            raise UserError(f"{self.file}: the system has no network; name one that has")
        if key not in network:
            raise UserError(f"{self.file}: its network has no '{key}'; write the folder of the system again")
        return network[key]

    @property
    def features(self) -> list[str]:
        """The feature groups that it is searched with, but for that of a network in the search: its kind."""
        network = self.content.get("network") or {}
        return [group for group in self["features"] if group != network.get("kind")]

    @cached_property
    def base(self) -> "System":
        """The system whose candidates this one reranks."""
        return System.load(self["base"])

    @cached_property
    def search(self) -> dict[str, Any]:
        """How text is searched with it, see ``SearchSettings``."""
        return read_described(self["search"], "search")

    def weights(self, run: int) -> Path:
        """The file of the tuned weights of a run."""
        return Path(str(self["weights"]).replace("{run}", str(run)))

    def files(self) -> list[Path]:
        """All that it is made of, without its base, its weights and the settings of searches."""
        found: list[Path] = []
        left_out = ("base", "weights", "search")
        map_paths({key: value for key, value in self.content.items() if key not in left_out}, found.append)
        return list(dict.fromkeys(found))

    def all_files(self, run: int) -> list[Path]:
        """The same with the settings of searches and the weights of a run."""
        weights = [self.weights(run)] if "weights" in self.content else []
        return [*self.files(), *([self["search"]] if "search" in self.content else []), *weights]


def pack_system(system: System, folder: Path, tables: Callable[[System, Path], Any] | None = None) -> None:
    """Copy an opened system, its base and all that they are made of into a new folder, with the weights of its run.

    Files lie there as they do below the folder that all of them are in, with a list of their checksums. tables: what
    writes the phrase table and the columns of a system as one folder, where they are not copied. Raises ``UserError``
    where the folder exists, or a file of the system is missing or damaged.
    """
    if folder.exists():
        raise UserError(f"{folder}: exists already; name another folder, or remove it")
    run = system["run"]
    chain = [system, system.base] if "base" in system.content else [system]
    searched = chain[-1]
    table = searched.content.get("phrase_table") if tables else None
    columns = searched["columns"].values() if table else ()
    files = [path for one in chain for path in one.all_files(run)]
    for path in files:
        if not path.exists():
            raise UserError(f"{path}: not there, but {system.file} names it; run the experiment first")
    root = Path(os.path.commonpath([path.absolute().parent for path in files]))
    with atomic(folder, directory=True) as temporary:
        for path in dict.fromkeys(path for path in files if path not in columns):
            copy = temporary / path.absolute().relative_to(root)
            copy.parent.mkdir(parents=True, exist_ok=True)
            if tables and path == table:
                tables(searched, copy)
            elif path.is_dir():
                shutil.copytree(path, copy, ignore=shutil.ignore_patterns(".*"))
            else:
                shutil.copyfile(path, copy)
        for one, place in zip(chain, (Path(), Path("base")), strict=False):
            content = {key: value for key, value in one.content.items() if key not in ("base", "device")} | {"run": run}
            content |= {"weights": one.weights(run)} if "weights" in content else {}
            content |= {"columns": {}} if table and "columns" in content else {}
            packed = map_paths(content, lambda path, up=place: os.path.relpath(path.absolute().relative_to(root), up))
            (temporary / place).mkdir(exist_ok=True)
            write_json(temporary / place / FILE, packed | ({"base": "base"} if one is not chain[-1] else {}))
        try:
            write_manifest(temporary)
        except UserError as error:  # names a file that is about to be gone
            raise UserError(str(error).replace(str(temporary), str(root))) from None
