"""Items go to places and come back once, whatever becomes of the places."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from cluster.fake_ray import FakeRay, RayError, RayTaskError
from graph_net.cluster.connection import Cluster, ClusterError
from graph_net.cluster.dispatch import MOST_LOSSES, FailedPlace, LostWork, dispatch

CLUSTER = cast(Cluster, SimpleNamespace(ray=FakeRay()))


class Spot:
    """A place whose answers a test decides."""

    def __init__(
        self,
        answer: Callable[[int], Any],
        room: int = 2,
        takes: Callable[[int], bool] = lambda item: True,
    ) -> None:
        self.answer, self.room, self.takes = answer, room, takes
        self.had: list[int] = []
        self.losses = 0

    def send(self, item: int) -> Any:
        self.had.append(item)
        return SimpleReference(self.answer(item))

    def lost(self) -> None:
        self.losses += 1

    def failed(self, reason: str) -> None:
        self.room = 0


class SimpleReference:
    def __init__(self, answer: Any) -> None:
        self.answer = answer


class Spots:
    """A crew of spots."""

    def __init__(self, *spots: Spot) -> None:
        self.spots, self.stopped = list(spots), 0

    def places(self) -> Sequence[Spot]:
        return self.spots

    def awaited(self) -> Sequence[Any]:
        return []

    def stop(self, out: Sequence[Any]) -> None:
        self.stopped += 1


def test_every_item_is_answered_once_and_places_share_the_work() -> None:
    first, second = Spot(lambda item: item * 10), Spot(lambda item: item * 10)
    crew = Spots(first, second)
    answers = dict(dispatch(CLUSTER, range(50), crew))
    assert answers == {item: item * 10 for item in range(50)}
    assert sorted(first.had + second.had) == list(range(50))
    assert first.had
    assert second.had
    assert crew.stopped == 1


def test_the_source_is_read_no_further_than_there_is_room() -> None:
    read = 0

    def source() -> Iterator[int]:
        nonlocal read
        for item in range(1000):
            read += 1
            yield item

    answers = dispatch(CLUSTER, source(), Spots(Spot(lambda item: item, room=4)))
    for number, _ in enumerate(answers, 1):
        assert read <= number + 2 * 4
    assert read == 1000


def test_what_a_lost_place_had_is_done_elsewhere() -> None:
    lost, good = Spot(lambda item: RayError("gone"), room=3), Spot(lambda item: item)
    lost.lost = lambda: setattr(lost, "room", 0)  # type: ignore[method-assign]
    answers = list(dispatch(CLUSTER, range(20), Spots(lost, good)))
    assert sorted(item for item, _ in answers) == list(range(20))
    assert set(lost.had) <= set(good.had)


def test_an_item_that_every_place_is_lost_with_is_given_up() -> None:
    spot = Spot(lambda item: RayError("died") if item == 3 else item)
    answers = dict(dispatch(CLUSTER, range(6), Spots(spot)))
    assert isinstance(answers[3], LostWork)
    assert "died" in answers[3].reason
    assert spot.had.count(3) == MOST_LOSSES
    assert all(answers[item] == item for item in (0, 1, 2, 4, 5))


def test_a_place_that_can_do_nothing_gives_its_items_back() -> None:
    bad, good = Spot(lambda item: FailedPlace("no compiler")), Spot(lambda item: item)
    answers = dict(dispatch(CLUSTER, range(9), Spots(bad, good)))
    assert answers == {item: item for item in range(9)}


def test_an_error_of_the_work_itself_ends_the_run_and_the_places() -> None:
    crew = Spots(Spot(lambda item: RayTaskError("a bug")))
    with pytest.raises(ClusterError, match="a bug"):
        list(dispatch(CLUSTER, range(3), crew))
    assert crew.stopped == 1


def test_items_wait_for_the_place_that_takes_them() -> None:
    odd = Spot(lambda item: item, room=1, takes=lambda item: item % 2 == 1)
    even = Spot(lambda item: item, room=1, takes=lambda item: item % 2 == 0)
    answers = dict(dispatch(CLUSTER, [2, 4, 6, 8, 1, 3, 5], Spots(odd, even)))
    assert len(answers) == 7
    assert odd.had == [1, 3, 5]
    assert even.had == [2, 4, 6, 8]


def test_a_run_that_no_place_takes_ends_with_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graph_net.cluster.dispatch.POLL", 0.001)
    crew = Spots(Spot(lambda item: item, takes=lambda item: False))
    with pytest.raises(ClusterError, match="the same command resumes"):
        list(dispatch(CLUSTER, [1], crew, patience=0.01))


def test_a_caller_that_stops_ends_the_places() -> None:
    crew = Spots(Spot(lambda item: item))
    answers = dispatch(CLUSTER, range(100), crew)
    next(answers)
    answers.close()  # type: ignore[attr-defined]
    assert crew.stopped == 1
