"""The order of minibatches, and which pairs are held out."""

import numpy as np
import pytest

from neural_smt.errors import UserError
from neural_smt.io.ragged import Ragged
from neural_smt.training.encoder_decoder import PhrasePairs, split_pairs
from neural_smt.training.loop import BatchOrder


def order_of(count: int, reshuffle: bool = False, seed: int = 0) -> BatchOrder:
    lengths = np.random.default_rng(9).integers(1, 8, count)
    return BatchOrder(lengths, batch=4, buffer=3, seed=seed, reshuffle=reshuffle)


def test_an_epoch_holds_every_pair_once_sorted_within_each_buffer() -> None:
    order = order_of(50)
    assert order.updates_per_epoch == 13
    batches = [order.rows(update) for update in range(13)]
    assert sorted(np.concatenate(batches).tolist()) == list(range(50))
    assert [len(rows) for rows in batches] == [4] * 12 + [2]
    for start in range(0, 13, 3):
        lengths = order.lengths[np.concatenate(batches[start : start + 3])]
        assert (np.diff(lengths) >= 0).all()


def test_the_code_repeats_its_order_and_the_paper_does_not() -> None:
    fixed, fresh = order_of(50), order_of(50, reshuffle=True)
    assert np.array_equal(fixed.rows(2), fixed.rows(15))
    assert np.array_equal(fixed.rows(2), fresh.rows(2))
    assert not np.array_equal(fresh.rows(2), fresh.rows(15))
    assert not np.array_equal(order_of(50, seed=1).rows(2), fixed.rows(2))


def test_any_update_can_be_asked_for_first() -> None:
    order = order_of(50, reshuffle=True)
    rows = [order.rows(update) for update in range(40)]
    for update in (37, 3, 20):
        assert np.array_equal(order_of(50, reshuffle=True).rows(update), rows[update])


def pairs_of(count: int) -> PhrasePairs:
    random = np.random.default_rng(4)
    sides = [Ragged.from_lists([random.integers(3, 40, random.integers(1, 4)) for _ in range(count)]) for _ in range(2)]
    return PhrasePairs(*sides)


def pairs_seen(pairs: PhrasePairs) -> set[tuple[tuple[int, ...], tuple[int, ...]]]:
    return {(tuple(s.tolist()), tuple(t.tolist())) for s, t in zip(pairs.source, pairs.target, strict=True)}


def test_pairs_that_look_alike_fall_on_the_same_side() -> None:
    pairs = pairs_of(3000)
    train, held_out = split_pairs(pairs, 300, seed=1)
    assert len(train) + len(held_out) == 3000
    assert 220 < len(held_out) < 380
    assert not pairs_seen(train) & pairs_seen(held_out)
    backwards = pairs.take(np.arange(2999, -1, -1))
    assert pairs_seen(split_pairs(backwards, 300, seed=1)[1]) == pairs_seen(held_out)
    assert pairs_seen(split_pairs(pairs, 300, seed=2)[1]) != pairs_seen(held_out)


def test_holding_out_nothing_or_too_much() -> None:
    assert len(split_pairs(pairs_of(20), 0, seed=1)[1]) == 0
    with pytest.raises(UserError, match="validation_pairs is 11, but the phrase table has 20"):
        split_pairs(pairs_of(20), 11, seed=1)
