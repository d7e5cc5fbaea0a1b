"""What selected data are compared with: the whole pool, and as many of its lines drawn at random."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from selection_world import taken, texts_of, write_texts

from neural_smt.io.files import read_lines, write_lines
from neural_smt.selection.steps import take, taken_lines


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A pool of ten pairs of which a selection kept four, and two in-domain pairs."""
    write_lines(tmp_path / "scores", [f"0.{number}\t{int(number in (1, 2, 5, 7))}" for number in range(10)])
    return write_texts(tmp_path, pool=[f"w {n}" for n in range(10)], **{"in": ["news 0", "news 1"]})


def test_lines_follow_the_in_domain_ones_in_order(folder: Path) -> None:
    every = [[f"{word} {number}" for number in range(10)] for word in ("w", "W")]
    assert taken(folder) == [["news 0", "news 1", *every[0]], ["NEWS 0", "NEWS 1", *every[1]]]
    assert taken(folder, in_domain=False) == every
    source, target = taken(folder, scores=folder / "scores")
    assert source[:2] == ["news 0", "news 1"] and [line.upper() for line in source] == target, "sides stay together"
    numbers = [int(line.split()[1]) for line in source[2:]]
    assert len(numbers) == 4 and numbers == sorted(set(numbers)), "none twice, in the pool's order"
    assert taken(folder, scores=folder / "scores") == [source, target]
    assert any(taken(folder, seed=seed, scores=folder / "scores") != [source, target] for seed in range(4, 8))


def test_a_number_of_pairs_is_drawn_and_is_part_of_a_larger_one(folder: Path) -> None:
    drawn = {number: taken_lines(40, 5, None, number) for number in (0, 1, 10, 25, 40)}
    assert [int(lines.sum()) for lines in drawn.values()] == list(drawn)
    assert all((larger | ~smaller).all() for smaller, larger in pairwise(drawn.values()))
    assert (taken_lines(40, 6, None, 10) != drawn[10]).any(), "another seed, other pairs"
    assert (taken_lines(40, 5, folder / "scores", 10) == drawn[10]).all(), "the number goes before what is kept"
    assert len(taken(folder, in_domain=False, pairs=3)[0]) == 3


def test_every_line_is_drawn_as_often(folder: Path) -> None:
    times = sum(taken_lines(10, seed, folder / "scores").astype(int) for seed in range(1000))
    # 4 of 10 drawn: mean 400, standard deviation 15.5
    assert times.sum() == 4000 and np.abs(times - 400).max() < 5 * 15.5


def test_extra_text_has_one_side(folder: Path) -> None:
    def lines(scores: Path | None) -> list[str]:
        take(pool=texts_of(folder, "pool", ("fr",)), in_domain=[], scores=scores, seed=1, output=[folder / "o"])
        return read_lines(folder / "o")

    assert lines(None) == read_lines(folder / "pool.fr")
    drawn = lines(folder / "scores")
    assert len(drawn) == len(set(drawn)) == 4 and set(drawn) < set(read_lines(folder / "pool.fr"))
    write_lines(folder / "scores", ["nan\t1"] * 10)
    assert lines(folder / "scores") == read_lines(folder / "pool.fr"), "all, where selection kept everything"
