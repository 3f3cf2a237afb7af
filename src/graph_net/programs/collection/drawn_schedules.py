"""The schedules of a task to measure, drawn in steps and stored in a file.

A line is the number of the draw and the schedule; ``end`` says that the space has no more. Drawing
continues from the last number, so resuming a collection draws nothing twice.
"""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path

from graph_net.programs.spaces import Space, distinct
from graph_net.store.journal import cut_torn_line, whole_lines

END = b"end\n"
_LINE = re.compile(rb"end\n|\d{1,18} [^\n]+\n")


def schedules_of(work: Path, workload: str, seed: int) -> DrawnSchedules:
    """Return the schedules drawn of a workload (by its hash) in a collection's directory."""
    return DrawnSchedules(work / "samples" / f"{workload}-{seed}.txt", seed)


class DrawnSchedules:
    """The schedules drawn from one space with one seed."""

    def __init__(self, path: Path, seed: int) -> None:
        self.path, self.seed = path, seed

    def known(self, count: int) -> tuple[list[str], bool]:
        """Return up to ``count`` schedules drawn so far, and whether no more need be drawn."""
        schedules, following = self._read()
        return schedules[:count], following is None or len(schedules) >= count

    def draw(self, space: Space, count: int) -> tuple[list[str], bytes]:
        """Return ``count`` schedules (fewer if the space ends), and file lines for new ones."""
        schedules, following = self._read()
        missing = count - len(schedules)
        if following is None or missing <= 0:
            return schedules[:count], b""
        new = list(islice(distinct(space.draws(self.seed, following), set(schedules)), missing))
        lines = [b"%d %s\n" % (number, schedule.encode()) for number, schedule in new]
        schedules += [schedule for _, schedule in new]
        return schedules, b"".join(lines if len(lines) == missing else [*lines, END])

    def add(self, lines: bytes) -> None:
        """Append lines after dropping a torn last line; raise ValueError on malformed lines."""
        if not all(_LINE.fullmatch(line) for line in lines.splitlines(keepends=True)):
            raise ValueError("not the lines of drawn schedules")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        cut_torn_line(self.path)
        with self.path.open("ab") as file:
            file.write(lines)

    def _read(self) -> tuple[list[str], int | None]:
        """Return the schedules drawn and the number of the next draw; None if there is none."""
        schedules: list[str] = []
        following = 0
        for line in whole_lines(self.path) if self.path.exists() else ():
            if line == END:
                return schedules, None
            number, schedule = line.split(b" ", 1)
            schedules.append(schedule.decode().rstrip("\n"))
            following = int(number) + 1
        return schedules, following
