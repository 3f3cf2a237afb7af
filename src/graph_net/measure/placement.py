"""Placement of a measured process's threads, each on a core of its own.

A runtime may bind its worker to one core and leave the calling thread to the kernel. In some
processes both are then on that core, and every call takes twice as long. So the calling thread is
bound to one core, and each worker to one of the others.
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
    """The cores of a process with this many computing threads, the calling thread's first.

    Create it before a runtime is loaded, to distinguish its threads from earlier ones. A runtime's
    threads get a core each if they are fewer than the cores, as they are when the calling thread
    works too; a larger pool works while the caller waits, and keeps the cores it has. Threads that
    appear later inherit the core of their creator, so call ``apply`` again. Leaving the context
    gives every thread the cores it had.
    """

    threads: int
    cores: tuple[int, ...] = field(default_factory=lambda: usable_cores())
    earlier: frozenset[int] = field(default_factory=lambda: frozenset(threads_of(_ME)))
    _before: dict[int, list[int]] = field(default_factory=dict)

    @property
    def possible(self) -> bool:
        """Whether there is a core for every thread; otherwise the kernel places them."""
        return len(self.cores) >= max(self.threads, 2)

    def apply(self) -> None:
        """Bind the calling thread and the workers of this process."""
        if not self.possible:
            return
        others = self.cores[1 : max(self.threads, 2)]
        bind(threading.get_native_id(), (self.cores[0],))
        for pool in self._pools():
            for number, thread in enumerate(pool):
                before = self._before.get(thread, self.cores)
                bind(thread, (others[number],) if len(pool) <= len(others) else before)

    def _pools(self) -> Iterable[list[int]]:
        """Return the other threads by pool: earlier ones, the runtime's, and those it bound."""
        pools: dict[tuple[bool, bool], list[int]] = defaultdict(list)
        for thread in _other_threads():
            bound = len(self._before.get(thread, self.cores)) == 1
            pools[thread in self.earlier, bound].append(thread)
        return pools.values()

    def describe(self) -> Json:
        """Return where the threads are now, as the record has it."""
        if not self.possible:
            return f"not placed: {self.threads} threads on {len(self.cores)} cores"
        others = [_cores_of(thread) for thread in _other_threads()]
        workers = sorted({cores[0] for cores in others if len(cores) == 1})
        left = sum(len(cores) > 1 for cores in others)
        caller = _cores_of(threading.get_native_id())
        return {"caller": [*caller], "workers": [*workers], "left_to_the_kernel": left}

    def __enter__(self) -> Placement:
        self._before = {thread: _cores_of(thread) for thread in threads_of(_ME)}
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
    """Yield a function that places this process's threads; on a GPU it does nothing.

    The cores of the threads are added to ``environment`` at the end.
    """
    if device != "cpu":
        yield lambda: None
        return
    with placement:
        yield placement.apply
        environment["placement"] = placement.describe()


def usable_cores() -> tuple[int, ...]:
    """Return the logical cores this process may use; second threads of a core come last.

    High numbers come first: interrupts are mostly served by the first core.
    """
    allowed = sorted(os.sched_getaffinity(0))
    groups = {core: _siblings(core) for core in allowed}
    return tuple(sorted(allowed, key=lambda core: (groups[core].index(core), -core)))


def _siblings(core: int) -> list[int]:
    """Return the logical cores that share a physical core; itself if the kernel does not say."""
    siblings = {core}
    with suppress(OSError, ValueError):
        for part in Path(_SIBLINGS.format(core)).read_text("ascii").split(","):
            first, _, last = part.partition("-")
            siblings.update(range(int(first), int(last or first) + 1))
    return sorted(siblings)


def _other_threads() -> list[int]:
    """Return the threads of this process except the calling one."""
    return [thread for thread in threads_of(_ME) if thread != threading.get_native_id()]


def _cores_of(thread: int) -> list[int]:
    """Return the cores a thread may use; empty if it has ended."""
    with suppress(OSError):
        return sorted(os.sched_getaffinity(thread))
    return []
