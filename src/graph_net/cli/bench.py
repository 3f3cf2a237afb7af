"""``graph-net bench``: compilers measured on graphs."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.live import Live
from rich.table import Table

from graph_net.cli.choose import chosen_graphs
from graph_net.cli.common import err, out
from graph_net.cli.list import WHERE_HELP

if TYPE_CHECKING:
    from graph_net.measure import Task
    from graph_net.record import Config, Record

COMPILERS_HELP = (
    "Comma-separated; options in brackets: inductor[mode=max-autotune],tvm. "
    "A compiler of your own is path/to/file.py:Name. `graph-net compilers` lists all."
)


def bench_graphs(
    graphs: Annotated[
        str | None,
        typer.Argument(help="A pack or samples; the shipped corpus if none is named."),
    ] = None,
    compilers: Annotated[str, typer.Option(help=COMPILERS_HELP)] = "inductor",
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    records: Annotated[
        Path, typer.Option("--records", "-o", help="Where records go; the same place resumes.")
    ] = Path("build/records"),
    where: Annotated[str | None, typer.Option(help=WHERE_HELP)] = None,
    mini: Annotated[
        bool, typer.Option(help="The mini selection: few, quick, of every kind.")
    ] = False,
    limit: Annotated[int | None, typer.Option(help="At most so many graphs.")] = None,
    budget: Annotated[
        str | None, typer.Option(help="Stop starting after so long: 90s, 10m, 2h.")
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Builders; 0 for one a core.")] = 0,
    threads: Annotated[int, typer.Option(help="Threads of a measured graph; 0 for all.")] = 0,
    seconds: Annotated[float, typer.Option(help="Sampling time for one graph.")] = 5.0,
    gigabytes: Annotated[float, typer.Option(help="Memory limit for one measurement.")] = 8.0,
    timeout: Annotated[float, typer.Option(help="Time limit for one compilation.")] = 600.0,
    resume: Annotated[bool, typer.Option(help="Pass over what the records have already.")] = True,
    retry: Annotated[
        bool, typer.Option(help="Measure again what failed, under limits that may be other ones.")
    ] = False,
    forms: Annotated[
        bool, typer.Option(help="Keep graphs converted to ONNX beside the records for next time.")
    ] = True,
    plan: Annotated[
        Path | None,
        typer.Option(help="Write a bundle to run on another machine (python BUNDLE) instead."),
    ] = None,
) -> None:
    """Measure compilers on graphs: correctness, speedup over eager, compile time, memory.

    Each graph and compiler is built and measured in a process of its own; building goes on
    beside others, measuring alone. Stopped or killed, the same command goes on where it was.
    """
    from graph_net.corpus.records import RecordStore
    from graph_net.measure import Limits, Protocol, measure
    from graph_net.measure.device import describe, require_device
    from graph_net.measure.plan import default_jobs, parse_compilers, tasks

    if plan is None:
        require_device(device)
    until = None if budget is None else time.monotonic() + parse_seconds(budget)
    configs = parse_compilers(compilers)
    names, source = chosen_graphs(graphs, where, mini, limit)
    protocol = Protocol(seconds=seconds)
    limits = Limits(memory_bytes=int(gigabytes * 2**30)).with_compile(timeout)
    if plan is not None:
        from graph_net.measure.bundle import write_bundle

        count = write_bundle(plan, source, configs, device, protocol, limits)
        err.print(f"{plan}: {count} graphs × {len(configs)} compilers; run `python {plan.name}`")
        return
    configs = _usable(configs)
    store = RecordStore(records)
    described = describe(device, threads or None)
    _tell_confinement()
    with store.locked():
        done = store.final_keys(retry) if resume else set()
        board = Board(len(names) * len(configs), until)
        todo = tasks(source, configs, described, protocol, limits, done, board.passed)
        if forms:
            place = str((records / ".forms").absolute())
            todo = (replace(task, forms=place) for task in todo)
        run = measure(
            board.counted(todo),
            jobs=jobs or default_jobs(device),
            compilers=[config.name for config in configs],
            alone=not device.startswith("cuda"),
            work=records / ".work",
            watch=board.watch,
        )
        with store.journal() as journal, board.shown():
            for record in run:
                journal.add(record)
                board.add(record)
        store.compact()
    board.report()
    err.print(f"records in {records}; `graph-net query` asks them anything")


def parse_seconds(text: str) -> float:
    """Seconds of ``90``, ``90s``, ``10m`` or ``2h``."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smh]?)\s*", text)
    if found is None:
        raise ValueError(f"{text!r} is no time; write 90s, 10m or 2h")
    return float(found[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[found[2]]


def _tell_confinement() -> None:
    """Say what does not hold here; where all does, nothing."""
    from graph_net.isolate.doctor import confinement

    held = confinement()
    if "without" in held:
        err.print(f"Workers are confined by {held}; `graph-net doctor` says more.")


def _usable(configs: list[Config]) -> list[Config]:
    """Those that can be used here; the others are named, and it is an error if none is left."""
    from graph_net.compilers import CompilerError, create
    from graph_net.record import short_name

    missing = [create(config.name, config.options).missing() for config in configs]
    reasons = [
        f"{short_name(config.name)} cannot be used here: {why}"
        for config, why in zip(configs, missing, strict=True)
        if why
    ]
    if len(reasons) == len(configs):
        raise CompilerError("; ".join(reasons))
    for reason in reasons:
        err.print(f"left out: {reason}", highlight=False, soft_wrap=True)
    return [config for config, why in zip(configs, missing, strict=True) if not why]


class Board:
    """What is done, what failed and where, how fast it goes, how long it will take."""

    def __init__(self, total: int, until: float | None) -> None:
        self.total, self.before, self.until = total, 0, until
        self.began = time.monotonic()
        self.results: dict[str, Counter[str]] = {}
        self.pieces = Counter[str]()
        """How many graphs a compiler did not take whole."""
        self.stages: dict[str, str] = {}
        self.records = 0
        self.live: Live | None = None

    def passed(self) -> None:
        """Told of each measurement that was done before."""
        self.before += 1

    def counted(self, todo: Iterator[Task]) -> Iterator[Task]:
        """The tasks, until the budget is spent."""
        for task in todo:
            if self.until is not None and time.monotonic() > self.until:
                return
            yield task

    def watch(self, event: str, key: str, stage: str) -> None:
        """Told by the runner what happens."""
        if event == "record":
            self.stages.pop(key, None)
        else:
            self.stages[key] = stage or "start"
        self._draw()

    def add(self, record: Record) -> None:
        """Count a record."""
        from graph_net.record.pieces import pieces_text

        counts = self.results.setdefault(record.config.label, Counter())
        self.pieces[record.config.label] += bool(pieces_text(record))
        self.records += 1
        if record.failure is None:
            assert record.timing is not None
            counts[record.timing.verdict] += 1
        else:
            counts[f"failed: {record.failure.stage} {record.failure.symptom}"] += 1
        if self.live is None:
            err.print(_line(record), highlight=False, soft_wrap=True)
        self._draw()

    def shown(self) -> Live | _Quiet:
        """Draws the board while something runs, where there is a terminal."""
        if not err.is_terminal:
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
        left = self.total - self.before - self.records
        now = Counter(self.stages.values())
        doing = ", ".join(f"{n} {stage}" for stage, n in sorted(now.items()))
        ahead = f"{left / rate:.0f} min left" if rate and left > 0 else ""
        if self.until is not None:
            ahead = f"{max(0.0, self.until - time.monotonic()) / 60:.1f} min of the budget left"
        return f"{self.records} done, {max(left, 0)} to do, {rate:.1f} a minute, {ahead} ({doing})"

    def report(self) -> None:
        """What came of it."""
        if self.results:
            out.print(self.table())
        else:
            err.print("nothing to do: the records have it all")


class _Quiet:
    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


def _line(record: Record) -> str:
    from graph_net.record.pieces import pieces_text
    from graph_net.record.signature import headline_of

    words = f"{record.config.label} {record.subject.name}: "
    if record.failure is not None:
        failure = record.failure
        return f"{words}{failure.stage} {failure.symptom}: {headline_of(failure.message)}"
    timing = record.timing
    assert timing is not None
    speedup = f"{timing.speedup.value:.3f}× [{timing.speedup.low:.3f}, {timing.speedup.high:.3f}]"
    pieces = pieces_text(record)
    return f"{words}{speedup} {timing.verdict}{f' ({pieces})' if pieces else ''}"
