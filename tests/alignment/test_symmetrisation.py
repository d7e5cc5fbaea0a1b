"""Symmetrisation: cases worked by hand, what must hold of any alignment, and atools' own results."""

from pathlib import Path

import numpy as np
import pytest
from alignments import alignments_of

from neural_smt.alignment.pharaoh import read_alignments, write_alignments
from neural_smt.alignment.symmetrisation import HEURISTICS, symmetrise_alignments
from neural_smt.io.files import read_lines
from neural_smt.io.ragged import Ragged

Links = set[tuple[int, int]]


def ragged(pairs: list[Links]) -> Ragged:
    return alignments_of(map(sorted, pairs))


def symmetrised(forward: Links, backward: Links, heuristic: str) -> list[tuple[int, int]]:
    result = symmetrise_alignments(ragged([forward]), ragged([backward]), heuristic)
    return [tuple(link) for link in result.values.tolist()]


# Links 0-0 and 1-1 in both; 1-2 beside one of them with target 2 free; 3-4 alone with both words free; 4-0 and 0-5
# alone with one word free each.
FORWARD = {(0, 0), (1, 1), (1, 2), (3, 4), (4, 0)}
BACKWARD = {(0, 0), (1, 1), (0, 5)}


def test_cases_worked_by_hand() -> None:
    found = {name: " ".join(f"{i}-{j}" for i, j in symmetrised(FORWARD, BACKWARD, name)) for name in HEURISTICS}
    assert found == {
        "intersection": "0-0 1-1",
        "union": "0-0 0-5 1-1 1-2 3-4 4-0",
        "grow-diag": "0-0 1-1 1-2",
        "grow-diag-final": "0-0 0-5 1-1 1-2 3-4 4-0",
        "grow-diag-final-and": "0-0 1-1 1-2 3-4",
    }


def test_growing_goes_on_from_links_just_added() -> None:
    chain = {(0, 0), (1, 1), (2, 2), (3, 3)}
    assert symmetrised(chain, {(3, 3)}, "grow-diag") == sorted(chain)
    assert symmetrised(chain, {(0, 0)}, "grow-diag") == sorted(chain)
    assert symmetrised({(0, 0), (2, 0)}, {(0, 0)}, "grow-diag") == [(0, 0)]


def test_final_prefers_forward_links() -> None:
    # Both want source 0; whichever direction comes first takes it.
    assert symmetrised({(0, 3)}, {(0, 1)}, "grow-diag-final-and") == [(0, 3)]
    assert symmetrised({(0, 1)}, {(0, 3)}, "grow-diag-final-and") == [(0, 1)]


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
    write_alignments(tmp_path / "result", symmetrise_alignments(*directions, heuristic))
    name = {"intersection": "intersect"}.get(heuristic, heuristic)
    assert read_lines(tmp_path / "result") == read_lines(folder / f"{name}.align.gz")
