"""How far a run of measurements is, and what came of it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.live import Live
from rich.table import Table

from graph_net.display.terminal import err, out
from graph_net.printable import count_phrase

if TYPE_CHECKING:
    from graph_net.measure import Measurement
    from graph_net.results import Record

NAMED = 5
"""So many graphs that did not fit are named."""


class Board:
    """What is done, what failed and where, how fast it goes, how long it will take."""

    def __init__(self, total: int, until: float | None, quiet: bool = False) -> None:
        self.total, self.before, self.until, self.quiet = total, 0, until, quiet
        self.began = time.monotonic()
        self.results: dict[str, Counter[str]] = {}
        self.pieces = Counter[str]()
        """How many graphs a compiler did not take whole."""
        self.stages: dict[str, str] = {}
        self.names: dict[str, str] = {}
        self.stopped: dict[str, str] = {}
        """What was begun when the time was up, and how far it was."""
        self.records = 0
        self.live: Live | None = None

    def passed(self) -> None:
        """Told of each measurement that was done before."""
        self.before += 1

    def counted(self, todo: Iterator[Measurement]) -> Iterator[Measurement]:
        """The tasks, until the budget is spent."""
        for task in todo:
            if self.until is not None and time.monotonic() > self.until:
                return
            self.names[task.key] = f"{task.config.label} on {task.subject.name}"
            yield task

    def watch(self, event: str, key: str, stage: str) -> None:
        """Told by the runner what happens."""
        if event in ("record", "stopped"):
            self.stages.pop(key, None)
            name = self.names.pop(key, key)
            if event == "stopped":
                self.stopped[name] = stage
        else:
            self.stages[key] = stage or "start"
        self._draw()

    def add(self, record: Record) -> None:
        """Count a record."""
        from graph_net.results.graph_breaks import pieces_text
        from graph_net.results.summary import line_of

        counts = self.results.setdefault(record.config.label, Counter())
        self.pieces[record.config.label] += bool(pieces_text(record))
        self.records += 1
        if record.failure is None:
            assert record.timing is not None
            counts[record.timing.verdict] += 1
        elif record.failure.symptom == "too_noisy":  # right, but nothing to say of its speed
            counts["ambiguous"] += 1
        else:
            counts[f"failed: {record.failure.stage} {record.failure.symptom}"] += 1
        if self.live is None and not self.quiet:
            err.print(line_of(record), highlight=False, soft_wrap=True)
        self._draw()

    def shown(self) -> Live | _Quiet:
        """Draws the board while something runs, where there is a terminal."""
        if self.quiet or not err.is_terminal:
            return _Quiet()
        self.live = Live(self.table(), console=err, auto_refresh=False, transient=True)
        return self.live

    def _draw(self) -> None:
        if self.live is not None:
            self.live.update(self.table(), refresh=True)

    def table(self) -> Table:
        """The board."""
        spent = time.monotonic() - self.began
        rate = self.records / spent * 60 if spent else 0.0
        table = Table(title=self._title(rate), title_justify="left")
        table.add_column("compiler")
        for verdict in ("faster", "same", "slower", "ambiguous"):
            table.add_column(verdict, justify="right")
        pieces = self.pieces.total() > 0
        if pieces:
            table.add_column("in pieces", justify="right")
        table.add_column("failed", overflow="fold")
        for label, counts in sorted(self.results.items()):
            failed = [f"{n} {what[8:]}" for what, n in sorted(counts.items()) if ":" in what]
            words = [str(counts[v]) for v in ("faster", "same", "slower", "ambiguous")]
            words += [str(self.pieces[label])] if pieces else []
            table.add_row(label, *words, ", ".join(failed))
        return table

    def _title(self, rate: float) -> str:
        left = max(self.total - self.before - self.records, 0)
        words = [f"{self.records:,} done", f"{left:,} to do", f"{rate:.1f} a minute"]
        if self.until is not None and self.stages:
            minutes = max(0.0, self.until - time.monotonic()) / 60
            words.append(f"{minutes:.1f} min of the budget left")
            if rate and rate * minutes < left:
                words.append(f"about {rate * minutes:.0f} more will fit")
        elif rate and left and self.stages:
            words.append(f"{left / rate:.0f} min left")
        now = Counter(self.stages.values())
        doing = ", ".join(f"{n} {stage}" for stage, n in sorted(now.items()))
        return ", ".join(words) + (f" ({doing})" if doing else "")

    def report(self) -> None:
        """What came of it, and what did not fit."""
        if self.quiet:
            return
        left = self.total - self.before - self.records
        if self.results:
            out.print(self.table())
        elif left <= 0 or self.until is None:
            err.print("nothing to do: the records have it all")
        if left > 0 and self.until is not None:
            self._tell_left(left)

    def _tell_left(self, left: int) -> None:
        what = (
            f"{count_phrase(left, 'measurement')} did not fit; the same command goes on with them"
        )
        err.print(what, highlight=False)
        for name, stage in list(self.stopped.items())[:NAMED]:
            err.print(f"stopped at {stage or 'start'}: {name}", highlight=False, soft_wrap=True)
        if len(self.stopped) > NAMED:
            err.print(f"… and {len(self.stopped) - NAMED} more that were begun")


class _Quiet:
    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None
