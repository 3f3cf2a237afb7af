"""``graph-net bench``: compilers measured on graphs."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graph_net.cli.board import Board
from graph_net.cli.choose import chosen_graphs
from graph_net.cli.common import err
from graph_net.cli.list import WHERE_HELP

if TYPE_CHECKING:
    from graph_net.record import Config

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
        str | None,
        typer.Option(
            help="The run ends after this long: 90s, 10m, 2h. What compiles then is stopped."
        ),
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
    from graph_net.measure import Limits, Protocol, measure
    from graph_net.measure.device import describe, require_device
    from graph_net.measure.plan import default_jobs, parse_compilers, tasks
    from graph_net.store.records import RecordStore

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
            device=described.kind,
            work=records / ".work",
            watch=board.watch,
            until=until,
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
