"""Parts of the training text with vocabularies of fixed size: literal cases, a naive walk, faults."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neural_smt.errors import UserError
from neural_smt.io.ragged import Ragged
from neural_smt.vocabulary import EOS, UNK
from neural_smt.vocabulary_selection.partitions import partitions


def batches_of(*rows: list[int]) -> list[np.ndarray]:
    return [np.array(row, dtype=np.int64) for row in rows]


def test_a_batch_that_does_not_fit_begins_a_part() -> None:
    sentences = Ragged.from_lists([[3, 4], [4, 9], [10, 11], [3, 0]])
    found = partitions(sentences, batches_of([0], [1], [2], [3]), tau=6, size=20)
    assert found.starts.tolist() == [0, 2, 4]
    # 3, 4, 9 and one of the most frequent; then 10, 11, 3 and the most frequent word of the part before
    assert found.ids.tolist() == [[UNK, EOS, 3, 4, 5, 9], [UNK, EOS, 3, 4, 10, 11]]
    assert [found.of_batch(batch).tolist() for batch in (1, 2)] == found.ids.tolist()
    assert found.of_batch(0).dtype == np.int64


def test_the_order_of_the_batches_decides() -> None:
    sentences = Ragged.from_lists([[3], [4], [5], [3]])
    assert partitions(sentences, batches_of([0], [3], [1], [2]), 4, 10).starts.tolist() == [0, 3, 4]
    assert partitions(sentences, batches_of([0, 3], [1, 2]), 4, 10).starts.tolist() == [0, 1, 2]


def walk(lists: list[list[int]], tau: int) -> tuple[list[int], list[set[int]]]:
    """The first batch of every part and the words it needs, one batch after the other."""
    starts, needed = [], []
    for number, words in enumerate(lists):
        if not needed or len(needed[-1] | set(words)) > tau:
            starts.append(number)
            needed.append({UNK, EOS})
        needed[-1] |= set(words)
    return starts, needed


@given(st.lists(st.lists(st.sampled_from([0, *range(3, 30)]), max_size=6), max_size=12), st.integers(8, 20))
def test_parts_equal_those_of_a_walk(lists: list[list[int]], tau: int) -> None:
    found = partitions(Ragged.from_lists(lists), batches_of(*([i] for i in range(len(lists)))), tau, 30)
    starts, needed = walk(lists, tau)
    assert found.starts.tolist() == [*starts, len(lists)]
    assert found.ids.shape == (len(starts), tau)
    before = {UNK, EOS, *range(3, tau + 1)}
    for part, words in enumerate(needed):
        ids = set(found.ids[part].tolist())
        assert len(ids) == tau and found.ids[part].tolist() == sorted(ids)
        assert words <= ids <= words | before
        before = ids


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(UserError, match=r"batch 2 has 5 distinct target words, more than tau \(4\)"):
        partitions(Ragged.from_lists([[3], [4, 5, 6, 0]]), batches_of([0], [1]), 4, 10)
    for tau in (2, 10, 11):
        with pytest.raises(UserError, match=r"tau is .* set it to 3 to 9"):
            partitions(Ragged.from_lists([[3]]), batches_of([0]), tau, 10)
    found = partitions(Ragged.from_lists([[3]]), batches_of([0]), 4, 10)
    for batch in (-1, 1):
        with pytest.raises(IndexError, match="of 1"):
            found.of_batch(batch)
