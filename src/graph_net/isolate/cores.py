"""Which of the machine's cores a process runs on: some are kept for the one that measures."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from graph_net.isolate.descendants import descendants

MOST = 4
"""So many cores are kept at most: one that launches kernels, and what helps it."""
PART = 4
"""One core in so many is kept; with fewer than so many, none."""
_ROUNDS = 3
"""How often a process is looked at, since a thread may start another meanwhile."""


@dataclass(frozen=True)
class Cores:
    """The cores of this process, divided; both parts hold all of them where none can be spared."""

    kept: frozenset[int]
    """For the process that measures."""
    others: frozenset[int]

    @classmethod
    def divided(cls, cores: Iterable[int] | None = None) -> Cores:
        """The last few of these cores, or of those of this process, and the rest."""
        found = sorted(os.sched_getaffinity(0) if cores is None else cores)
        count = min(MOST, len(found) // PART)
        if not count:
            return cls(frozenset(found), frozenset(found))
        return cls(frozenset(found[-count:]), frozenset(found[:-count]))


def move(pid: int, cores: Iterable[int]) -> None:
    """Run every thread of a process, and of what it started, on these cores only."""
    allowed = set(cores)
    for _ in range(_ROUNDS):
        threads = [thread for process in descendants(pid) for thread in threads_of(process)]
        elsewhere = [thread for thread in threads if not _runs_on(thread, allowed)]
        if not elsewhere:
            return
        for thread in elsewhere:
            bind(thread, allowed)


def bind(thread: int, cores: Iterable[int]) -> None:
    """Run a thread on these cores only, if it lives and its cores are ours to choose."""
    with suppress(OSError):
        os.sched_setaffinity(thread, cores)


def threads_of(pid: int | str) -> list[int]:
    """The threads of a process in the order they were started; none where nothing tells."""
    try:
        return sorted(int(name) for name in os.listdir(f"/proc/{pid}/task"))
    except OSError:
        return []


def _runs_on(thread: int, allowed: set[int]) -> bool:
    try:
        return os.sched_getaffinity(thread) <= allowed
    except OSError:
        return True
