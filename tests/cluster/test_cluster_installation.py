"""What is said where Slurm is missing and cannot be installed."""

import os
from pathlib import Path

import install_slurm
import pytest
import slurm_daemons


def test_without_apt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install_slurm, "program_path", lambda name: None if name == "slurmd" else f"/bin/{name}")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(SystemExit, match=r"^Slurm is not installed \(slurmd not found\) and there is no apt-get here"):
        install_slurm.install()


def test_without_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install_slurm, "program_path", lambda name: None)
    monkeypatch.setattr(install_slurm.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(SystemExit, match=r"run `sudo apt-get install --no-install-recommends munge slurm-wlm`"):
        install_slurm.install()


def test_several_nodes_without_root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with (
        pytest.raises(RuntimeError, match=r"^a cluster of several nodes needs root: take NODES=1$"),
        slurm_daemons.running_slurm(tmp_path, nodes=2),
    ):
        pytest.fail("started a cluster")


def test_nothing_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install_slurm, "program_path", lambda name: f"/bin/{name}")
    monkeypatch.setattr(install_slurm.subprocess, "run", lambda *_, **__: pytest.fail("ran apt-get"))
    install_slurm.install()
