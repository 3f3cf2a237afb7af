"""``graph-net programs show``: a task with its programs, or all tasks."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.table import Table

from graph_net.api.programs import SORTS, ProgramSet, TaskDetails, summary_json
from graph_net.cli import options as opt
from graph_net.cli.common import out
from graph_net.printable import count_phrase, short_count

if TYPE_CHECKING:
    from graph_net.programs.view.overview import TaskSummary

ID = 8
ROOM = 110
"""The least terminal width at which the table lists networks and FLOPs."""


def show_programs(
    task: Annotated[
        str,
        typer.Argument(
            metavar="TASK",
            help="A task, a workload or a kernel, or its prefix; all tasks if none is named.",
        ),
    ] = "",
    records: opt.Records = Path("build/records"),
    sort: Annotated[str, typer.Option(help=f"The order of tasks: {', '.join(SORTS)}.")] = "time",
    limit: Annotated[int, typer.Option(help="At most this many tasks; 0 for all.", min=0)] = 30,
    lines: Annotated[int, typer.Option(help="Lines of each program; 0 for all.", min=0)] = 60,
    steps: Annotated[
        bool, typer.Option("--steps", help="Show schedules as decisions, not as programs.")
    ] = False,
    code: Annotated[bool, typer.Option(help="Show code; TVM's takes seconds to load.")] = True,
    json: opt.Json = False,
) -> None:
    """Show what a task computes, its best and a typical schedule, and the spread of its times.

    Without a task: a table of all tasks. Modules and schedules are read, never run.
    """
    from graph_net.programs.formats import ReadError

    if sort not in SORTS:
        raise typer.BadParameter(
            f"unknown order {sort!r}; available: {', '.join(SORTS)}", param_hint="--sort"
        )
    programs = ProgramSet(records)
    try:
        if task:
            _show_task(programs.details(task), lines, steps, code, json)
        else:
            _show_tasks(programs.tasks(sort), sort, limit, json)
    except ReadError as error:
        raise typer.BadParameter(str(error)) from error


def _show_tasks(tasks: list[TaskSummary], sort: str, limit: int, json: bool) -> None:
    shown = tasks[: limit or None]
    if json:
        typer.echo(jsonlib.dumps([summary_json(task) for task in shown], indent=1))
        return
    out.print(_table(shown))
    rest = f", {len(shown)} of them shown, by {sort}" if len(shown) < len(tasks) else ""
    programs, failed = (sum(getattr(task, key) for task in tasks) for key in ("programs", "failed"))
    out.print(
        f"{count_phrase(len(tasks), 'task')}{rest}; {count_phrase(programs, 'program')}, "
        f"{failed:,} failed"
    )


def _show_task(task: TaskDetails, lines: int, steps: bool, code: bool, json: bool) -> None:
    from graph_net.cli.programs_view import print_code, print_numbers

    if json:
        typer.echo(jsonlib.dumps(task.as_json(code), indent=1))
        return
    print_numbers(task.view, task.subgraphs)
    if code:
        print_code(task.view, task.listing, lines, steps)


def _table(tasks: list[TaskSummary]) -> Table:
    from graph_net.programs.view.histogram import short_seconds

    devices = [task.device for task in tasks]
    roomy = out.width >= ROOM
    columns = {
        "task": [task.task[:ID] for task in tasks],
        "kernel": [task.name for task in tasks],
        "device": devices if len(set(devices)) > 1 else [],
        "networks": [_networks(task) if roomy else "" for task in tasks],
        "weight": [f"{task.weight:,}" if task.weights else "" for task in tasks],
        "FLOPs": [short_count(task.flops) if task.flops and roomy else "" for task in tasks],
        "programs": [f"{task.programs:,}" for task in tasks],
        "failed": [f"{task.failed:,}" if task.failed else "" for task in tasks],
        "best": [short_seconds(task.best) for task in tasks],
        "median": [short_seconds(task.median) for task in tasks],
        "spread": [f"{task.spread:.3g}×" if task.spread else "" for task in tasks],
    }
    filled = {name: cells for name, cells in columns.items() if any(cells)}
    table = Table(box=None, pad_edge=False)
    for name in filled:
        folds = name in ("kernel", "device", "networks")
        justify: Literal["left", "right"] = "left" if folds or name == "task" else "right"
        table.add_column(name, justify=justify, no_wrap=not folds, overflow="fold")
    for row in zip(*filled.values(), strict=True):
        table.add_row(*row)
    return table


def _networks(task: TaskSummary) -> str:
    """Return the first network of a task, and the number of the others."""
    names = list(task.weights)
    more = f" +{len(names) - 1}" if len(names) > 1 else ""
    return names[0].rpartition("/")[2] + more if names else ""
