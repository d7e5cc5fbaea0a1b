"""Texts in pieces, and numbers, tokens and words read from bytes inside kernels; shards of lines."""

import gzip
import math
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from refusals import check_refused

from neural_smt.errors import UserError
from neural_smt.io import streams, text_primitives
from neural_smt.io.files import check_text, read_lines, read_pieces, write_lines
from neural_smt.io.streams import count_lines, count_parallel, stream_lines, stream_parallel, write_pairs
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
    check_refused(["t", f"line {before + 1}", "UTF-8", "0xe9"], list, stream_lines(tmp_path / "t"))
    (tmp_path / "t.gz").write_bytes(gzip.compress(b"a\n" * 1000)[:20])
    for read in (lambda path: list(stream_lines(path)), count_lines):
        check_refused(["t.gz", "cannot be read"], read, tmp_path / "t.gz")
        check_refused(["nowhere", "no such file"], read, tmp_path / "nowhere")


@pytest.mark.parametrize(("source", "target"), [(2, 5), (5, 2), (0, 1), (1, 0)])
def test_both_numbers_of_lines_are_named(tmp_path: Path, source: int, target: int) -> None:
    paths = tmp_path / "a.en", tmp_path / "a.fr"
    for path, lines in zip(paths, (source, target), strict=True):
        write_lines(path, map(str, range(lines)))
    for read in (lambda *sides: list(stream_parallel(*sides)), count_parallel):
        check_refused(["a.en", source, "a.fr", target], read, *paths)


def test_pairs_are_written_both_or_not_at_all(tmp_path: Path) -> None:
    paths = tmp_path / "a.en", tmp_path / "a.fr.gz"
    pairs = [("one", "un"), ("", "deux"), ("three ", "")]
    write_pairs(*paths, pairs)
    assert list(stream_parallel(*paths)) == pairs
    assert count_parallel(*paths) == 3

    def broken():
        yield "new", "neuf"
        raise UserError("broken")

    check_refused("broken", write_pairs, *paths, broken())
    assert read_lines(paths[0]) == ["one", "", "three "]
    assert len(list(tmp_path.iterdir())) == 2


@given(st.integers(1, 40), st.integers(0, 500))
def test_shards_share_everything_once_and_in_order(count: int, items: int) -> None:
    shares = [Shard.parse(f"{number}-of-{count}").range(items) for number in range(1, count + 1)]
    assert [item for share in shares for item in share] == list(range(items))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def as_bytes(text: str | bytes) -> np.ndarray:
    data = text.encode() if isinstance(text, str) else text
    return np.frombuffer(data, dtype=np.uint8)


def number(text: str) -> tuple[float, bool]:
    return text_primitives.parse_number(as_bytes(text), 0, len(text))


@given(st.integers(0, 10**15 - 1), st.integers(-22, 22), st.sampled_from(["", "-", "+"]), st.sampled_from("eE"))
def test_numbers_of_fifteen_digits_are_exact(mantissa: int, exponent: int, sign: str, letter: str) -> None:
    text = f"{sign}{mantissa}{letter}{exponent}"
    assert number(text) == (float(text), True)


@given(st.floats(0, 3e38, allow_subnormal=False), st.integers(1, 17))
def test_other_numbers_are_right_to_fourteen_digits(value: float, digits: int) -> None:
    for text in (f"{value:.{digits}g}", f"{value:.{digits}f}", f"{value:.{digits}e}"):
        read, good = number(text)
        assert good
        assert math.isclose(read, float(text), rel_tol=1e-14, abs_tol=1e-300)


HUGE = "99999999999999999999"
NUMBERS = ["0", ".5", "5.", "1e-07", "3.72008e-44", "0." + "0" * 400 + "1", "1" + "0" * 30, "1e400", "9" * 400]


@pytest.mark.parametrize("text", [*NUMBERS, f"1e{HUGE}", f"1e-{HUGE}", f"0e{HUGE}"])
def test_numbers_of_any_length_and_size(text: str) -> None:
    read, good = number(text)
    assert good
    assert read == float(text) or math.isclose(read, float(text), rel_tol=1e-14)


@pytest.mark.parametrize(
    "text", ["", "-", "+", ".", "e5", "1e", "1e+", "1e-", "--1", "1.2.3", "1_0", "nan", "0x1", "1 "]
)
def test_what_is_no_number_is_not_read_as_one(text: str) -> None:
    assert not number(text)[1]


