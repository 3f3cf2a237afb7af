"""Fork processes, wait for them, and kill the processes that they leave behind."""

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
"""Processes that this process forked and has not reaped; global, since it is process state.

A confined child that is not in this set is an orphan left by one that is.
"""


def fork(live: Callable[[], None]) -> int:
    """Fork a process that calls ``live`` and exits, whatever happens in it; return its id.

    On return, the child has asked the kernel to kill it when its parent dies: a child that was
    stopped before it asked would stay for ever. The child ignores interrupts from the terminal:
    the parent handles them and ends its children.
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
    """Disable garbage collection: freeing a parent's pool would wait for threads the fork lost."""
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

    Other children are left alone: the kernel reports which processes have set no_new_privs. In a
    confined process this does nothing.
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
