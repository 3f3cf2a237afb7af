"""Processes and their descendants, as the kernel lists them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

_ROUNDS = 200
"""How often a tree that grows while it is killed is listed again."""
_PAUSE = 0.001
"""Seconds between two listings while processes are dying."""


def children_of(pid: int) -> list[int]:
    """Return the children of a process, whichever of its threads started them."""
    children: list[int] = []
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError):
                text = Path(f"/proc/{pid}/task/{thread}/children").read_text("ascii")
                children.extend(map(int, text.split()))
    return children


def descendants(pid: int) -> list[int]:
    """Return a process and all its living descendants."""
    tree = [pid]
    for parent in tree:  # the list grows during the loop
        tree.extend(child for child in children_of(parent) if child not in tree)
    return tree


def kill_all(pids: Iterable[int]) -> None:
    """Kill processes with all their descendants, in rounds, until none is alive."""
    roots, signalled = set(pids), set[int]()
    for _ in range(_ROUNDS):
        alive = {pid for root in roots for pid in descendants(root) if state_of(pid) not in "ZX"}
        if not alive:
            return
        if alive <= signalled:
            time.sleep(_PAUSE)  # the kernel is freeing their memory
        for pid in alive - signalled:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        # Orphans have another parent now: each is the root of its own tree.
        roots |= alive
        signalled |= alive


def kill_strays(own: Iterable[int]) -> int:
    """Kill and reap all children of this process except ``own``; return how many there were.

    In a process that adopts orphans, these are the processes that workers left behind.
    """
    expected = set(own)
    return end_all(lambda: set(children_of(os.getpid())) - expected)


def end_all(find: Callable[[], set[int]]) -> int:
    """Kill and reap the children that ``find`` returns until it returns none; count them."""
    count = 0
    for _ in range(_ROUNDS):
        strays = find()
        if not strays:
            break
        kill_all(strays)
        for pid in strays:
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)
                count += 1
    return count


def state_of(pid: int) -> str:
    """Return the kernel's letter for a process's state (R, S, D, T, Z); X if it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text("ascii", "replace")
    except OSError:
        return "X"
    return text.rpartition(")")[2].split()[0]
