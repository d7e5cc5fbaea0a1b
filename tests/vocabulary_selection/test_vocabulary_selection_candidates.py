"""Sets of target words: what is in them, unions, the folder, and what the folder is refused for."""

from pathlib import Path

import numpy as np
import pytest
from candidates import whole_sets
from hypothesis import given
from hypothesis import strategies as st
from refusals import check_refused

from neural_smt.io.files import digest_lines
from neural_smt.io.ragged import Ragged
from neural_smt.vocabulary_selection import candidates
from neural_smt.vocabulary_selection.candidates import CandidateSets

ORIGINS = {"vocabulary": "v1", "source": "s1", "dictionary": "d1"}


@pytest.fixture
def sets() -> CandidateSets:
    own = Ragged.from_lists([[5, 9], [], [6, 9, 11]])
    return CandidateSets(own, np.array([0, 2, 3, 4], dtype=np.int32), 12, ORIGINS, {"frequent": 2})


@pytest.fixture(params=[1, 2, 100])
def piece(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sentences that are checked at a time."""
    monkeypatch.setattr(candidates, "CHECKED", request.param)


def test_a_set_is_what_all_have_and_what_the_sentence_has(sets: CandidateSets) -> None:
    assert [sets.of(i).tolist() for i in range(3)] == [[0, 2, 3, 4, 5, 9], [0, 2, 3, 4], [0, 2, 3, 4, 6, 9, 11]]
    assert sets.sizes.tolist() == [6, 4, 7]


@given(st.lists(st.sets(st.integers(5, 30)), min_size=1), st.integers(0, 5), st.data())
def test_the_union_is_that_of_the_sets(lists: list[set[int]], common: int, data: st.DataObject) -> None:
    sets = CandidateSets(Ragged.from_lists([sorted(ids) for ids in lists]), np.arange(common, dtype=np.int32), 31)
    rows = data.draw(st.lists(st.integers(0, len(lists) - 1)))
    found = sets.union(np.array(rows, dtype=np.int64))
    assert found.dtype == np.int64
    assert found.tolist() == sorted(set(range(common)).union(*(lists[row] for row in rows)))


@pytest.mark.usefixtures("piece")
def test_the_folder_comes_back(sets: CandidateSets, tmp_path: Path) -> None:
    sets.save(tmp_path / "sets")
    again = CandidateSets.load(tmp_path / "sets", **ORIGINS, phrase_table="unused")
    assert [again.of(i).tolist() for i in range(3)] == [sets.of(i).tolist() for i in range(3)]
    assert (again.size, again.origins, again.settings, again.digest) == (12, ORIGINS, {"frequent": 2}, sets.digest)
    whole_sets(Ragged.from_lists([]), 5).save(tmp_path / "empty")
    assert len(CandidateSets.load(tmp_path / "empty")) == 0


def test_sets_made_from_something_else_are_refused(sets: CandidateSets, tmp_path: Path) -> None:
    sets.save(tmp_path / "sets")
    for name, word in (("vocabulary", "vocabulary"), ("source", "source"), ("dictionary", "translation")):
        pieces = "sets", "another", word, "vocabulary_selection"
        check_refused(pieces, CandidateSets.load, tmp_path / "sets", **{name: "other"})
    with pytest.raises(TypeError, match="sets are not made from text"):
        CandidateSets.load(tmp_path / "sets", text="s1")


def test_the_digest_follows_what_the_sets_were_made_from(sets: CandidateSets) -> None:
    others = [
        CandidateSets(sets.own, sets.common, 12, {**ORIGINS, "source": "s2"}, sets.settings),
        CandidateSets(sets.own, sets.common, 12, ORIGINS, {"frequent": 3}),
        CandidateSets(sets.own, sets.common, 13, ORIGINS, sets.settings),
    ]
    assert len({sets.digest, *(other.digest for other in others)}) == 4
    assert digest_lines(["a b", "c"]) != digest_lines(["a b c"])


@pytest.mark.usefixtures("piece")
@pytest.mark.parametrize("own", [[[5, 5]], [[9, 6]], [[4]], [[12]], [[-1]], [[5, 6], [7, 11], [6, 9, 8]]])
def test_ids_out_of_order_or_range_are_refused(tmp_path: Path, own: list[list[int]]) -> None:
    CandidateSets(Ragged.from_lists(own), np.array([0, 4], dtype=np.int32), 12).save(tmp_path / "sets")
    check_refused(["arrays.safetensors", "damaged", "vocabulary_selection"], CandidateSets.load, tmp_path / "sets")
