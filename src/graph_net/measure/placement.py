"""Threads of a measured process on cores of their own.

A runtime that binds its worker to one core and leaves the calling thread to the kernel has both on
that core in some processes and not in others, and there every call takes twice as long. So the
calling thread is bound to one core, and the workers beside it to one each of the rest.
"""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from graph_net.isolate.cores import bind, threads_of
from graph_net.results import Json

_ME = "self"
"""As /proc calls it: a confined process sees itself there, and no other."""
_SIBLINGS = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"


@dataclass
class Placement:
    """Which cores a process of so many computing threads uses, the calling thread's first.

    Made before a runtime is loaded, so that its threads are told from those that were there. The
    threads of a runtime have a core each where the calling thread takes part in the work and there
    is one less of them than cores; a larger pool works while the caller waits, and keeps the cores
    it has. Threads that appear later inherit the core of the one that started them, so ``apply`` is
    called again. Leaving the context gives every thread the cores it had.
    """

    threads: int
    cores: tuple[int, ...] = field(default_factory=lambda: usable_cores())
    known: frozenset[int] = field(default_factory=lambda: frozenset(threads_of(_ME)))
    _before: dict[int, list[int]] = field(default_factory=dict)

    @property
    def possible(self) -> bool:
        """Whether there is a core for every thread; where not, the kernel shares them out."""
        return len(self.cores) >= max(self.threads, 2)

    def apply(self) -> None:
        """Bind the calling thread and the workers of this process."""
        if not self.possible:
            return
        others = self.cores[1 : max(self.threads, 2)]
        bind(threading.get_native_id(), (self.cores[0],))
        for pool in self._pools():
            for number, thread in enumerate(pool):
                kept = self._before.get(thread, self.cores)
                bind(thread, (others[number],) if len(pool) <= len(others) else kept)

    def _pools(self) -> Iterable[list[int]]:
        """The other threads: those that were there, the runtime's, and those that it bound."""
        found: dict[tuple[bool, bool], list[int]] = defaultdict(list)
        for thread in _others():
            bound = len(self._before.get(thread, self.cores)) == 1
            found[thread in self.known, bound].append(thread)
        return found.values()

    def found(self) -> Json:
        """Where the threads are now, as the record has it."""
        if not self.possible:
            return f"not placed: {self.threads} threads on {len(self.cores)} cores"
        each = [_cores_of([thread]) for thread in _others()]
        workers = sorted({cores[0] for cores in each if len(cores) == 1})
        left = sum(len(cores) > 1 for cores in each)
        caller = _cores_of([threading.get_native_id()])
        return {"caller": [*caller], "workers": [*workers], "left_to_the_kernel": left}

    def __enter__(self) -> Placement:
        self._before = {thread: _cores_of([thread]) for thread in threads_of(_ME)}
        self.apply()
        return self

    def __exit__(self, *_: object) -> None:
        if not self.possible:
            return
        for thread in threads_of(_ME):
            bind(thread, self._before.get(thread, self.cores))


@contextmanager
def place_threads(
    placement: Placement, device: str, environment: dict[str, Json]
) -> Iterator[Callable[[], None]]:
    """Give a way to put this process's threads on their cores; beside a GPU they stay free.

    Where they were is added to ``environment``.
    """
    if device != "cpu":
        yield lambda: None
        return
    with placement:
        yield placement.apply
        environment["placement"] = placement.found()


def usable_cores() -> tuple[int, ...]:
    """The cores this process may use; second threads of a core behind all first ones.

    The last comes first: interrupts are mostly served by the first.
    """
    allowed = sorted(os.sched_getaffinity(0))
    groups = {core: _siblings(core) for core in allowed}
    return tuple(sorted(allowed, key=lambda core: (groups[core].index(core), -core)))


def _siblings(core: int) -> list[int]:
    """The threads of the core that one of them belongs to; itself where the kernel does not say."""
    found = [core]
    with suppress(OSError, ValueError):
        for part in Path(_SIBLINGS.format(core)).read_text("ascii").split(","):
            first, _, last = part.partition("-")
            found += range(int(first), int(last or first) + 1)
    return sorted(set(found))


def _others() -> list[int]:
    """The threads of this process but the calling one."""
    return [thread for thread in threads_of(_ME) if thread != threading.get_native_id()]


def _cores_of(threads: Iterable[int]) -> list[int]:
    found: set[int] = set()
    for thread in threads:
        with suppress(OSError):
            found |= os.sched_getaffinity(thread)
    return sorted(found)
