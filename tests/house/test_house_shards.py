"""Shards: names, and shares that hold everything once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neural_smt.errors import UserError
from neural_smt.shards import Shard


def test_names_are_those_of_the_workflow() -> None:
    assert Shard.parse("2-of-4") == Shard(2, 4)
    assert Shard() == Shard.parse("1-of-1")


@pytest.mark.parametrize("name", ["0-of-4", "5-of-4", "4", "2-of-", "a-of-b", "-1-of-4"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(UserError, match="shard"):
        Shard.parse(name)


@given(st.integers(1, 40), st.integers(0, 500))
def test_shards_share_everything_once_and_in_order(count: int, items: int) -> None:
    shares = [Shard(number, count).range(items) for number in range(1, count + 1)]
    assert [item for share in shares for item in share] == list(range(items))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1
