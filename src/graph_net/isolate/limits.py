"""Limits of time and memory of a process."""

from __future__ import annotations

import gc
import resource
import signal
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds of wall time, and bytes of address space added after the fork (None: no limit)."""

    seconds: int
    memory_bytes: int | None

    @classmethod
    def of(cls, seconds: int, gigabytes: float) -> Limits:
        """Return limits with the memory in gigabytes, as in command-line options."""
        return cls(seconds, int(gigabytes * 2**30))

    def impose(self) -> None:
        """Impose the limits on this process.

        An alarm ends the process; if it ignores the alarm, its parent kills it a little later.
        Garbage collection is disabled: it would copy every page that is shared with the parent.
        """
        gc.disable()
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(self.seconds)
        if self.memory_bytes is not None:
            lower(resource.RLIMIT_AS, address_space() + self.memory_bytes)


def lower(kind: int, most: int) -> None:
    """Lower a resource limit of this process permanently; keep one that is already lower."""
    _, hard = resource.getrlimit(kind)
    least = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(kind, (least, least))


def address_space() -> int:
    """Return the bytes of address space of this process."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
    return pages * resource.getpagesize()
