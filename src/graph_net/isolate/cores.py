"""The cores that processes run on: some are reserved for the one that measures."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from graph_net.isolate.descendants import descendants

MOST = 4
"""Cores reserved at most: one to launch kernels, and some for its helpers."""
PART = 4
"""One core in this many is reserved; with fewer cores, none."""
_ROUNDS = 3
"""How often threads are listed, since one may start another meanwhile."""


@dataclass(frozen=True)
class Cores:
    """The cores of this process, divided; both parts hold all of them if none can be spared."""

    measuring: frozenset[int]
    others: frozenset[int]

    @classmethod
    def divide(cls, cores: Iterable[int] | None = None) -> Cores:
        """Reserve the last few of these cores (default: of this process's) for measuring."""
        usable = sorted(os.sched_getaffinity(0) if cores is None else cores)
        count = min(MOST, len(usable) // PART)
        if not count:
            return cls(frozenset(usable), frozenset(usable))
        return cls(frozenset(usable[-count:]), frozenset(usable[:-count]))


def move(pid: int, cores: Iterable[int]) -> None:
    """Bind every thread of a process and of its descendants to these cores."""
    allowed = set(cores)
    for _ in range(_ROUNDS):
        threads = [thread for process in descendants(pid) for thread in threads_of(process)]
        elsewhere = [thread for thread in threads if not _runs_on(thread, allowed)]
        if not elsewhere:
            return
        for thread in elsewhere:
            bind(thread, allowed)


def bind(thread: int, cores: Iterable[int]) -> None:
    """Bind a thread to these cores, if it lives and this process may."""
    with suppress(OSError):
        os.sched_setaffinity(thread, cores)


def threads_of(pid: int | str) -> list[int]:
    """Return the threads of a process, oldest first; none if it has ended."""
    try:
        return sorted(int(name) for name in os.listdir(f"/proc/{pid}/task"))
    except OSError:
        return []


def _runs_on(thread: int, allowed: set[int]) -> bool:
    try:
        return os.sched_getaffinity(thread) <= allowed
    except OSError:
        return True
