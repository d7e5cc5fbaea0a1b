"""Texts in pieces: the lines, the parts and the faults of the whole."""

import gzip
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neural_smt.errors import UserError
from neural_smt.io import streams
from neural_smt.io.files import read_lines, write_lines
from neural_smt.io.streams import (
    concatenate,
    count_lines,
    count_parallel,
    stream_lines,
    stream_parallel,
    write_pairs,
)
from neural_smt.shards import Shard

TEXTS = st.lists(st.text(st.sampled_from("aé\u2028\r \x85\0"), max_size=5), max_size=12)


@given(TEXTS, st.booleans(), st.booleans(), st.integers(1, 20), st.integers(0, 14), st.integers(0, 14))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_lines_and_parts_are_those_of_the_whole(tmp_path, monkeypatch, lines, zipped, ended, piece, start, length):
    monkeypatch.setattr(streams, "PIECE", piece)
    data = "\n".join(lines).encode() + (b"\n" if ended else b"")
    path = tmp_path / ("text.gz" if zipped else "text")
    path.write_bytes(gzip.compress(data) if zipped else data)
    expected = read_lines(path)
    assert list(stream_lines(path)) == expected
    assert list(stream_lines(path, range(start, start + length))) == expected[start : start + length]
    assert count_lines(path) == len(expected)


@pytest.mark.parametrize("before", [0, 3, 4000])
def test_faults_are_named_with_their_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: int) -> None:
    monkeypatch.setattr(streams, "PIECE", 100)
    (tmp_path / "t").write_bytes("été\n".encode() * before + b"caf\xe9\nend\n")
    with pytest.raises(UserError, match=rf"t, line {before + 1}: not valid UTF-8 \(byte 0xe9\)"):
        list(stream_lines(tmp_path / "t"))
    (tmp_path / "t.gz").write_bytes(gzip.compress(b"a\n" * 1000)[:20])
    for read in (lambda path: list(stream_lines(path)), count_lines):
        with pytest.raises(UserError, match=r"t\.gz: cannot be read"):
            read(tmp_path / "t.gz")
        with pytest.raises(UserError, match="nowhere: no such file"):
            read(tmp_path / "nowhere")


@pytest.mark.parametrize(("source", "target"), [(2, 5), (5, 2), (0, 1), (1, 0)])
def test_both_numbers_of_lines_are_named(tmp_path: Path, source: int, target: int) -> None:
    paths = tmp_path / "a.en", tmp_path / "a.fr"
    for path, lines in zip(paths, (source, target), strict=True):
        write_lines(path, map(str, range(lines)))
    for read in (lambda *sides: list(stream_parallel(*sides)), count_parallel):
        with pytest.raises(UserError, match=rf"a\.en has {source} lines but .*a\.fr has {target};"):
            read(*paths)


def test_pairs_are_written_both_or_not_at_all(tmp_path: Path) -> None:
    paths = tmp_path / "a.en", tmp_path / "a.fr.gz"
    pairs = [("one", "un"), ("", "deux"), ("three ", "")]
    write_pairs(*paths, pairs)
    assert list(stream_parallel(*paths)) == pairs
    assert count_parallel(*paths) == 3

    def broken():
        yield "new", "neuf"
        raise UserError("broken")

    with pytest.raises(UserError, match="broken"):
        write_pairs(*paths, broken())
    assert read_lines(paths[0]) == ["one", "", "three "]
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_parts_make_the_whole(tmp_path: Path, suffix: str) -> None:
    parts = [tmp_path / f"{number}{suffix}" for number in range(4)]
    for part, lines in zip(parts, (["a", "b"], [], ["c"], []), strict=True):
        write_lines(part, lines)
    concatenate(parts, tmp_path / f"whole{suffix}")
    assert read_lines(tmp_path / f"whole{suffix}") == ["a", "b", "c"]
    with pytest.raises(UserError, match="nowhere: no such file"):
        concatenate([parts[0], tmp_path / "nowhere"], tmp_path / "other")
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("name", ["0-of-4", "5-of-4", "4", "2-of-", "a-of-b", "-1-of-4"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(UserError, match="shard"):
        Shard.parse(name)


@given(st.integers(1, 40), st.integers(0, 500))
def test_shards_share_everything_once_and_in_order(count: int, items: int) -> None:
    shares = [Shard.parse(f"{number}-of-{count}").range(items) for number in range(1, count + 1)]
    assert [item for share in shares for item in share] == list(range(items))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1
