"""The most memory that a process ever had (VmHWM) and its CPU time, with all its children."""

from __future__ import annotations

import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

EVERY = 0.1
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Used:
    """What a process and all that descend from it used."""

    peak: int
    """Bytes of the largest of them."""
    cpu: float
    """Seconds of all of them, to a tenth of a second each."""


def peak_of_this() -> int:
    """Bytes, of the calling process."""
    return _status(Path("/proc/self"))[1]


def used_by(process: subprocess.Popen[bytes]) -> Used:
    """Wait for a process, and look at it and its descendants meanwhile."""
    peaks: dict[int, int] = {}
    cpu: dict[int, float] = {}
    while process.poll() is None:
        seen: dict[int, tuple[int, int, float]] = {}
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                seen[int(entry.name)] = _status(entry)
            except OSError:  # it ended meanwhile
                continue
        family = {process.pid}
        while grown := {pid for pid, (parent, _, _) in seen.items() if parent in family} - family:
            family |= grown
        for pid in family & seen.keys():  # one that is ending has no memory any more
            peaks[pid] = max(peaks.get(pid, 0), seen[pid][1])
            cpu[pid] = max(cpu.get(pid, 0.0), seen[pid][2])
        time.sleep(EVERY)
    return Used(max(peaks.values(), default=0), sum(cpu.values()))


def _status(entry: Path) -> tuple[int, int, float]:
    """A process's parent, the peak of its memory, and its CPU seconds."""
    said = dict(line.split(":", 1) for line in (entry / "status").read_text().splitlines())
    ticks = (entry / "stat").read_text().rpartition(")")[2].split()[11:13]
    peak = 1024 * int(said.get("VmHWM", "0 kB").split()[0])
    return int(said["PPid"]), peak, sum(map(int, ticks)) / TICKS
