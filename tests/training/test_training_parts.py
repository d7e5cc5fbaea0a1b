"""Parts of the training text with vocabularies of fixed size against a naive walk."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from neural_smt.io.ragged import Ragged
from neural_smt.training.attention import partitions
from neural_smt.vocabulary import EOS, UNK


def parts_of(lists: list[list[int]], batches: list[list[int]], tau: int, size: int) -> list[list[int]]:
    """The vocabulary of each batch."""
    found = partitions(Ragged.from_lists(lists), [np.array(rows, dtype=np.int64) for rows in batches], tau, size)
    assert all(ids.dtype == np.int64 for ids in found)
    return [ids.tolist() for ids in found]


@given(st.data(), st.lists(st.lists(st.sampled_from([0, *range(3, 30)]), max_size=4), max_size=12), st.integers(10, 20))
def test_parts_equal_those_of_a_walk(data: st.DataObject, lists: list[list[int]], tau: int) -> None:
    """Rows in any order, in batches of one or two; tau leaves room for the first two."""
    order = data.draw(st.permutations(range(len(lists))))
    cut = data.draw(st.sampled_from([order[:2], order[:0]]))
    batches = [part for part in (cut, *([row] for row in order[len(cut) :])) if part]
    needed: list[set[int]] = []  # of every part, one batch after the other
    part_of = []
    for rows in batches:
        words = {UNK, EOS}.union(*(lists[row] for row in rows))
        if not needed or len(needed[-1] | words) > tau:
            needed.append(set())
        needed[-1] |= words
        part_of.append(len(needed) - 1)
    expected, known = [], {UNK, EOS, *range(3, tau + 1)}
    for words in needed:
        # what a part leaves free keeps the most frequent words of the part before
        known = words | set(sorted(known - words)[: tau - len(words)])
        expected.append(sorted(known))
    assert parts_of(lists, batches, tau, 30) == [expected[part] for part in part_of]
