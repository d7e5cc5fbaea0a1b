"""What settings and small objects refuse, each by its whole sentence; commands and files have a table of their own."""

from copy import deepcopy
from functools import reduce
from itertools import chain
from operator import getitem
from pathlib import Path
from typing import Any

import pytest
import yaml

from neural_smt.corpus.fetching import recorded
from neural_smt.decoding.search import SearchSettings
from neural_smt.errors import UserError, sentence
from neural_smt.experiment.settings import section_settings
from neural_smt.io.files import read_csv, read_object
from neural_smt.training.checkpoint import read_snapshots
from neural_smt.workflow.invoke import find_step

CALLS = yaml.safe_load(Path(__file__).with_name("bad_calls.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("row", CALLS, ids=lambda row: row[0])
def test_calls_that_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row: list[Any]) -> None:
    function, arguments, told, *files = row
    monkeypatch.chdir(tmp_path)
    for name, data in chain.from_iterable(one.items() for one in files):
        Path(name).write_bytes(data.encode("latin-1"))
    places, names = (arguments, {}) if isinstance(arguments, list) else ([], arguments)
    with pytest.raises(UserError) as caught:
        find_step(function)(*places, **names)
    assert sentence(caught.value) == told


def test_settings_can_be_copied() -> None:
    chosen = section_settings("tuning", {"nbest": 7})
    assert deepcopy(chosen) == chosen and chosen.nbest == 7


def test_whole_numbers_may_be_written_with_a_point() -> None:
    assert SearchSettings(stack_size=5.0, beam_threshold=0).stack_size == 5


AGAIN = "run the step that makes it again"


def test_what_files_lack_is_named(tmp_path: Path) -> None:
    (tmp_path / "f").write_text('{"a": {}}\n1\n')
    with pytest.raises(UserError, match=f"f, line 2: has no 'b'; {AGAIN}"):
        read_csv(tmp_path / "f")[0]["b"]
    (tmp_path / "f").write_text('{"a": {}}')
    for keys in (["rows"], ["a", "rows"]):
        with pytest.raises(UserError, match=f"f: has no 'rows'; {AGAIN}"):
            reduce(getitem, keys, read_object(tmp_path / "f"))
    with pytest.raises(UserError, match="f, line 1: not a SHA-256; remove the file, and the next download is recorded"):
        recorded(tmp_path / "f", "https://example.org/a")


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
