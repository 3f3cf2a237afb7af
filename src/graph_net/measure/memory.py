"""How much memory a process and its children hold, as the kernel counts it."""

from __future__ import annotations

import os
from pathlib import Path

from graph_net.isolate.tree import descendants

_PAGE = os.sysconf("SC_PAGE_SIZE")


def group_bytes(pid: int) -> int:
    """Resident memory that a process and its descendants do not share with others, in bytes."""
    return sum(_private_bytes(member) for member in descendants(pid))


def _private_bytes(pid: int) -> int:
    try:
        words = Path(f"/proc/{pid}/statm").read_text("ascii").split()
        return (int(words[1]) - int(words[2])) * _PAGE
    except (OSError, IndexError, ValueError):  # it ended meanwhile
        return 0


def oom_kills() -> int:
    """How often the kernel has killed a process for memory."""
    try:
        for line in Path("/proc/vmstat").read_text("ascii").splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    except OSError:
        pass
    return 0
