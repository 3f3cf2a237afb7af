"""The most memory that a process ever had (VmHWM), of this one and of another with its children."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

EVERY = 0.1


def peak_of_this() -> int:
    """Bytes, of the calling process."""
    return _status(Path("/proc/self"))[1]


def peak_of_tree(process: subprocess.Popen[bytes]) -> int:
    """Wait for a process; bytes of the largest among it and all that descend from it."""
    peaks: dict[int, int] = {}
    while process.poll() is None:
        parents = {}
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                parents[int(entry.name)] = _status(entry)
            except OSError:  # it ended meanwhile
                continue
        family = {process.pid}
        while grown := {pid for pid, (parent, _) in parents.items() if parent in family} - family:
            family |= grown
        for pid in family & parents.keys():
            peaks[pid] = parents[pid][1]
        time.sleep(EVERY)
    return max(peaks.values(), default=0)


def _status(entry: Path) -> tuple[int, int]:
    """A process's parent, and the peak of its memory."""
    lines = (entry / "status").read_text().splitlines()
    said = dict(line.split(":", 1) for line in lines)
    return int(said["PPid"]), 1024 * int(said.get("VmHWM", "0 kB").split()[0])
