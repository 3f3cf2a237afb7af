"""Workers that stay, and are given items one at a time."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from multiprocessing.connection import wait
from typing import Any

import pytest

from graph_net.isolate import Finished, Limits, Sandbox
from graph_net.isolate.descendants import children_of
from graph_net.isolate.lane import Lane
from graph_net.isolate.worker import Retire


def make() -> Callable[[str], Any]:
    def work(item: str) -> Any:
        if item == "crash":
            os.kill(os.getpid(), signal.SIGUSR2)
        if item == "last":
            raise Retire(os.getpid())
        return os.getpid()

    return work


@pytest.fixture
def lane() -> Iterator[Lane[str]]:
    made: Lane[str] = Lane(make, 1, Limits(60, None), Sandbox())
    yield made
    made.stop()


def asked(lane: Lane[str], item: str) -> Finished[str]:
    lane.give(item)
    while True:
        wait(lane.descriptors())
        for done in lane.take_finished():
            return done


def test_a_worker_stays_for_the_next_item(lane: Lane[str]) -> None:
    assert asked(lane, "a").answer == asked(lane, "b").answer != os.getpid()
    assert lane.free


def test_after_a_crash_the_next_item_has_another_worker(lane: Lane[str]) -> None:
    first = asked(lane, "a").answer
    assert str(asked(lane, "crash").death) == "died of SIGUSR2"
    found = asked(lane, "b")
    assert found.death is None
    assert found.answer != first


def test_a_worker_that_retires_has_answered(lane: Lane[str]) -> None:
    retired = asked(lane, "last")
    assert retired.death is None
    assert asked(lane, "a").answer != retired.answer


def test_a_lane_that_is_stopped_leaves_no_process(lane: Lane[str]) -> None:
    before = set(children_of(os.getpid()))
    lane.give("a")
    lane.stop()
    assert set(children_of(os.getpid())) == before