@given(st.binary(max_size=40))
def test_numbers_never_read_beyond_their_end(data: bytes) -> None:
    around = as_bytes(b"7" + data + b"7")
    alone = as_bytes(data)
    assert text_primitives.parse_number(around, 1, 1 + len(data)) == text_primitives.parse_number(alone, 0, len(data))
    value, end = text_primitives.parse_natural(around, 1, 1 + len(data))
    assert (value, end - 1) == text_primitives.parse_natural(alone, 0, len(data))


def test_natural_numbers_stop_growing() -> None:
    assert text_primitives.parse_natural(as_bytes("17-3"), 0, 4) == (17, 2)
    assert text_primitives.parse_natural(as_bytes("9" * 40), 0, 40) == (10**9, 40)
    assert text_primitives.parse_natural(as_bytes("-3"), 0, 2) == (0, 0)


def test_only_space_and_tab_separate_tokens() -> None:
    text = as_bytes(" \ta\u00a0b\u2028c\rd \x0b\r\nnext")
    stop, following = text_primitives.find_line_end(text, 0)
    tokens, position = [], text_primitives.skip_spaces(text, 0, stop)
    while position < stop:
        end = text_primitives.find_token_end(text, position, stop)
        tokens.append(text[position:end].tobytes().decode())
        position = text_primitives.skip_spaces(text, end, stop)
    assert tokens == ["a\u00a0b\u2028c\rd", "\x0b"]
    assert text[following:].tobytes() == b"next"
    assert text_primitives.find_line_end(text, following) == (len(text), len(text))


def test_words_get_numbers_as_they_come_and_room_when_they_need_it() -> None:
    numbers = text_primitives.WordNumbers()
    words = [f"{n}-" * (1 + n % 7) + "\u00e9" for n in range(69_999)]
    enlarged = 0
    for expected, word in [*enumerate(words), (0, words[0]), (17, words[17])]:
        text = as_bytes(word)
        found = text_primitives.number_word(numbers.arrays, text, 0, len(text))
        if found == text_primitives.NO_ROOM:
            numbers.enlarge(len(text))
            enlarged += 1
            found = text_primitives.number_word(numbers.arrays, text, 0, len(text))
        assert found == expected
    assert enlarged >= 2
    assert numbers.words() == words


def test_of_equal_words_the_first_is_found() -> None:
    words = text_primitives.index_words(["a", "b", "a", ""])
    assert [text_primitives.number_word(words, as_bytes(word), 0, len(word)) for word in ("a", "b", "")] == [0, 1, 3]


@pytest.mark.parametrize("name", ["text", "text.gz"])
@pytest.mark.parametrize("size", [1, 7, 64, 1 << 20])
def test_pieces_hold_whole_lines_and_all_of_them(tmp_path: Path, name: str, size: int) -> None:
    data = "eins\n\nzwei \u00fc\r\n\u4e2d\u6587 drei".encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    pieces = list(read_pieces(tmp_path / name, size))
    assert b"".join(piece for _, piece in pieces) == data
    assert all(piece.endswith(b"\n") for _, piece in pieces[:-1])
    lines = np.cumsum([0, *(piece.count(b"\n") for _, piece in pieces)])
    assert [before for before, _ in pieces] == lines[:-1].tolist()


def test_an_endless_line_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"a\n" + b"b" * 2000)
    check_refused(["text", "line 2"], list, read_pieces(tmp_path / "text", 10))


@pytest.mark.parametrize("before", [0, 5, 100_000])
@pytest.mark.parametrize("broken", [b"\xff", b"\xe4\xb8", b"\xc3(", b"\xed\xa0\x80", b"\xc0\x80"])
def test_the_line_of_a_broken_character_is_named(before: int, broken: bytes) -> None:
    good = b"x" * (before - 2) + b"\n\n" if before > 1 else b"x" * before
    pieces = "name", f"line {good.count(10) + 8}", "UTF-8", f"0x{broken[0]:02x}"
    check_refused(pieces, check_text, Path("name"), good + broken + b"\nmore\n", lines=7)


def test_nul_bytes_are_named() -> None:
    check_refused(["name", "line 3", "NUL"], check_text, Path("name"), "\u00fc\n\na\0b\n".encode())


def test_standard_output_that_is_closed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", None)
    with ExitStack() as stack:
        check_refused("standard output", streams.open_output, None, stack)
