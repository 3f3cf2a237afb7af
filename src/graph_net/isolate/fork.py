"""Forking of processes that are waited for, and the end of what they leave behind."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from graph_net.isolate.descendants import children_of, end_all, kill_all
from graph_net.isolate.openmp import end_openmp_threads
from graph_net.isolate.privileges import die_with_parent

_FORKED: set[int] = set()
"""Processes that this one forked and has not reaped: a fact of the process, so it is global.

A confined child that is not among them is the orphan of one.
"""


def fork(live: Callable[[], None]) -> int:
    """Fork a process that calls ``live`` and exits, whatever happens in it; return its id.

    When this returns, the kernel will kill the child together with its parent: a child stopped
    before it had asked for that would stay for ever. An interrupt from the terminal is for the
    parent to handle, which ends its children.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    end_openmp_threads()
    parent = os.getpid()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    reads, writes = os.pipe()
    try:
        with _no_collection() as collecting:
            child = os.fork()
            if child == 0:
                try:
                    gc.freeze()
                    die_with_parent(parent)
                    os.close(reads)
                    os.close(writes)
                    signal.signal(signal.SIGINT, signal.SIG_IGN)
                    signal.pthread_sigmask(signal.SIG_SETMASK, before)
                    _FORKED.clear()
                    if collecting:
                        gc.enable()
                    live()
                finally:
                    os._exit(0)
        _FORKED.add(child)
    finally:
        os.close(writes)
        os.read(reads, 1)
        os.close(reads)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return child


@contextmanager
def _no_collection() -> Iterator[bool]:
    """Collect no garbage: a parent's may hold a pool that waits for threads it lost."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield collecting
    finally:
        if collecting:
            gc.enable()


def end(child: int) -> int:
    """Kill a forked process and its descendants; return its wait status.

    A confined process cannot list descendants in /proc: they are left to its own parent.
    """
    kill_all([child])
    with suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    status = reap(child)
    kill_confined_strays()
    return status


def reap(child: int) -> int:
    """Wait for the end of a forked process; return its wait status."""
    _, status = os.waitpid(child, 0)
    _FORKED.discard(child)
    return status


def kill_confined_strays() -> int:
    """Kill and reap the confined children of this process that ``fork`` did not start.

    Its other children are left alone: the kernel tells which ones cannot gain privileges. A
    confined process does nothing.
    """
    if _is_confined(os.getpid()):
        return 0
    return end_all(
        lambda: {pid for pid in set(children_of(os.getpid())) - _FORKED if _is_confined(pid)}
    )


def _is_confined(pid: int) -> bool:
    try:
        return "\nNoNewPrivs:\t1" in Path(f"/proc/{pid}/status").read_text("ascii", "replace")
    except OSError:
        return False
