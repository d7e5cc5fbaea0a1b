"""Benchmarks run by hand alone, so that nothing else would notice that what they measure has moved."""

import importlib
import sys
from pathlib import Path

import pytest

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
