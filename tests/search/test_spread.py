"""A batch of a drawn space is not made of variants of one program."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graph_net.learn.learning_set import Features, LearningTask
from graph_net.search.history import SearchHistory
from graph_net.search.proposer import spread
from graph_net.search.search_space import DrawnSpace

LIKE = ["aaaa", "aaab", "aaba", "abbb", "bbbb"]
"""The best first: two variants of the first, then programs that differ more."""


def letters() -> DrawnSpace:
    """Return a space whose programs are words, with a feature for each letter."""

    def encode(words: Sequence[str]) -> list[Features]:
        return [np.array([[ord(letter) for letter in word]], np.float32) for word in words]

    return DrawnSpace(None, ("a", "b", "c", "d"), encode, LearningTask("words"))


def test_unlike_programs_come_first_and_the_best_stays_first() -> None:
    chosen = spread(letters(), SearchHistory(), LIKE, 0.5, 3)
    assert chosen[:2] == ["aaaa", "abbb"]
    assert sorted(chosen) == sorted(LIKE)


def test_like_programs_fill_a_batch_that_unlike_ones_do_not() -> None:
    assert spread(letters(), SearchHistory(), LIKE, 1.0, 4) == ["aaaa", "bbbb", *LIKE[1:4]]


def test_the_order_stays_if_programs_may_be_alike() -> None:
    assert spread(letters(), SearchHistory(), LIKE, 0.0, 5) == LIKE
    assert spread(letters(), SearchHistory(), [], 0.5, 5) == []
