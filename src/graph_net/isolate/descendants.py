"""Processes and their descendants, as the kernel lists them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

_ROUNDS = 200
"""How often a tree that grows while it is killed is looked at again."""
_PAUSE = 0.001
"""Seconds between looks at processes that are dying, and start no more."""


def children_of(pid: int) -> list[int]:
    """The processes whose parent this one is, whichever of its threads started them."""
    found: list[int] = []
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError):
                text = Path(f"/proc/{pid}/task/{thread}/children").read_text("ascii")
                found.extend(int(word) for word in text.split())
    return found


def descendants(pid: int) -> list[int]:
    """A process and all that it started, and they, as far as they live."""
    found, place = [pid], 0
    while place < len(found):
        found.extend(child for child in children_of(found[place]) if child not in found)
        place += 1
    return found


def kill_all(pids: Iterable[int]) -> None:
    """Kill processes with all their descendants, in rounds, until a look finds none alive."""
    roots, signalled = set(pids), set[int]()
    for _ in range(_ROUNDS):
        alive = {pid for root in roots for pid in descendants(root) if state_of(pid) not in "ZX"}
        if not alive:
            return
        if alive <= signalled:
            time.sleep(_PAUSE)  # the kernel gives their memory back
        for pid in alive - signalled:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        # The orphans of one that died have another parent now: they are looked for by number.
        roots |= alive
        signalled |= alive


def kill_strays(known: Iterable[int]) -> int:
    """Kill and reap children of this process that are not known to it; how many there were.

    In a process that adopts orphans they are what workers left behind.
    """
    mine = set(known)
    return end_all(lambda: set(children_of(os.getpid())) - mine)


def end_all(look: Callable[[], set[int]]) -> int:
    """Kill and reap the children that ``look`` finds, until it finds none; how many there were."""
    count = 0
    for _ in range(_ROUNDS):
        strays = look()
        if not strays:
            break
        kill_all(strays)
        for pid in strays:
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)
                count += 1
    return count


def state_of(pid: int) -> str:
    """The kernel's letter for what a process does (R, S, D, T, Z), X for one that is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text("ascii", "replace")
    except OSError:
        return "X"
    return text.rpartition(")")[2].split()[0]
