"""Many models captured at once, each in a process that may die of it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TypeVar

from graph_net.capture.worker import (
    Budget,
    Result,
    Spool,
    capture_entry,
    finish,
    start,
    warm_up,
)
from graph_net.capture.zoo.zoo import Entry, Zoo

T = TypeVar("T")
PATIENCE = 15
"""Seconds after its own alarm that a process which ignores it is killed."""


def collect(
    zoo: Zoo, entries: Iterable[Entry], spool: Spool, jobs: int, budget: Budget
) -> Iterator[Result]:
    """Results in the order they are ready; one process an entry, ``jobs`` at a time.

    Workers are forked from this process, which should have imported torch and the zoo's library
    and must hold no threads that compute.
    """
    warm_up()

    def begin(entry: Entry) -> int:
        return start(partial(capture_entry, zoo, entry, spool), budget)

    for entry, status, seconds in each_in_a_process(entries, begin, jobs, budget.seconds):
        yield finish(entry, spool, status, seconds)


def each_in_a_process(
    items: Iterable[T], begin: Callable[[T], int], jobs: int, seconds: int
) -> Iterator[tuple[T, int, float]]:
    """Items whose processes have ended, each with its status and the seconds it took.

    ``begin`` forks a process for an item and gives its id; ``jobs`` run at a time, and one that
    outlives its ``seconds`` is killed.
    """
    waiting = iter(items)
    running: dict[int, tuple[T, float]] = {}
    more = True
    while more or running:
        while more and len(running) < jobs:
            try:
                item = next(waiting)
            except StopIteration:
                more = False
                break
            running[begin(item)] = (item, time.monotonic())
        if not running:
            break
        child, status = os.waitpid(-1, os.WNOHANG)
        if child == 0:
            _kill_stuck([(child, began) for child, (_, began) in running.items()], seconds)
            time.sleep(0.02)
            continue
        if child in running:
            item, began = running.pop(child)
            yield item, status, time.monotonic() - began


def _kill_stuck(running: Iterable[tuple[int, float]], seconds: int) -> None:
    for child, began in running:
        if time.monotonic() - began > seconds + PATIENCE:
            os.kill(child, 9)
