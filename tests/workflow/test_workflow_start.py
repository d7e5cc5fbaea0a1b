"""What a job loads before its work begins: jobs of a second must not wait for libraries that they do not use."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

COMPILER, TABLES, FIGURES, NETWORKS = ("numba",), ("pandas",), ("matplotlib",), ("torch",)

SPARED = {
    "experiment.system_folder": (*COMPILER, *TABLES, *FIGURES, *NETWORKS, "sacremoses"),
    "decoding.joining_steps": (*COMPILER, *TABLES, *FIGURES, *NETWORKS, "sacremoses"),
    "corpus.steps": (*COMPILER, *TABLES, *FIGURES, *NETWORKS, "sacremoses", "joblib"),
    "shortlist": (*COMPILER, *FIGURES, *NETWORKS),
    "report.pages": (*COMPILER, *FIGURES, *NETWORKS),
    "alignment.steps": (*TABLES, *FIGURES, *NETWORKS),
    "phrases.steps": (*TABLES, *FIGURES, *NETWORKS),
    "language_model.steps": (*TABLES, *FIGURES, *NETWORKS),
    "decoding.steps": (*TABLES, *FIGURES, *NETWORKS),
    "evaluation.steps": (*TABLES, *FIGURES, *NETWORKS),
    "analysis.plots": (*NETWORKS, "scipy.stats"),
    "report.costs": (*COMPILER, *NETWORKS, "scipy.stats"),
}
"""Modules of steps, and the libraries that they do not load."""

STARTED = """
import importlib, sys
import neural_smt.workflow.run_step
importlib.import_module(f"neural_smt.{sys.argv[1]}")
print(*sorted(set(sys.argv[2:]) & sys.modules.keys()))
"""


@pytest.mark.parametrize("module", SPARED)
def test_a_step_loads_only_what_it_uses(module: str) -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "pkg")}
    command = [sys.executable, "-c", STARTED, module, *SPARED[module]]
    assert subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.split() == []
