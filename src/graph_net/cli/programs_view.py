"""Print a task with its programs."""

from __future__ import annotations

import typer
from rich.table import Table

from graph_net.cli.common import out
from graph_net.display.terminal import lines
from graph_net.printable import printable, short_count
from graph_net.programs.collection.subgraphs import Occurrence, format_subgraphs
from graph_net.programs.view.histogram import short_seconds, text_histogram
from graph_net.programs.view.overview import TaskSummary
from graph_net.programs.view.readable_task import Code, Listing
from graph_net.programs.view.show import ShownProgram, TaskView
from graph_net.results.signature import headline_of

NETWORKS = 6


def print_numbers(view: TaskView, subgraphs: list[Occurrence]) -> None:
    """Print a task's facts, the spread of its times, and its failures."""
    _print_facts(view, subgraphs)
    _print_times(view)
    _print_failures(view)


def print_code(view: TaskView, listing: Listing, lines: int, steps: bool) -> None:
    """Print the computation, the best and a typical program, at most ``lines`` of each."""
    _print_code("what is computed", listing.computation, lines)
    _print_program("best", view.best, listing.best, view, lines, steps)
    if view.typical != view.best:
        _print_program("typical", view.typical, listing.typical, view, lines, steps)
    if listing.note:
        out.print()
        out.print(listing.note, soft_wrap=True)


def _networks(task: TaskSummary) -> str:
    names = list(task.weights)
    more = f" and {len(names) - NETWORKS} more" if len(names) > NETWORKS else ""
    return ", ".join(f"{name} ({task.weights[name]}×)" for name in names[:NETWORKS]) + more


def _print_facts(view: TaskView, subgraphs: list[Occurrence]) -> None:
    task = view.summary
    best = f"{short_seconds(task.best)}{_rate(task, task.best)}" if task.best else "no program ran"
    rows = {
        "task": task.task,
        "workload": task.workload if task.workload != task.name else "",
        "space": task.format,
        "device": task.device,
        "target": task.target,
        "networks": _networks(task),
        "FLOPs": short_count(task.flops) if task.flops else "",
        "structure": task.structure,
        "subgraphs": format_subgraphs(subgraphs),
        "best": best,
        "programs": f"{task.programs:,}, of which {task.failed:,} failed",
        "noise": _noise(view),
    }
    table = Table(title=task.name, show_header=False, title_justify="left", box=None)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for key, value in rows.items():
        if value:
            table.add_row(key, value)
    out.print(table)


def _rate(task: TaskSummary, seconds: float | None) -> str:
    rate = task.rate(seconds)
    return f", {short_count(rate)}FLOP/s" if rate else ""


def _noise(view: TaskView) -> str:
    if view.noise is None:
        return "unknown: one repeat per program" if view.repeats else ""
    return f"{100 * view.noise:.2g} % between the {view.repeats} repeats of a program (median)"


def _print_times(view: TaskView) -> None:
    bars = text_histogram(view.costs, max(10, min(50, out.width - 40)))
    if not bars:
        return
    task = view.summary
    out.print()
    out.print(
        f"times: best {short_seconds(task.best)}, median {short_seconds(task.median)}, worst "
        f"{short_seconds(task.worst)}; {task.spread:.3g}× between best and worst, log scale",
        highlight=False,
    )
    out.print(lines("\n".join(bars)))


def _print_failures(view: TaskView) -> None:
    if not view.failures:
        return
    table = Table(title="failures", title_justify="left", box=None)
    for name in ("count", "stage", "symptom", "such as"):
        table.add_column(name, justify="right" if name == "count" else "left", overflow="fold")
    for failure in view.failures:
        message = headline_of(failure.message)[:160]
        table.add_row(f"{failure.count:,}", failure.stage, failure.symptom, message)
    out.print()
    out.print(table)


def _print_program(
    name: str, program: ShownProgram | None, code: Code, view: TaskView, lines: int, steps: bool
) -> None:
    if program is None:
        return
    heading = f"{name}: {short_seconds(program.cost)}{_rate(view.summary, program.cost)}"
    _print_code(heading, code.steps if steps or not code.program else code.program, lines)


def _print_code(heading: str, text: str, most: int) -> None:
    """Print code under a heading; long lines stay whole, so that it can be copied."""
    out.print()
    out.print(heading, style="bold", highlight=False)
    every = text.rstrip().splitlines()
    shown = "\n".join(map(printable, every[: most or None]))
    if out.is_terminal:
        from rich.syntax import Syntax

        shown_text = Syntax("", "python", background_color="default").highlight(shown)
        out.print(shown_text, soft_wrap=True, end="" if shown_text.plain.endswith("\n") else "\n")
    else:
        typer.echo(shown)
    if most and len(every) > most:
        out.print(f"… {len(every) - most:,} more lines; --lines 0 shows all", style="dim")
