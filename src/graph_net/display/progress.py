"""How far a command is: a bar on a terminal, a line now and then anywhere else."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from graph_net.display.terminal import err

EVERY = 30.0
"""Seconds between two lines where there is no terminal to draw on."""


class Advance(Protocol):
    """To be called once for each thing done."""

    def __call__(self, failed: bool = False) -> None: ...


@contextmanager
def progress(what: str, total: int) -> Iterator[Advance]:
    """Yields the function to call; what ends soon prints nothing where there is no terminal."""
    count = _Count(total, time.monotonic())
    if err.is_terminal:
        with _bar(what, count) as advance:
            yield advance
        return
    said = count.began

    def now_and_then(failed: bool = False) -> None:
        nonlocal said
        count.add(failed)
        now = time.monotonic()
        if now - said >= EVERY:
            said = now
            text = f"{what} {count.done}/{total} {count.text(now)}, {count.left(now)} left"
            err.print(text, highlight=False)

    yield now_and_then


@contextmanager
def _bar(what: str, count: _Count) -> Iterator[Advance]:
    columns = (
        TextColumn("{task.fields[what]}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.description}", markup=False),
        TimeRemainingColumn(),
    )
    # Drawn when something is done, not by a thread: workers are forked meanwhile.
    with Progress(*columns, console=err, auto_refresh=False) as bar:
        task = bar.add_task("", total=count.total, what=what)
        bar.refresh()

        def advance(failed: bool = False) -> None:
            count.add(failed)
            bar.update(task, advance=1, description=count.text(time.monotonic()))
            bar.refresh()

        yield advance


@dataclass
class _Count:
    total: int
    began: float
    done: int = 0
    failed: int = 0

    def add(self, failed: bool) -> None:
        self.done += 1
        self.failed += failed

    def speed(self, now: float) -> float:
        """Things a second."""
        return self.done / max(now - self.began, 1e-9)

    def text(self, now: float) -> str:
        """How many a second, or a minute where that is fewer than one; how many failed."""
        speed = self.speed(now)
        rate = f"{speed:.1f}/s" if speed >= 1 else f"{60 * speed:.1f}/min"
        return f"{rate}, {self.failed} failed" if self.failed else rate

    def left(self, now: float) -> str:
        """The time that is left at this speed."""
        minutes = round(max(self.total - self.done, 0) / self.speed(now) / 60)
        return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"
