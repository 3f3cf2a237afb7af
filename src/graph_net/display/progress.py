"""The progress of a command: a bar on a terminal, a line every half minute elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from graph_net.display.terminal import err

EVERY = 30.0
"""Seconds between two lines without a terminal."""


class Advance(Protocol):
    """A function to call once per item done."""

    def __call__(self, failed: bool = False) -> None: ...


@contextmanager
def progress(title: str, total: int) -> Iterator[Advance]:
    """Yield the function to call; a short run prints nothing without a terminal."""
    count = _Count(total, time.monotonic())
    if err.is_terminal:
        with _bar(title, count) as advance:
            yield advance
        return
    printed = count.began

    def now_and_then(failed: bool = False) -> None:
        nonlocal printed
        count.add(failed)
        now = time.monotonic()
        if now - printed >= EVERY:
            printed = now
            text = f"{title} {count.done}/{total} {count.text(now)}, {count.left(now)} left"
            err.print(text, highlight=False)

    yield now_and_then


@contextmanager
def _bar(title: str, count: _Count) -> Iterator[Advance]:
    columns = (
        TextColumn("{task.fields[title]}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.description}", markup=False),
        TimeRemainingColumn(),
    )
    # Drawn when an item is done, not by a thread: workers are forked meanwhile.
    with Progress(*columns, console=err, auto_refresh=False) as bar:
        task = bar.add_task("", total=count.total, title=title)
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
        """Return the items per second."""
        return self.done / max(now - self.began, 1e-9)

    def text(self, now: float) -> str:
        """Return the rate per second, or per minute if it is low, and the number of failures."""
        speed = self.speed(now)
        rate = f"{speed:.1f}/s" if speed >= 1 else f"{60 * speed:.1f}/min"
        return f"{rate}, {self.failed} failed" if self.failed else rate

    def left(self, now: float) -> str:
        """Return the time left at this speed."""
        minutes = round(max(self.total - self.done, 0) / self.speed(now) / 60)
        return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"
