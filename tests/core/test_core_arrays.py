"""Files of arrays: what is written is read, every changed bit is noticed, and so is what is no record's layout."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import pytest
from refusals import check_refused
from safetensors.numpy import load_file

from neural_smt.io import arrays as module
from neural_smt.io.arrays import ArrayWriter, read_arrays, read_meta, stamp_of, write_arrays
from neural_smt.io.best import FEW, best_of_each, best_of_parts
from neural_smt.io.ragged import Ragged, offsets_of
from neural_smt.io.records import FILE, load_record, write_record

SOME = {
    "bytes": np.arange(7, dtype=np.uint8),
    "none": np.zeros((0, 3), dtype=np.int64),
    "table": np.arange(12, dtype=np.float32).reshape(4, 3),
    "keys": np.array([2**64 - 1, 1], dtype=np.uint64),
    "flags": np.array([True, False, True]),
    "number": np.array(2.5),
}
META = {"rows": 4, "words": ["é", '"']}


@pytest.mark.parametrize("mapped", [True, False])
@pytest.mark.parametrize("small", [0, 1 << 20])
def test_arrays_are_read_as_written(tmp_path: Path, mapped: bool, small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SMALL", small)
    write_arrays(tmp_path / "a", SOME, META)
    found = read_arrays(tmp_path / "a", mapped=mapped)
    assert found.meta == META == read_meta(tmp_path / "a")
    for read in (found, load_file(tmp_path / "a")):
        assert read.keys() == SOME.keys()
        for name, array in SOME.items():
            assert (read[name].dtype, read[name].shape) == (array.dtype, array.shape)
            np.testing.assert_array_equal(read[name], array)
    assert all(array.flags.writeable != mapped and array.flags.aligned for array in found.values())
    assert list(read_arrays(tmp_path / "a", ["keys"])) == ["keys"]


@pytest.mark.parametrize("step", [1, 2, 100])
def test_arrays_that_grow_are_those_written_at_once(tmp_path: Path, step: int) -> None:
    lists, rows = Ragged.from_lists([[1, 2], [], [3], [4, 5, 6]]), np.arange(8.0).reshape(4, 2)
    write_arrays(tmp_path / "whole", {"l.values": lists.values, "l.offsets": lists.offsets, "rows": rows}, META)
    with ArrayWriter(tmp_path / "grown") as writer:
        for row in range(0, 4, step):
            writer.append("l", lists.part(row, min(row + step, 4)))
            writer.append("rows", rows[row : row + step])
        with pytest.raises(ValueError, match="belong"):
            writer.append("rows", np.zeros((1, 9)))
        np.testing.assert_array_equal(writer.read("l").offsets, lists.offsets)
        writer.meta = META
    assert (tmp_path / "grown").read_bytes() == (tmp_path / "whole").read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {"grown", "whole"}


@pytest.mark.parametrize("most", [0, 1, 3, FEW, FEW + 1])
def test_the_best_of_lists_are_those_of_sorting_each(most: int) -> None:
    """With equal values, empty lists, lists shorter and longer than what is asked for, and what lies between lists."""
    random = np.random.default_rng(most)
    counts = random.integers(0, 2 * FEW, 50) * random.integers(0, 2, 50)
    offsets = offsets_of(counts)
    values = random.integers(0, 20, offsets[-1]) / 4
    whole = best_of_each(values, offsets, most)
    ends = offsets[1:] - counts // 3
    for (places, bounds), last in ((whole, offsets[1:]), (best_of_parts(values, offsets[:-1], ends, most), ends)):
        for i, (first, end) in enumerate(zip(offsets, last, strict=False)):
            expected = sorted(range(first, end), key=lambda place: -values[place])
            assert places[bounds[i] : bounds[i + 1]].tolist() == expected[: most or None]


def test_every_flipped_bit_and_every_missing_byte_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_arrays(path, {"words": np.arange(5, dtype=np.int32), "x": np.ones(2)}, {"order": 3})
    good = path.read_bytes()
    damaged = [bytearray(good) for _ in range(8 * len(good))]
    for number, data in enumerate(damaged):
        data[number // 8] ^= 1 << number % 8
    for data in [*damaged, *(good[:length] for length in range(len(good))), good + b"\0"]:
        path.write_bytes(data)
        check_refused(["a", "damaged"], read_arrays, path)


def test_large_files_that_were_right_are_trusted_until_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STAMPED", 100)
    path = tmp_path / "a"
    write_arrays(path, {"x": np.zeros(100)})
    assert read_arrays(path).unseen and not stamp_of(path).exists()
    read_arrays(path).remember()
    assert not read_arrays(path).unseen and read_arrays(path, trusted=False).unseen
    data = path.read_bytes()
    path.write_bytes(data[:-1] + b"\1")
    check_refused("'x'", read_arrays, path)
    tmp_path.chmod(0o500)
    path.write_bytes(data)
    read_arrays(path).remember()  # where nothing can be written, nothing is remembered


class Inner(NamedTuple):
    """A record inside another one."""

    counts: Annotated[np.ndarray, "int32 [E, 2] < *"]


class Outer(NamedTuple):
    """All that a layout can say."""

    lists: Annotated[Ragged, "int32 [S] < V"]
    links: Annotated[Ragged, "uint8 [E] of [2]"]
    offsets: Annotated[np.ndarray, "int64 [S+1] to E"]
    scores: Annotated[np.ndarray, "float32 [E, N]"]
    weights: Annotated[np.ndarray, "float64 [*] any"]
    kinds: Annotated[np.ndarray, "uint8 [E] < 9"]
    inner: Inner

    def fault(self) -> str | None:
        """A rule of its own."""
        return "a first weight of 7" if len(self.weights) and self.weights[0] == 7 else None


def outer() -> Outer:
    """A record of two lists and three entries."""
    links = Ragged(np.ones((4, 2), dtype=np.uint8), np.array([0, 1, 1, 4]))
    scores, weights = np.ones((3, 5), dtype=np.float32), np.array([np.nan])
    inner = Inner(np.zeros((3, 2), dtype=np.int32))
    offsets, kinds = np.array([0, 2, 3]), np.array([8, 0, 1], dtype=np.uint8)
    return Outer(Ragged.from_lists([[0], [9, 1]]), links, offsets, scores, weights, kinds, inner)


Change = Callable[[np.ndarray], np.ndarray]
CHANGES: list[tuple[str, Change, list | None]] = [
    ("lists.values", lambda a: a.astype(np.int64), ["'lists.values'", "int64 [3]", "int32 [S] < V"]),
    ("lists.values", lambda a: a - 1, ["values", "'lists.values'", "int32 [S] < V", 10]),
    ("lists.values", lambda a: a + 1, ["values", "'lists.values'"]),
    ("lists.values", lambda a: a[1:], ["'lists.offsets'"]),
    ("lists.offsets", lambda a: a[1:], ["'offsets'", "int64 [3]", "int64 [S+1] to E"]),
    ("links.offsets", lambda a: a[[0, 2, 1, 3]], None),
    ("links.offsets", lambda a: np.array([0, 4, 1, 4]), ["values", "'links.offsets'"]),
    ("links.values", lambda a: a[:, :1], ["'links.values'", "uint8 [4, 1]"]),
    ("offsets", lambda a: a + 1, ["values", "'offsets'"]),
    ("scores", lambda a: a[1:], ["'scores'", "float32 [2, 5]", "float32 [E, N]"]),
    ("scores", lambda a: a * np.inf, ["values", "'scores'"]),
    ("scores", lambda a: a[0], ["'scores'", "float32 [5]"]),
    ("weights", lambda a: np.zeros((0,)), None),
    ("weights", lambda a: np.full(1, 7.0), ["a first weight of 7"]),
    ("kinds", lambda a: a + np.uint8(1), ["values", "'kinds'"]),
    ("inner.counts", lambda a: a - 1, ["values", "'inner.counts'"]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "change", "pieces"), CHANGES)
def test_layouts_of_records(tmp_path: Path, name: str, change: Change, pieces: list | None) -> None:
    write_record(tmp_path / "r", outer())
    assert load_record(Outer, tmp_path / "r", V=10).inner.counts.tolist() == [[0, 0]] * 3
    arrays = read_arrays(tmp_path / "r" / FILE)
    write_arrays(tmp_path / "r" / FILE, arrays | {name: change(arrays[name])})
    if pieces is None:
        load_record(Outer, tmp_path / "r", V=10)
        return
    check_refused([f"r/{FILE}", "damaged", *pieces], load_record, Outer, tmp_path / "r", V=10)
