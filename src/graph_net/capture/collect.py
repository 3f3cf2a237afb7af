"""Many models captured at once, each in a process that may die of it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator

from graph_net.capture.worker import Budget, Result, Spool, finish, start, warm_up
from graph_net.capture.zoo.zoo import Entry, Zoo

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
    waiting = iter(entries)
    running: dict[int, tuple[Entry, float]] = {}
    more = True
    while more or running:
        while more and len(running) < jobs:
            entry = next(waiting, None)
            if entry is None:
                more = False
                break
            running[start(zoo, entry, spool, budget)] = (entry, time.monotonic())
        if not running:
            break
        child, status = os.waitpid(-1, os.WNOHANG)
        if child == 0:
            _kill_stuck(running, budget)
            time.sleep(0.02)
            continue
        if child in running:
            entry, began = running.pop(child)
            yield finish(entry, spool, status, time.monotonic() - began)


def _kill_stuck(running: dict[int, tuple[Entry, float]], budget: Budget) -> None:
    for child, (_, began) in running.items():
        if time.monotonic() - began > budget.seconds + PATIENCE:
            os.kill(child, 9)
