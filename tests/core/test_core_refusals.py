"""What settings and small objects refuse, and what is named of it; commands and files have a table of their own."""

from copy import deepcopy
from functools import reduce
from itertools import chain
from operator import getitem
from pathlib import Path
from typing import Any

import pytest
import yaml
from refusals import check_refused, check_sentence

from neural_smt.corpus.fetching import recorded
from neural_smt.decoding.search import SearchSettings
from neural_smt.errors import UserError, sentence
from neural_smt.experiment.settings import section_settings
from neural_smt.io.files import read_csv, read_object
from neural_smt.training.snapshots import read_snapshots
from neural_smt.workflow.invoke import find_step

CALLS = yaml.safe_load(Path(__file__).with_name("bad_calls.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("row", CALLS, ids=lambda row: row[0])
def test_calls_that_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row: list[Any]) -> None:
    function, arguments, pieces, *files = row
    monkeypatch.chdir(tmp_path)
    for name, data in chain.from_iterable(one.items() for one in files):
        Path(name).write_bytes(data.encode("latin-1"))
    places, names = (arguments, {}) if isinstance(arguments, list) else ([], arguments)
    check_refused(pieces, find_step(function), *places, **names)


def test_settings_can_be_copied() -> None:
    chosen = section_settings("tuning", {"nbest": 7})
    assert deepcopy(chosen) == chosen and chosen.nbest == 7


def test_whole_numbers_may_be_written_with_a_point() -> None:
    assert SearchSettings(stack_size=5.0, beam_threshold=0).stack_size == 5


def test_what_files_lack_is_named(tmp_path: Path) -> None:
    (tmp_path / "f").write_text('{"a": {}}\n1\n')
    check_refused(["f", "line 2", "'b'"], read_csv(tmp_path / "f")[0].__getitem__, "b")
    (tmp_path / "f").write_text('{"a": {}}')
    for keys in (["rows"], ["a", "rows"]):
        check_refused(["f", "'rows'"], reduce, getitem, keys, read_object(tmp_path / "f"))
    check_refused(["f", "line 1", "SHA-256"], recorded, tmp_path / "f", "https://example.org/a")


def test_a_folder_without_epochs(tmp_path: Path) -> None:
    check_refused([tmp_path, "epochs"], lambda: list(read_snapshots(tmp_path)))


def test_faults_of_the_system_and_of_the_program() -> None:
    check_sentence(sentence(UserError("a name\nof two lines; shorten it")), "a name of two lines")
    check_sentence(sentence(FileNotFoundError(2, "?", "a.txt")), ["a.txt", "No such file"])
    check_sentence(sentence(IsADirectoryError(21, "?", "a")), ["a", "directory"])
    check_sentence(sentence(MemoryError("Unable to allocate 9 TiB")), ["memory", "9 TiB"])
    assert sentence(OSError(None, "without a number")) is None
    assert sentence(KeyError("a fault of the program")) is None
    assert sentence(ValueError("another")) is None
