"""How long a process may take and how much it may hold."""

from __future__ import annotations

import gc
import resource
import signal
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds of wall time, and bytes of addresses beyond those a process was forked with.

    None is as many as the machine has.
    """

    seconds: int
    memory_bytes: int | None

    @classmethod
    def of(cls, seconds: int, gigabytes: float) -> Limits:
        """The same from gigabytes, as options have them."""
        return cls(seconds, int(gigabytes * 2**30))

    def impose(self) -> None:
        """Let this process end after so long and hold so much.

        The alarm is the polite end; whoever waits for the process kills it a little later. It
        lives for one call: collecting garbage would copy every page it shares with its parent.
        """
        gc.disable()
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(self.seconds)
        if self.memory_bytes is not None:
            lower(resource.RLIMIT_AS, address_space() + self.memory_bytes)


def lower(kind: int, most: int) -> None:
    """Lower a limit of this process for good; one that is lower already stays."""
    _, hard = resource.getrlimit(kind)
    least = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(kind, (least, least))


def address_space() -> int:
    """Bytes of addresses that this process has asked for."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
    return pages * resource.getpagesize()
