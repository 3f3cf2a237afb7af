"""The schedules of a task that are to be measured, drawn some at a time, in a file.

A line is the number of the draw and the schedule; ``end`` says that the space has no more. Drawing
goes on from the last number, so that it costs the same whether a collection was stopped or not.
"""

from __future__ import annotations

import os
import re
from itertools import islice
from pathlib import Path

from graph_net.programs.spaces import Space, distinct
from graph_net.store.files import open_regular
from graph_net.store.journal import cut_torn_line, whole_lines

END = b"end\n"
_LINE = re.compile(rb"end\n|\d{1,18} [^\n]+\n")


class DrawnSchedules:
    """What has been drawn of one space with one seed."""

    def __init__(self, path: Path, seed: int) -> None:
        self.path, self.seed = path, seed

    def known(self, start: int, count: int) -> tuple[list[str], bool]:
        """Return some of the schedules drawn so far; whether they are all that was asked for.

        Where the space has no more, fewer are.
        """
        if not self.path.exists():
            return [], False
        with open_regular(self.path) as file:
            lines = [line for line in islice(file, start, start + count) if line.endswith(b"\n")]
            # The end may stand before ``start``: nothing comes after it.
            ended = END in lines or (not lines and _last(self.path) == END)
        schedules = schedules_in(b"".join(lines))
        return schedules, ended or len(schedules) == count

    def draw(self, space: Space, count: int) -> None:
        """Draw until there are ``count``, or no more."""
        self.add(self.ahead(space, count))

    def ahead(self, space: Space, count: int) -> bytes:
        """Return the lines that are missing until there are ``count``; nothing is written."""
        numbers, seen = self._resume()
        if numbers is None or len(seen) >= count:
            return b""
        missing = count - len(seen)
        draws = islice(distinct(space.draws(self.seed, numbers), seen), missing)
        lines = [b"%d %s\n" % (number, schedule.encode()) for number, schedule in draws]
        return b"".join(lines if len(lines) == missing else [*lines, END])

    def add(self, lines: bytes) -> None:
        """Append lines; ValueError where they are none. One that a kill cut off goes before."""
        if not all(_LINE.fullmatch(line) for line in lines.splitlines(keepends=True)):
            raise ValueError("not the lines of drawn schedules")
        cut_torn_line(self.path)
        with self.path.open("ab") as file:
            file.write(lines)

    def _resume(self) -> tuple[int | None, set[str]]:
        """Return the number of the next draw, none after the end, and what has been drawn."""
        seen: set[str] = set()
        if not self.path.exists():
            return 0, seen
        following = 0
        for line in whole_lines(self.path):
            if line == END:
                return None, seen
            number, schedule = line.split(b" ", 1)
            seen.add(schedule.decode().rstrip("\n"))
            following = int(number) + 1
        return following, seen


def schedules_in(lines: bytes) -> list[str]:
    """Return the schedules of some lines."""
    drawn_lines = (line for line in lines.splitlines(keepends=True) if line != END)
    return [line.split(b" ", 1)[1].decode().rstrip("\n") for line in drawn_lines]


def _last(path: Path) -> bytes:
    with open_regular(path) as file:
        file.seek(-min(len(END), path.stat().st_size), os.SEEK_END)
        return file.read()
