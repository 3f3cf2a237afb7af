"""Core binding: some cores are reserved for the measuring process."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from graph_net.isolate.descendants import descendants

MOST = 4
"""The most cores to reserve: one to launch kernels, the others for helper threads."""
PART = 4
"""One core in this many is reserved; with fewer cores, none."""
_ROUNDS = 3
"""How often threads are listed: a thread may start another in the meantime."""


@dataclass(frozen=True)
class Cores:
    """The cores of this process in two parts; each part is all cores if none can be spared."""

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
    """Bind a thread to these cores, if it is alive and this process has permission."""
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
