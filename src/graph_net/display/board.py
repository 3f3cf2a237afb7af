"""The progress and the results of a run of measurements."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from rich.live import Live
from rich.table import Table

from graph_net.display.terminal import err, out
from graph_net.printable import count_phrase

if TYPE_CHECKING:
    from graph_net.measure import Measurement
    from graph_net.results import Device, Record

NAMED = 5
"""Unfinished measurements that are named."""


class Board:
    """Results by compiler, failures by stage, the rate, and the time left."""

    def __init__(self, total: int, until: float | None, quiet: bool = False) -> None:
        self.total, self.before, self.until, self.quiet = total, 0, until, quiet
        self.began = time.monotonic()
        self.results: dict[tuple[str, str], Counter[str]] = {}
        """Verdicts and failures, by compiler and by the hash of the device."""
        self.devices: dict[str, Device] = {}
        self.pieces = Counter[tuple[str, str]]()
        """The number of graphs a compiler did not take whole."""
        self.stages: dict[str, str] = {}
        self.names: dict[str, str] = {}
        self.stopped: dict[str, str] = {}
        """Measurements under way when the budget was spent, and their stage."""
        self.records = 0
        self.live: Live | None = None

    def skip(self) -> None:
        """Count a measurement that was done before."""
        self.before += 1

    def until_budget(self, todo: Iterator[Measurement]) -> Iterator[Measurement]:
        """Yield the tasks until the budget is spent."""
        for task in todo:
            if self.until is not None and time.monotonic() > self.until:
                return
            self.name_task(task)
            yield task

    def name_task(self, task: Measurement) -> None:
        """Note what a key stands for."""
        self.names[task.key] = f"{task.config.label} on {task.subject.name}"

    def watch(self, event: str, key: str, stage: str) -> None:
        """Note an event of the runner."""
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

        row = (record.config.label, record.device.hash)
        self.devices[record.device.hash] = record.device
        counts = self.results.setdefault(row, Counter())
        self.pieces[row] += bool(pieces_text(record))
        self.records += 1
        if record.failure is None:
            assert record.timing is not None
            counts[record.timing.verdict] += 1
        elif record.failure.symptom == "too_noisy":  # correct, without a speedup
            counts["ambiguous"] += 1
        else:
            counts[f"failed: {record.failure.stage} {record.failure.symptom}"] += 1
        if self.live is None and not self.quiet:
            err.print(line_of(record), highlight=False, soft_wrap=True)
        self._draw()

    def live_view(self) -> AbstractContextManager[object]:
        """Draw the board inside the block, if there is a terminal."""
        if self.quiet or not err.is_terminal:
            return nullcontext()
        self.live = Live(self.table(), console=err, auto_refresh=False, transient=True)
        return self.live

    def _draw(self) -> None:
        if self.live is not None:
            self.live.update(self.table(), refresh=True)

    def table(self) -> Table:
        """Return the board as a table."""
        spent = time.monotonic() - self.began
        rate = self.records / spent * 60 if spent else 0.0
        table = Table(title=self._title(rate), title_justify="left")
        table.add_column("compiler")
        labels = device_labels(self.devices) if len(self.devices) > 1 else {}
        if labels:  # times of different devices are not counted together
            table.add_column("device", overflow="fold")
        for verdict in ("faster", "same", "slower", "ambiguous"):
            table.add_column(verdict, justify="right")
        pieces = self.pieces.total() > 0
        if pieces:
            table.add_column("in pieces", justify="right")
        table.add_column("failed", overflow="fold")
        for (label, device), counts in sorted(self.results.items()):
            failed = [f"{n} {key[8:]}" for key, n in sorted(counts.items()) if ":" in key]
            cells = [labels[device]] if labels else []
            cells += [str(counts[v]) for v in ("faster", "same", "slower", "ambiguous")]
            cells += [str(self.pieces[label, device])] if pieces else []
            table.add_row(label, *cells, ", ".join(failed))
        return table

    def _title(self, rate: float) -> str:
        left = max(self.total - self.before - self.records, 0)
        words = [f"{self.records:,} done", f"{left:,} to do", f"{rate:.1f} per minute"]
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
        """Print the results, and what did not fit into the budget."""
        if self.quiet:
            return
        left = self.total - self.before - self.records
        if self.results:
            out.print(self.table())
        elif left <= 0 or self.until is None:
            err.print("nothing to do: the records are complete")
        if left > 0 and self.until is not None:
            self._print_left(left)

    def _print_left(self, left: int) -> None:
        count = count_phrase(left, "measurement")
        err.print(f"{count} did not fit; the same command resumes with them", highlight=False)
        for name, stage in list(self.stopped.items())[:NAMED]:
            err.print(f"stopped at {stage or 'start'}: {name}", highlight=False, soft_wrap=True)
        if len(self.stopped) > NAMED:
            err.print(f"… and {len(self.stopped) - NAMED} more that were started")


def device_labels(devices: Mapping[str, Device]) -> dict[str, str]:
    """Return what tells devices apart, by their hash: the name, and what differs."""
    facts = {key: _facts(device) for key, device in devices.items()}
    names = dict.fromkeys(name for each in facts.values() for name in each)
    differing = [n for n in names if len({each.get(n) for each in facts.values()}) > 1]
    return {
        key: ", ".join(
            [devices[key].name]
            + [f"{name} {each.get(name, 'absent')}" for name in differing if name != "name"]
        )
        for key, each in facts.items()
    }


def _facts(device: Device) -> dict[str, str]:
    fields = ("name", "cores", "threads", "memory_bytes", "system", "python")
    return {name: str(getattr(device, name)) for name in fields} | dict(device.software)
