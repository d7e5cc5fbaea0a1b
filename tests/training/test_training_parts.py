"""Parts of the training text with vocabularies of fixed size: literal cases, a naive walk, faults."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neural_smt.errors import UserError
from neural_smt.io.ragged import Ragged
from neural_smt.training.attention import partitions
from neural_smt.vocabulary import EOS, UNK


def parts_of(lists: list[list[int]], batches: list[list[int]], tau: int, size: int) -> list[list[int]]:
    """The vocabulary of each batch."""
    found = partitions(Ragged.from_lists(lists), [np.array(rows, dtype=np.int64) for rows in batches], tau, size)
    assert all(ids.dtype == np.int64 for ids in found)
    return [ids.tolist() for ids in found]


def test_a_batch_that_does_not_fit_begins_a_part() -> None:
    # 3, 4, 9 and one of the most frequent; then 10, 11, 3 and the most frequent word of the part before
    first, second = [UNK, EOS, 3, 4, 5, 9], [UNK, EOS, 3, 4, 10, 11]
    found = parts_of([[3, 4], [4, 9], [10, 11], [3, 0]], [[0], [1], [2], [3]], tau=6, size=20)
    assert found == [first, first, second, second]


def test_the_order_of_the_batches_decides() -> None:
    text, three, four = [[3], [4], [5], [3]], [0, 2, 3, 4], [0, 2, 4, 5]
    assert parts_of(text, [[0], [3], [1], [2]], 4, 10) == [three, three, three, [0, 2, 3, 5]]
    assert parts_of(text, [[0, 3], [1, 2]], 4, 10) == [three, four]


@given(st.lists(st.lists(st.sampled_from([0, *range(3, 30)]), max_size=6), max_size=12), st.integers(8, 20))
def test_parts_equal_those_of_a_walk(lists: list[list[int]], tau: int) -> None:
    needed: list[set[int]] = []  # of every part, one batch after the other
    part_of = []
    for words in lists:
        if not needed or len(needed[-1] | set(words)) > tau:
            needed.append({UNK, EOS})
        needed[-1] |= set(words)
        part_of.append(len(needed) - 1)
    found = parts_of(lists, [[number] for number in range(len(lists))], tau, 30)
    assert len(found) == len(lists)
    before, last = {UNK, EOS, *range(3, tau + 1)}, -1
    for part, ids in zip(part_of, found, strict=True):
        assert len(ids) == tau and ids == sorted(set(ids))
        assert set(ids) == before if part == last else needed[part] <= set(ids) <= needed[part] | before
        before, last = set(ids), part


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(UserError, match=r"batch 2 has 5 distinct target words, more than tau \(4\)"):
        parts_of([[3], [4, 5, 6, 0]], [[0], [1]], 4, 10)
    for tau in (2, 10, 11):
        with pytest.raises(UserError, match=r"tau is .* set it to 3 to 9"):
            parts_of([[3]], [[0]], tau, 10)
