"""Sequences step by step: filled up or not, they hold what they were given."""

import numpy as np
import pytest

from neural_smt.io.ragged import Ragged
from neural_smt.networks.device import MULTIPLE
from neural_smt.networks.packing import FEW, TILE, Filling, pack, pack_pairs
from neural_smt.vocabulary import EOS


def random_sequences(count: int, longest: int) -> Ragged:
    random = np.random.default_rng(count)
    return Ragged.from_lists([random.integers(3, 50, random.integers(0, longest + 1)) for _ in range(count)])


@pytest.mark.parametrize("filled", ["", "rows", "tiles"])
@pytest.mark.parametrize(("count", "longest"), [(0, 0), (1, 0), (5, 2), (15, 30), (100, 9), (128, 7), (130, 40)])
def test_rows_hold_their_sequence_and_then_end_symbols(count: int, longest: int, filled: Filling) -> None:
    sequences = random_sequences(count, longest)
    packed, order = pack(sequences, filled=filled)
    assert sum(packed.sizes) == len(packed.words) == len(packed.rows)
    assert sorted(packed.sizes, reverse=True) == packed.sizes
    words, rows = packed.words.numpy(), packed.rows.numpy()
    for row, number in enumerate(order):
        own = words[rows == row]
        assert own.tolist() == [*sequences[number], *[EOS] * (len(own) - len(sequences[number]))]
        assert np.flatnonzero(rows == row)[len(sequences[number])] == packed.last[row]
        np.testing.assert_array_equal(packed.before[rows[len(order) :] == row], own[:-1])
        assert len(own) == len(sequences[number]) + 1 or filled


@pytest.mark.parametrize(("count", "longest"), [(1, 0), (5, 2), (15, 30), (100, 9), (128, 7), (130, 40)])
def test_filled_batches_have_few_shapes(count: int, longest: int) -> None:
    sequences = random_sequences(count, longest)
    least = np.array(pack(sequences)[0].sizes)
    (all_rows, _), (tiles, _) = (pack(sequences, filled=way) for way in ("rows", "tiles"))
    assert set(all_rows.sizes) == {count}
    assert len(all_rows.sizes) == (len(least) if len(least) <= FEW else -(-len(least) // FEW) * FEW)
    assert len(tiles.words) % MULTIPLE == 0
    sizes, usual = np.array(tiles.sizes), np.minimum(-(-least // TILE) * TILE, count)
    assert (sizes[: len(least)] >= usual).all()
    # what is added besides is less than there may be of other shapes
    assert sizes.sum() - usual.sum() < MULTIPLE


def test_what_fills_up_is_not_predicted() -> None:
    source, target = random_sequences(20, 9), random_sequences(20, 8)
    for filled in ("", "rows", "tiles"):
        batch = pack_pairs(source, target, filled=filled)
        assert batch.predictions == len(target.values) + 20
        counts = np.bincount(batch.owners, minlength=21)
        assert counts[:20].tolist() == (target.lengths + 1).tolist()
        assert counts[20] == len(batch.target.words) - batch.predictions
