"""Reading and writing: all or nothing, the same bytes for the same text; faults stand in ``bad_texts.yaml``."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from refusals import check_refused

from neural_smt.io import files, ragged
from neural_smt.io.files import atomic, open_text, read_csv, read_lines, write_lines
from neural_smt.io.ragged import Ragged
from neural_smt.io.tables import write_rows
from neural_smt.vocabulary import BOS, EOS, UNK, Vocabulary


@pytest.mark.parametrize("name", ["text.txt", "text.txt.gz"])
def test_lines_survive_a_round_trip(tmp_path: Path, name: str) -> None:
    lines = ["un deux", "", "l\u2028été", "  espaces  "]
    write_lines(tmp_path / name, lines)
    assert read_lines(tmp_path / name) == lines
    with open_text(tmp_path / name) as stream:
        assert [line.rstrip("\n") for line in stream] == lines


def test_line_ends_are_those_of_unix_and_windows_and_archives_hold_no_name(tmp_path: Path) -> None:
    (tmp_path / "t").write_bytes(b"a\r\nb\r\n")
    assert read_lines(tmp_path / "t") == ["a", "b"]
    for name in ("a.gz", "b.gz"):
        write_lines(tmp_path / name, ["x"] * 100)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


def test_what_unpacks_to_a_thousand_times_its_size_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_lines(tmp_path / "t.gz", ["x" * 100_000] * 50)
    assert len(read_lines(tmp_path / "t.gz")) == 50
    monkeypatch.setattr(files, "ALWAYS_READ", 1 << 20)
    check_refused(["t.gz", "200"], read_lines, tmp_path / "t.gz")


@pytest.mark.parametrize("directory", [False, True])
def test_a_failed_write_leaves_nothing_and_keeps_the_old(tmp_path: Path, directory: bool) -> None:
    path = tmp_path / "out"
    with atomic(path, directory) as temporary:
        ((temporary / "file") if directory else temporary).write_text("old")
    with pytest.raises(RuntimeError), atomic(path, directory) as temporary:
        ((temporary / "file") if directory else temporary).write_text("half")
        raise RuntimeError
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]
    assert ((path / "file") if directory else path).read_text() == "old"


def test_folders_written_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with atomic(path, directory=True) as first:
        (first / "file").write_text("first")
        with atomic(path, directory=True) as second:
            (second / "file").write_text("second")
        assert (path / "file").read_text() == "second"
    assert (path / "file").read_text() == "first"
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]


def test_many_threads_replace_one_folder(tmp_path: Path) -> None:
    def write(number: int) -> None:
        for _ in range(20):
            with atomic(tmp_path / "out", directory=True) as folder:
                for name in ("a", "b"):
                    (folder / name).write_text(str(number))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out" / "a").read_text() == (tmp_path / "out" / "b").read_text()


def test_tables_survive_a_round_trip(tmp_path: Path) -> None:
    write_rows(tmp_path / "t.csv", ["a", "b"], [[1, "x, y"], [2, 'q"']])
    assert read_csv(tmp_path / "t.csv") == [{"a": "1", "b": "x, y"}, {"a": "2", "b": 'q"'}]


def test_ragged_lists() -> None:
    lists, none = Ragged.from_lists([[1, 2], [], [3]]), Ragged.from_lists([])
    for found, expected in (
        (lists, [[1, 2], [], [3]]),
        (none, []),
        (lists.part(1, 3), [[], [3]]),
        (lists.take(np.array([2, 0, 0])), [[3], [1, 2], [1, 2]]),
        (Ragged.concatenate([lists, none, Ragged.from_lists([[], [4, 5]])]), [[1, 2], [], [3], [], [4, 5]]),
    ):
        assert [item.tolist() for item in found] == expected
        assert (len(found), found.lengths.tolist()) == (len(expected), list(map(len, expected)))
        assert (found.values.dtype, found.offsets[0]) == (np.int32, 0)


def test_vocabulary_orders_by_count_then_spelling(tmp_path: Path) -> None:
    vocabulary = Vocabulary.from_sentences(["b a b", "c a <unk>"])
    assert vocabulary.words == ["<unk>", "<s>", "</s>", "a", "b", "c"]
    assert vocabulary.counts.tolist() == [0, 0, 0, 2, 2, 1]
    assert (UNK, BOS, EOS) == (0, 1, 2)
    assert vocabulary.ids(["c", "z"]).tolist() == [5, UNK]
    assert [ids.tolist() for ids in vocabulary.encode(["a b", "", "z"])] == [[3, 4], [], [UNK]]
    assert vocabulary.text([4, 3]) == "b a"
    vocabulary.save(tmp_path / "v.tsv")
    assert Vocabulary.load(tmp_path / "v.tsv").digest == vocabulary.digest


@pytest.mark.parametrize("piece", [1, 2, 100])
def test_marked_ids_of_lists_are_counted_in_pieces(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ragged, "PIECE", piece)
    lists = Ragged.from_lists([[1, 2, 1], [], [0], [2, 2, 0, 1], []])
    assert lists.count(np.array([False, True, True])).tolist() == [3, 0, 0, 3, 0]
    assert Ragged.from_lists([]).count(np.array([True])).tolist() == []
