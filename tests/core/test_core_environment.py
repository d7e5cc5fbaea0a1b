"""One lock file, with which every other list of versions agrees; and what of the package is installed."""

import importlib
import re
import sys
import tomllib
from itertools import chain
from pathlib import Path

import pytest
import yaml
from checkouts import tracked


def project(repository: Path) -> dict:
    return tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))


def locked(repository: Path) -> dict[str, str]:
    lines = (repository / "envs" / "requirements.lock").read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if not line.startswith("#"))


def test_the_conda_environment_has_the_locked_versions(repository: Path) -> None:
    environment = yaml.safe_load((repository / "envs" / "neural_smt.yaml").read_text(encoding="utf-8"))
    pinned = next(item["pip"] for item in environment["dependencies"] if isinstance(item, dict))
    assert dict(item.split("==") for item in pinned).items() <= locked(repository).items()


def test_every_dependency_is_locked(repository: Path) -> None:
    wanted = project(repository)["project"]
    wanted = [*wanted["dependencies"], *chain(*wanted["optional-dependencies"].values())]
    # what is installed nowhere but for its own target is pinned there
    names = {re.split("[=><]", requirement)[0] for requirement in wanted if "==" not in requirement} | {"torch"}
    assert {"torch", "pytest", "snakemake-executor-plugin-slurm"} <= names
    assert names - {"cosmic-ray"} <= set(locked(repository))  # pinned by its extra, which make mutate alone installs


def test_every_file_of_data_is_installed(repository: Path) -> None:
    packages = project(repository)["tool"]["setuptools"]["package-data"]
    folders = {repository / "pkg" / package.replace(".", "/"): names for package, names in packages.items()}
    installed = {path for folder, names in folders.items() for name in names for path in folder.glob(name)}
    data = {repository / name for name in tracked(repository) if re.match(r"pkg/.*(?<!\.py)$", name)}
    assert len(data) > 40 and not data - installed


NAMES = sorted(path.stem for path in (Path(__file__).parents[2] / "benchmarks").glob("*.py"))


@pytest.mark.parametrize("name", NAMES)
def test_what_a_benchmark_measures_is_there(name: str, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(repository / "benchmarks"))
    before = set(sys.modules)
    try:
        assert callable(importlib.import_module(name).main)
    finally:
        for module in set(sys.modules) - before:
            if module == name or module.split(".")[0] == "lib":
                del sys.modules[module]
