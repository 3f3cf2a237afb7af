"""Delta debugging on sets of numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import given
from hypothesis import strategies as st

from graph_net.bisect.minimize import First, Members, minimize, narrow_range


def first_of(test: Callable[[Members], bool], asked: list[Members] | None = None) -> First:
    def first(candidates: Sequence[Members]) -> int | None:
        for place, members in enumerate(candidates):
            if asked is not None:
                asked.append(members)
            if test(members):
                return place
        return None

    return first


def needs(*wanted: int) -> Callable[[Members], bool]:
    return lambda members: set(wanted) <= set(members)


@given(st.integers(1, 60), st.data())
def test_what_is_needed_is_found_exactly(size: int, data: st.DataObject) -> None:
    wanted = data.draw(st.sets(st.integers(0, size - 1), min_size=1))
    assert minimize(tuple(range(size)), first_of(needs(*wanted))) == tuple(sorted(wanted))


@given(st.integers(1, 12), st.randoms(use_true_random=False), st.floats(0.0, 1.0))
def test_nothing_can_be_left_out_whatever_the_test(size: int, random: object, share: float) -> None:
    """Any test at all, monotone or not: it holds of the result and of none with one less."""
    told: dict[Members, bool] = {tuple(range(size)): True}

    def test(members: Members) -> bool:
        return bool(members) and told.setdefault(members, random.random() < share)  # type: ignore[attr-defined]

    found = minimize(tuple(range(size)), first_of(test))
    assert told[found]
    if len(found) > 1:
        assert not any(test(found[:i] + found[i + 1 :]) for i in range(len(found)))


@given(st.integers(1, 10_000), st.data())
def test_a_range_takes_as_many_tests_as_there_are_halvings(size: int, data: st.DataObject) -> None:
    low = data.draw(st.integers(0, size - 1))
    high = data.draw(st.integers(low, size - 1))
    asked: list[Members] = []
    found = narrow_range(tuple(range(size)), first_of(needs(low, high), asked))
    assert found == tuple(range(low, high + 1))
    assert len(asked) <= 2 * size.bit_length()


@given(st.integers(1, 200), st.integers(2, 12), st.data())
def test_halving_never_decides_by_what_cannot_be_cut(
    size: int, step: int, data: st.DataObject
) -> None:
    """Cuts can be made at every so many members only; the range found is the block around one."""
    wanted = data.draw(st.integers(0, size - 1))
    asked: list[Members] = []

    def can_cut(members: Members) -> bool:
        return members[0] % step == 0 and (members[-1] + 1) % step in (0, size % step)

    found = narrow_range(tuple(range(size)), first_of(needs(wanted), asked), can_cut)
    low = wanted - wanted % step
    assert set(found) <= set(range(low, min(low + step, size)))
    assert wanted in found
    assert all(can_cut(members) for members in asked)
