"""Pharaoh alignments: reading, writing and complaints that name the line."""

from pathlib import Path

import numpy as np
import pytest
from alignments import alignments_of
from refusals import check_refused

from neural_smt.alignment.pharaoh import read_alignments, read_marked_alignments, write_alignments
from neural_smt.io.files import read_lines


def test_text_becomes_arrays(tmp_path: Path) -> None:
    path = tmp_path / "a.align"
    path.write_text("0-0 1-2\n\n 12-345\t7-8 \r\n")
    alignments = read_alignments(path)
    assert alignments.values.dtype == np.int16
    assert alignments.values.tolist() == [[0, 0], [1, 2], [12, 345], [7, 8]]
    assert alignments.offsets.tolist() == [0, 2, 2, 4]


@pytest.mark.parametrize("name", ["a.align", "a.align.gz"])
@pytest.mark.parametrize(
    ("pairs", "lines"), [([[(0, 0), (10, 9)], [], [(32767, 100)]], ["0-0 10-9", "", "32767-100"]), ([], [])]
)
def test_written_alignments_read_back(tmp_path: Path, name: str, pairs: list, lines: list[str]) -> None:
    write_alignments(tmp_path / name, [alignments_of(pairs)])
    assert read_lines(tmp_path / name) == lines
    assert [[tuple(link) for link in pair.tolist()] for pair in read_alignments(tmp_path / name)] == pairs


def test_gold_marks_sure_and_possible_links(tmp_path: Path) -> None:
    path = tmp_path / "gold"
    path.write_text("0-1 2?3\n4?4\n")
    alignments, sure = read_marked_alignments(path)
    assert alignments.values.tolist() == [[0, 1], [2, 3], [4, 4]]
    assert sure.tolist() == [True, False, False]
    assert read_marked_alignments(path, turned=True)[0].values.tolist() == [[1, 0], [3, 2], [4, 4]]


@pytest.mark.parametrize("line", ["0", "0-", "-0", "0-1-2", "a-b", "0 -1", "0:1", "0-1x", "0-40000", "é"])
def test_malformed_links_name_their_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "a.align"
    path.write_text(f"0-0\n{line}\n0-0\n")
    check_refused(["a.align", "line 2", "links"], read_alignments, path)
