"""Pharaoh alignments: reading, writing and complaints that name the line."""

from pathlib import Path

import numpy as np
import pytest
from alignments import alignments_of

from neural_smt.alignment.pharaoh import (
    check_alignments,
    read_alignments,
    read_marked_alignments,
    write_alignments,
)
from neural_smt.errors import UserError
from neural_smt.io.files import read_lines


def test_text_becomes_arrays(tmp_path: Path) -> None:
    path = tmp_path / "a.align"
    path.write_text("0-0 1-2\n\n 12-345\t7-8 \r\n")
    alignments = read_alignments(path)
    assert alignments.values.dtype == np.int16
    assert alignments.values.tolist() == [[0, 0], [1, 2], [12, 345], [7, 8]]
    assert alignments.offsets.tolist() == [0, 2, 2, 4]


@pytest.mark.parametrize("name", ["a.align", "a.align.gz"])
def test_written_alignments_read_back(tmp_path: Path, name: str) -> None:
    alignments = alignments_of([[(0, 0), (10, 9)], [], [(32767, 100)]])
    write_alignments(tmp_path / name, alignments)
    assert read_lines(tmp_path / name) == ["0-0 10-9", "", "32767-100"]
    back = read_alignments(tmp_path / name)
    assert back.values.tolist() == alignments.values.tolist()
    assert back.offsets.tolist() == alignments.offsets.tolist()


def test_no_pairs_at_all(tmp_path: Path) -> None:
    write_alignments(tmp_path / "a", alignments_of([]))
    assert (tmp_path / "a").read_bytes() == b""
    assert len(read_alignments(tmp_path / "a")) == 0


def test_gold_marks_sure_and_possible_links(tmp_path: Path) -> None:
    path = tmp_path / "gold"
    path.write_text("0-1 2?3\n4?4\n")
    alignments, sure = read_marked_alignments(path)
    assert alignments.values.tolist() == [[0, 1], [2, 3], [4, 4]]
    assert sure.tolist() == [True, False, False]
    with pytest.raises(UserError, match=r"gold, line 1: holds a possible link"):
        read_alignments(path)


@pytest.mark.parametrize("line", ["0", "0-", "-0", "0-1-2", "a-b", "0 -1", "0:1", "0-1x", "0-40000", "é"])
def test_malformed_links_name_their_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "a.align"
    path.write_text(f"0-0\n{line}\n0-0\n")
    with pytest.raises(UserError, match=r"a\.align, line 2: expected links"):
        read_alignments(path)


def test_links_outside_the_text_name_their_line() -> None:
    alignments = alignments_of([[(0, 0)], [(1, 1), (0, 2)]])
    check_alignments(alignments, np.array([1, 2]), np.array([1, 3]), Path("a"), Path("t"))
    with pytest.raises(UserError, match=r"a, line 2: link 0-2 lies outside the sentence pair of 2 and 2 words in t"):
        check_alignments(alignments, np.array([1, 2]), np.array([1, 2]), Path("a"), Path("t"))
    with pytest.raises(UserError, match=r"a has 2 lines but t has 1"):
        check_alignments(alignments, np.array([1]), np.array([1]), Path("a"), Path("t"))
