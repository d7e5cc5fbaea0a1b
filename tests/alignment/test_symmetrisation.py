"""Symmetrisation: cases worked by hand, what must hold of any alignment, and atools' own results."""

from pathlib import Path

import numpy as np
import pytest
from alignments import CASES, alignments_of

from neural_smt.alignment.pharaoh import read_alignments, write_alignments
from neural_smt.alignment.symmetrisation import HEURISTICS, symmetrise_alignments
from neural_smt.io.files import read_lines
from neural_smt.io.ragged import Ragged

Links = set[tuple[int, int]]


def ragged(pairs: list[Links]) -> Ragged:
    return alignments_of(map(sorted, pairs))


@pytest.mark.parametrize(("forward", "backward", "heuristic", "expected"), CASES["symmetrised"])
def test_cases_worked_by_hand(forward: str, backward: str, heuristic: str, expected: str) -> None:
    pairs = ([tuple(map(int, link.split("-"))) for link in line.split()] for line in (forward, backward))
    found = symmetrise_alignments(*(alignments_of([pair]) for pair in pairs), heuristic)
    assert " ".join(f"{i}-{j}" for i, j in found.values.tolist()) == expected


def reference_heuristic(forward: Links, backward: Links, heuristic: str) -> Links:
    """The heuristics written with sets, from their description."""
    union = forward | backward
    chosen = union if heuristic == "union" else forward & backward
    if not heuristic.startswith("grow"):
        return chosen
    chosen = set(chosen)

    def free(link: tuple[int, int]) -> tuple[bool, bool]:
        return all(link[0] != i for i, _ in chosen), all(link[1] != j for _, j in chosen)

    def near(link: tuple[int, int]) -> bool:
        return any(max(abs(link[0] - i), abs(link[1] - j)) == 1 for i, j in chosen)

    size = -1
    while size != len(chosen):
        size = len(chosen)
        for link in sorted(union):
            if link not in chosen and near(link) and any(free(link)):
                chosen.add(link)
    enough = {"grow-diag-final": any, "grow-diag-final-and": all}.get(heuristic)
    for direction in (forward, backward) if enough else ():
        for link in sorted(direction - chosen):
            if enough(free(link)):
                chosen.add(link)
    return chosen


def test_random_alignments_agree_with_sets_and_nest() -> None:
    """Empty ones among them."""
    rng = np.random.default_rng(1)
    forward, backward = (
        [{tuple(link) for link in rng.integers(0, 7, size=(rng.integers(0, 12), 2)).tolist()} for _ in range(300)]
        for _ in range(2)
    )
    assert set() in forward and set() in backward
    results = {name: symmetrise_alignments(ragged(forward), ragged(backward), name) for name in HEURISTICS}
    found = {name: [{tuple(link) for link in pair.tolist()} for pair in result] for name, result in results.items()}
    for name in HEURISTICS:
        expected = [reference_heuristic(f, r, name) for f, r in zip(forward, backward, strict=True)]
        assert found[name] == expected, name
    for pair in range(300):
        nested = [found[name][pair] for name in ("intersection", "grow-diag", "grow-diag-final-and")]
        assert nested[0] <= nested[1] <= nested[2] <= found["union"][pair]


@pytest.mark.parametrize("heuristic", HEURISTICS)
def test_atools_agrees_line_by_line(shared: Path, tmp_path: Path, heuristic: str) -> None:
    folder = shared / "oracle" / "symmetrization"
    directions = [read_alignments(folder / f"{name}.align.gz") for name in ("forward", "reverse")]
    write_alignments(tmp_path / "result", [symmetrise_alignments(*directions, heuristic)])
    name = {"intersection": "intersect"}.get(heuristic, heuristic)
    assert read_lines(tmp_path / "result") == read_lines(folder / f"{name}.align.gz")
