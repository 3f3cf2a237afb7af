"""A subset that is fair and the same every time."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_net.corpus.pack import PackError
from graph_net.corpus.sample import allot, sample

ROWS: list[dict[str, Any]] = [
    {"name": f"{library}/{number}", "library": library, "category": category}
    for library, category, count in (("a", "nlp", 80), ("b", "nlp", 15), ("c", "audio", 5))
    for number in range(count)
]


def test_every_kind_has_its_share() -> None:
    drawn = sample(ROWS, 20, ["library"])
    assert Counter(name[0] for name in drawn) == {"a": 16, "b": 3, "c": 1}


def test_a_small_kind_is_not_forgotten() -> None:
    assert Counter(name[0] for name in sample(ROWS, 5, ["library"])) == {"a": 3, "b": 1, "c": 1}


def test_the_order_of_rows_does_not_matter_and_the_seed_does() -> None:
    shuffled = random.Random(0).sample(ROWS, len(ROWS))  # noqa: S311 - an order, not a secret
    assert sample(shuffled, 20, ["library"], seed=3) == sample(ROWS, 20, ["library"], seed=3)
    assert sample(ROWS, 20, ["library"], seed=3) != sample(ROWS, 20, ["library"], seed=4)


def test_an_unknown_column_is_named() -> None:
    with pytest.raises(PackError, match="no column 'colour'"):
        sample(ROWS, 5, ["colour"])


@given(st.lists(st.integers(1, 50), max_size=8), st.integers(0, 120))
def test_shares_add_up_and_never_exceed_what_there_is(sizes: list[int], count: int) -> None:
    kinds = {(str(i),): size for i, size in enumerate(sizes)}
    given_out = allot(kinds, count)
    assert sum(given_out.values()) == min(count, sum(sizes))
    assert all(0 <= given_out[kind] <= kinds[kind] for kind in kinds)
    if count >= len(kinds):
        assert all(given_out.values())
