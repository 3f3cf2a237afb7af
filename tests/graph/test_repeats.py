"""Runs that occur again become copies, and expand to what was there."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from hypothesis import given
from hypothesis import strategies as st

from graph_net.graph.repeats import SHORTEST, Copy, find_repeats


def expanded(found: Sequence[Hashable | Copy]) -> list[Hashable]:
    items: list[Hashable] = []
    for item in found:
        if isinstance(item, Copy):
            for _ in range(item.length):
                items.append(items[-item.distance])
        else:
            items.append(item)
    return items


@given(st.lists(st.integers(0, 3), max_size=60))
def test_expanding_gives_the_items_again(items: list[int]) -> None:
    assert expanded(find_repeats(items)) == items


@given(st.lists(st.integers(), min_size=SHORTEST, max_size=9, unique=True), st.integers(2, 30))
def test_a_repeated_block_is_its_first_occurrence_and_one_copy(block: list[int], n: int) -> None:
    assert find_repeats(block * n) == [*block, Copy(len(block), (n - 1) * len(block))]


@given(st.lists(st.integers(0, 9), max_size=60))
def test_copies_are_long_enough_to_pay(items: list[int]) -> None:
    assert all(i.length >= SHORTEST for i in find_repeats(items) if isinstance(i, Copy))


def test_a_block_is_found_again_after_something_else() -> None:
    block = [1, 2, 3, 4]
    assert find_repeats([*block, 9, *block, 8, *block]) == [*block, 9, Copy(5, 4), 8, Copy(5, 4)]


def test_what_does_not_repeat_is_left_alone() -> None:
    assert find_repeats([]) == []
    assert find_repeats("ababcac") == list("ababcac")


class Counted:
    """An item that counts how often it is compared."""

    compared = 0

    def __init__(self, number: int) -> None:
        self.number = number

    def __hash__(self) -> int:
        return hash(self.number)

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return isinstance(other, Counted) and self.number == other.number


def comparisons(numbers: Sequence[int]) -> int:
    items = [Counted(number) for number in numbers]
    Counted.compared = 0
    find_repeats(items)
    return Counted.compared


def test_the_work_is_linear() -> None:
    for block in ([1, 2, 3, 4, 5], [1], [1, 1, 2], [1, 2, 3, 1, 2, 4, 1, 2, 5]):
        half, whole = comparisons(block * 500), comparisons(block * 1000)
        assert whole <= 2.1 * half + 20
