"""Every row of the table of bad inputs: its one sentence, its status, and nothing left behind."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import bad_models
import bad_settings
import bad_texts
import pytest
from bad_inputs import Row

from neural_smt.cli import main
from neural_smt.workflow.code_digest import PACKAGE

ROWS = [*bad_settings.ROWS, *bad_texts.ROWS, *bad_models.ROWS]

AS_PROCESSES = ["a text in another encoding", "a key with a slip", "no system named"]
"""Rows that are typed for real; the others run in this process."""


def write_files(folder: Path, row: Row) -> dict[str, bytes]:
    """The files of a row, and what is there then."""
    for name, content in row.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return contents(folder)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file and folder below a folder, hidden ones included."""
    return {str(path): b"" if path.is_dir() else path.read_bytes() for path in folder.rglob("*")}


def arguments(row: Row, repository: Path) -> list[str]:
    return shlex.split(row.command.replace("{repository}", str(repository)))


def sentence(row: Row, repository: Path) -> str:
    return "error: " + row.sentence.replace("{repository}", str(repository)) + "\n"


def test_the_table_is_long_and_says_everything_once() -> None:
    assert len(ROWS) >= 150
    assert len({row.name for row in ROWS}) == len(ROWS)
    assert len({(row.command, str(row.files)) for row in ROWS}) == len(ROWS)
    assert set(AS_PROCESSES) <= {row.name for row in ROWS}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_each_mistake_gets_its_sentence(
    row: Row, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    before = write_files(tmp_path, row)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("logging.root.handlers", [])
    assert main(arguments(row, repository)) == 1
    told = capfd.readouterr().err
    assert [line for line in told.splitlines(keepends=True) if line.startswith("error: ")] == [
        sentence(row, repository)
    ]
    assert "Traceback" not in told
    assert "; " in row.sentence or ": " in row.sentence, "it says what to do, or where"
    assert contents(tmp_path) == before


@pytest.mark.parametrize("row", [row for row in ROWS if row.name in AS_PROCESSES], ids=lambda row: row.name)
def test_typed_for_real_it_is_the_same(row: Row, repository: Path, tmp_path: Path) -> None:
    before = write_files(tmp_path, row)
    done = subprocess.run(
        [sys.executable, "-m", "neural_smt", *arguments(row, repository)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (1, "", sentence(row, repository))
    assert contents(tmp_path) == before
