"""What selected data are compared with: the whole pool, and as many of its lines drawn at random."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from neural_smt.errors import UserError
from neural_smt.io.files import read_lines, write_lines
from neural_smt.selection.steps import compared_lines, count_kept, take_pairs, take_text


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A pool of ten pairs of which a selection kept four, and two in-domain pairs."""
    for side in ("en", "fr"):
        write_lines(tmp_path / f"pool.{side}", [f"{side} {number}" for number in range(10)])
        write_lines(tmp_path / f"in.{side}", [f"news {side} {number}" for number in range(2)])
    write_lines(tmp_path / "scores.tsv.gz", [f"0.{number}\t{int(number in (1, 2, 5, 7))}" for number in range(10)])
    return tmp_path


def pairs(folder: Path, seed: int = 3, scores: Path | None = None, in_domain: bool = True) -> tuple[list, list]:
    take_pairs(
        pool_source=folder / "pool.en",
        pool_target=folder / "pool.fr",
        in_domain_source=folder / "in.en" if in_domain else None,
        in_domain_target=folder / "in.fr" if in_domain else None,
        scores=scores,
        seed=seed,
        source_output=folder / "out.en",
        target_output=folder / "out.fr",
    )
    return read_lines(folder / "out.en"), read_lines(folder / "out.fr")


def test_all_pairs_follow_the_in_domain_ones_in_order(folder: Path) -> None:
    source, target = pairs(folder)
    assert source == ["news en 0", "news en 1", *(f"en {number}" for number in range(10))]
    assert target == ["news fr 0", "news fr 1", *(f"fr {number}" for number in range(10))]
    assert pairs(folder, in_domain=False)[0] == read_lines(folder / "pool.en")


def test_as_many_pairs_are_drawn_as_selection_kept(folder: Path) -> None:
    source, target = pairs(folder, scores=folder / "scores.tsv.gz")
    assert source[:2] == ["news en 0", "news en 1"]
    numbers = [int(line.split()[1]) for line in source[2:]]
    assert len(numbers) == 4 and numbers == sorted(set(numbers)), "none twice, in the pool's order"
    assert target == ["news fr 0", "news fr 1", *(f"fr {number}" for number in numbers)], "sides stay together"


def test_a_number_of_pairs_is_drawn_and_is_part_of_a_larger_one(folder: Path) -> None:
    pool = [[f"{side} {number}" for number in range(40)] for side in ("en", "fr")]

    def taken(scores: Path | None, seed: int, number: int) -> list[list[str]]:
        count, sides = compared_lines(pool, 40, scores, seed, number)
        assert count == number
        return [list(side) for side in sides]

    drawn = {number: taken(None, 5, number) for number in (0, 1, 10, 25, 40)}
    for number, (source, target) in drawn.items():
        numbers = [int(line.split()[1]) for line in source]
        assert len(numbers) == number and numbers == sorted(set(numbers)), "none twice, in the pool's order"
        assert target == [f"fr {number}" for number in numbers], "sides stay together"
    sources = [set(source) for source, _ in drawn.values()]
    assert all(smaller < larger for smaller, larger in pairwise(sources))
    assert taken(None, 6, 10) != drawn[10], "another seed, other pairs"
    assert taken(folder / "scores.tsv.gz", 5, 10) == drawn[10], "the number goes before what is kept"


def test_no_more_pairs_are_drawn_than_there_are(folder: Path) -> None:
    with pytest.raises(UserError, match="11 pairs are to be drawn, but the pool has 10; lower 'pairs' of the system"):
        take_pairs(
            pool_source=folder / "pool.en",
            pool_target=folder / "pool.fr",
            in_domain_source=None,
            in_domain_target=None,
            pairs=11,
            seed=1,
            source_output=folder / "out.en",
            target_output=folder / "out.fr",
        )
    assert not (folder / "out.en").exists()


def test_the_seed_decides_what_is_drawn(folder: Path) -> None:
    scores = folder / "scores.tsv.gz"
    first = pairs(folder, scores=scores)
    assert pairs(folder, scores=scores) == first
    assert any(pairs(folder, seed=seed, scores=scores) != first for seed in range(4, 8))


def test_every_line_is_drawn_as_often(folder: Path) -> None:
    pool = [list(map(str, range(10)))]
    times = np.zeros(10)
    for seed in range(1000):
        _, (drawn,) = compared_lines(pool, 10, folder / "scores.tsv.gz", seed)
        times[list(map(int, drawn))] += 1
    # 4 of 10 drawn: mean 400, standard deviation 15.5
    assert times.sum() == 4000 and np.abs(times - 400).max() < 5 * 15.5


def test_text_is_taken_whole_or_drawn_without_in_domain_lines(folder: Path) -> None:
    take_text(pool=folder / "pool.fr", seed=1, output=folder / "all.fr")
    assert read_lines(folder / "all.fr") == read_lines(folder / "pool.fr")
    take_text(pool=folder / "pool.fr", scores=folder / "scores.tsv.gz", seed=1, output=folder / "drawn.fr")
    drawn = read_lines(folder / "drawn.fr")
    assert len(drawn) == len(set(drawn)) == 4 and set(drawn) < set(read_lines(folder / "pool.fr"))


def test_where_selection_kept_everything_everything_is_drawn(folder: Path) -> None:
    write_lines(folder / "scores.tsv.gz", ["nan\t1"] * 10)
    assert pairs(folder, scores=folder / "scores.tsv.gz") == pairs(folder)


def test_scores_as_records_are_read_too(folder: Path) -> None:
    table = np.zeros(10, dtype=[("score", np.float64), ("kept", np.bool_)])
    table["kept"][[0, 3, 9]] = True
    np.save(folder / "scores.npy", table)
    assert count_kept(folder / "scores.npy", 10) == 3


def test_scores_of_another_pool_are_refused(folder: Path) -> None:
    with pytest.raises(UserError, match=r"scores\.tsv\.gz has 10 scores but the pool has 9 lines; run the selection"):
        count_kept(folder / "scores.tsv.gz", 9)
    write_lines(folder / "scores.tsv.gz", ["0.5\t1", "0.5 1"])
    with pytest.raises(UserError, match=r"scores\.tsv\.gz, line 2: ends neither in 0 nor in 1"):
        pairs(folder, scores=folder / "scores.tsv.gz")
    assert not (folder / "out.en").exists()
