"""The schedules of a task that are to be measured, drawn some at a time, in a file.

A line is the number of the draw and the schedule; ``end`` says that the space has no more. Drawing
goes on from the last number, so that it costs the same whether a collection was stopped or not.
"""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path

from graph_net.space import Space, distinct
from graph_net.store.files import open_regular
from graph_net.store.journal import cut_torn_line, whole_lines

END = b"end\n"


class Samples:
    """What has been drawn of one space with one seed."""

    def __init__(self, path: Path, seed: int) -> None:
        self.path, self.seed = path, seed

    def known(self, start: int, count: int) -> tuple[list[str], bool]:
        """Some of the schedules drawn so far; whether they are all that was asked for.

        Where the space has no more, fewer are.
        """
        if not self.path.exists():
            return [], False
        with open_regular(self.path) as file:
            lines = [line for line in islice(file, start, start + count) if line.endswith(b"\n")]
            # The end may stand before ``start``: nothing comes after it.
            ended = END in lines or (not lines and _last(self.path) == END)
        schedules = [line.split(b" ", 1)[1].decode().rstrip("\n") for line in lines if line != END]
        return schedules, ended or len(schedules) == count

    def draw(self, space: Space, count: int) -> None:
        """Draw until there are ``count``, or no more."""
        numbers, seen = self._resume()
        if numbers is None or len(seen) >= count:
            return
        missing = count - len(seen)
        with self.path.open("ab") as file:
            drawn = 0
            for number, schedule in islice(
                distinct(space.draws(self.seed, numbers), seen), missing
            ):
                file.write(b"%d %s\n" % (number, schedule.encode()))
                drawn += 1
            if drawn < missing:
                file.write(END)

    def _resume(self) -> tuple[int | None, set[str]]:
        """The number of the next draw, none after the end; a line that a kill cut off goes."""
        seen: set[str] = set()
        if not self.path.exists():
            return 0, seen
        following = 0
        cut_torn_line(self.path)
        for line in whole_lines(self.path):
            if line == END:
                return None, seen
            number, schedule = line.split(b" ", 1)
            seen.add(schedule.decode().rstrip("\n"))
            following = int(number) + 1
        return following, seen


def _last(path: Path) -> bytes:
    with open_regular(path) as file:
        file.seek(-min(len(END), path.stat().st_size), os.SEEK_END)
        return file.read()
