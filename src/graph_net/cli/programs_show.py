"""``graph-net programs show``: a task with its programs, or all tasks."""

from __future__ import annotations

import json as jsonlib
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from graph_net.cli.common import out
from graph_net.printable import count_phrase, short_count

if TYPE_CHECKING:
    from graph_net.programs.collection.subgraphs import Occurrence
    from graph_net.programs.view.overview import TaskSummary
    from graph_net.programs.view.readable_task import Listing
    from graph_net.programs.view.show import TaskView

SORTS = {
    "time": ("importance", True),
    "weight": ("weight", True),
    "kernel": ("name", False),
    "flops": ("flops", True),
    "programs": ("programs", True),
    "failed": ("failed", True),
    "best": ("best", False),
    "median": ("median", False),
    "spread": ("spread", True),
}
"""What tasks are sorted by, and whether the largest comes first."""
ID = 8
ROOM = 110
"""Columns from which on a table has networks and operations too."""


def show_programs(
    task: Annotated[
        str,
        typer.Argument(
            metavar="TASK",
            help="A task, a workload or a kernel, or how it begins; without: all tasks.",
        ),
    ] = "",
    records: Annotated[Path, typer.Option("--records", "-r", help="Where the records are.")] = Path(
        "build/records"
    ),
    sort: Annotated[str, typer.Option(help=f"All tasks by: {', '.join(SORTS)}.")] = "time",
    limit: Annotated[int, typer.Option(help="So many tasks; 0 for all.", min=0)] = 30,
    lines: Annotated[int, typer.Option(help="Lines of each code; 0 for all.", min=0)] = 60,
    steps: Annotated[
        bool, typer.Option("--steps", help="Schedules as decisions, not as programs.")
    ] = False,
    code: Annotated[bool, typer.Option(help="Show code; TVM's takes seconds to load.")] = True,
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Show what a task computes, its best and a typical schedule, and how its times are spread.

    Without a task: a table of all of them. Modules and schedules are read, never run.
    """
    from graph_net.programs.formats import ReadError
    from graph_net.programs.view.find_task import find_task
    from graph_net.programs.view.overview import summaries, tables
    from graph_net.programs.view.show import views

    if sort not in SORTS:
        raise typer.BadParameter(f"{sort!r}; known: {', '.join(SORTS)}", param_hint="--sort")
    try:
        with tables(records) as connection:
            if not task:
                _show_all(summaries(connection), sort, limit, json)
                return
            (view,) = views(connection, [find_task(connection, task)])
    except ReadError as error:
        raise typer.BadParameter(str(error)) from error
    _show_one(view, lines, steps, code, json)


def _show_all(found: list[TaskSummary], sort: str, limit: int, json: bool) -> None:
    key, down = SORTS[sort]
    some = [one for one in found if getattr(one, key) is not None]
    some.sort(key=lambda one: getattr(one, key), reverse=down)
    some += [one for one in found if getattr(one, key) is None]
    shown = some[: limit or None]
    if json:
        typer.echo(jsonlib.dumps([_summary_tree(one) for one in shown], indent=1))
        return
    out.print(_table(shown))
    rest = f", {len(shown)} of them shown, by {sort}" if len(shown) < len(found) else ""
    programs, failed = (sum(getattr(one, key) for one in found) for key in ("programs", "failed"))
    out.print(
        f"{count_phrase(len(found), 'task')}{rest}; {count_phrase(programs, 'program')}, "
        f"{failed:,} failed"
    )


def _table(shown: list[TaskSummary]) -> Table:
    from graph_net.programs.view.histogram import short_seconds

    roomy = out.width >= ROOM
    columns = {
        "task": [one.task[:ID] for one in shown],
        "kernel": [one.name for one in shown],
        "device": [one.device for one in shown] if len({one.device for one in shown}) > 1 else [],
        "networks": [_networks(one) if roomy else "" for one in shown],
        "weight": [f"{one.weight:,}" if one.weights else "" for one in shown],
        "FLOPs": [short_count(one.flops) if one.flops and roomy else "" for one in shown],
        "programs": [f"{one.programs:,}" for one in shown],
        "failed": [f"{one.failed:,}" if one.failed else "" for one in shown],
        "best": [short_seconds(one.best) for one in shown],
        "median": [short_seconds(one.median) for one in shown],
        "spread": [f"{one.spread:.3g}×" if one.spread else "" for one in shown],
    }
    known = {name: words for name, words in columns.items() if any(words)}
    table = Table(box=None, pad_edge=False)
    for name in known:
        words = name in ("task", "kernel", "device", "networks")
        folds = words and name != "task"
        table.add_column(
            name, justify="left" if words else "right", no_wrap=not folds, overflow="fold"
        )
    for row in zip(*known.values(), strict=True):
        table.add_row(*row)
    return table


def _networks(of: TaskSummary) -> str:
    """The first of them, and how many others there are."""
    names = list(of.weights)
    more = f" +{len(names) - 1}" if len(names) > 1 else ""
    return names[0].rpartition("/")[2] + more if names else ""


def _show_one(view: TaskView, lines: int, steps: bool, code: bool, json: bool) -> None:
    from graph_net.cli.programs_view import print_code, print_numbers
    from graph_net.programs.collection.subgraphs import occurrences, packs_at_hand
    from graph_net.programs.view.readable_task import listings

    near = occurrences([view.summary], packs_at_hand()).get(view.summary.task, [])
    if not json:
        print_numbers(view, near)
    listing = next(listings([view])) if code else None
    if json:
        typer.echo(jsonlib.dumps(_tree(view, near, listing), indent=1))
    elif listing is not None:
        print_code(view, listing, lines, steps)


def _summary_tree(of: TaskSummary) -> dict[str, Any]:
    return {**asdict(of), "weight": of.weight, "spread": of.spread}


def _tree(view: TaskView, near: list[Occurrence], listing: Listing | None) -> dict[str, Any]:
    from graph_net.programs.view.histogram import histogram

    found = {
        **_summary_tree(view.summary),
        "noise": view.noise,
        "repeats": view.repeats,
        "histogram": asdict(histogram(view.costs)),
        "failures": [asdict(one) for one in view.failures],
        "subgraphs": [asdict(one) for one in near],
        "best_program": view.best and asdict(view.best),
        "typical_program": view.typical and asdict(view.typical),
    }
    return found if listing is None else {**found, "code": asdict(listing)}
