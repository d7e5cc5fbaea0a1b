"""What settings and small objects refuse, each by its whole sentence; commands and files have a table of their own."""

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from neural_smt.corpus.fetching import recorded
from neural_smt.decoding.search import SearchSettings
from neural_smt.errors import UserError, sentence
from neural_smt.experiment.settings import section_settings
from neural_smt.io.files import read_csv, read_json, read_object
from neural_smt.training.checkpoint import read_snapshots
from neural_smt.workflow.invoke import find_step

CALLS = yaml.safe_load(Path(__file__).with_name("bad_calls.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("function", "arguments", "told"), CALLS)
def test_calls_that_are_refused(function: str, arguments: list[Any] | dict[str, Any], told: str) -> None:
    places, names = (arguments, {}) if isinstance(arguments, list) else ([], arguments)
    with pytest.raises(UserError) as caught:
        find_step(function)(*places, **names)
    assert str(caught.value) == told


def test_settings_can_be_copied() -> None:
    chosen = section_settings("tuning", {"nbest": 7})
    assert deepcopy(chosen) == chosen and chosen.nbest == 7


def test_whole_numbers_may_be_written_with_a_point() -> None:
    assert SearchSettings(stack_size=5.0, beam_threshold=0).stack_size == 5


AGAIN = "run the step that makes it again"

FILES: list[tuple[Callable[[Path], Any], bytes, str]] = [
    (read_object, b"[1]", f"f: holds no JSON object; {AGAIN}"),
    (lambda path: read_object(path)["rows"], b"{}", f"f: has no 'rows'; {AGAIN}"),
    (lambda path: read_object(path)["a"]["b"], b'{"a": {}}', f"f: has no 'b'; {AGAIN}"),
    (read_json, b"\xff", f"f: not a JSON file; {AGAIN}"),
    (read_json, b"[" * 100_000, f"f: not a JSON file; {AGAIN}"),
    (lambda path: read_csv(path)[0]["c"], b"a,b\n1,2\n", f"f, line 2: has no 'c'; {AGAIN}"),
    (read_csv, b"a,b\n1,2,3\n", f"f, line 2: not a row of a CSV table (3 cells under a header of 2); {AGAIN}"),
    (read_csv, b'a,b\n"1,2\n', f"f, line 2: not a row of a CSV table (unexpected end of data); {AGAIN}"),
    (read_csv, b"a,b\n\xff,2\n", "f, line 2: not valid UTF-8 (byte 0xff); convert the file to UTF-8"),
    (
        lambda path: recorded(path, "https://example.org/a"),
        b"none",
        "f, line 1: not a SHA-256; remove the file, and the next download is recorded there",
    ),
]


@pytest.mark.parametrize(("read", "data", "told"), FILES, ids=lambda part: part if isinstance(part, str) else "")
def test_damaged_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: Callable[[Path], Any], data: bytes, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("f").write_bytes(data)
    with pytest.raises(UserError) as caught:
        read(Path("f"))
    assert sentence(caught.value) == told


def test_a_folder_without_epochs(tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        list(read_snapshots(tmp_path))
    advice = "train with a folder for them, for at least one epoch"
    assert str(caught.value) == f"{tmp_path}: holds no models of epochs; {advice}"


def test_faults_of_the_system_and_of_the_program() -> None:
    assert sentence(UserError("a name\nof two lines")) == "a name of two lines"
    assert sentence(FileNotFoundError(2, "?", "a.txt")) == "a.txt: No such file or directory; check the path"
    assert sentence(IsADirectoryError(21, "?", "a")) == "a: Is a directory; name a file"
    told = sentence(MemoryError("Unable to allocate 9 TiB"))
    assert told == "not enough memory (Unable to allocate 9 TiB); give the job more memory, or lower its sizes"
    assert sentence(OSError(None, "without a number")) is None
    assert sentence(KeyError("a fault of the program")) is None
    assert sentence(ValueError("another")) is None
