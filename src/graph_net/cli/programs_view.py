"""A task as the terminal shows it."""

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

NETWORKS = 6


def print_numbers(view: TaskView, near: list[Occurrence]) -> None:
    """What it is, how its times are spread, what failed."""
    _facts(view, near)
    _times(view)
    _failures(view)


def print_code(view: TaskView, listing: Listing, lines: int, steps: bool) -> None:
    """The computation, the best and a typical program, so many lines of each."""
    _code("what is computed", listing.computation, lines)
    _program("best", view.best, listing.best, view, lines, steps)
    if view.typical != view.best:
        _program("typical", view.typical, listing.typical, view, lines, steps)
    if listing.note:
        out.print()
        out.print(listing.note, soft_wrap=True)


def _networks(of: TaskSummary) -> str:
    names = list(of.weights)
    more = f" and {len(names) - NETWORKS} more" if len(names) > NETWORKS else ""
    return ", ".join(f"{name} ({of.weights[name]}×)" for name in names[:NETWORKS]) + more


def _facts(view: TaskView, near: list[Occurrence]) -> None:
    of = view.summary
    best = f"{short_seconds(of.best)}{_rate(of, of.best)}" if of.best else "no program ran"
    rows = {
        "task": of.task,
        "workload": of.workload if of.workload != of.name else "",
        "space": of.format,
        "device": of.device,
        "target": of.target,
        "networks": _networks(of),
        "FLOPs": short_count(of.flops) if of.flops else "",
        "structure": of.structure,
        "subgraphs": format_subgraphs(near),
        "best": best,
        "programs": f"{of.programs:,}, of which {of.failed:,} failed",
        "noise": _noise(view),
    }
    table = Table(title=of.name, show_header=False, title_justify="left", box=None)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for key, value in rows.items():
        if value:
            table.add_row(key, value)
    out.print(table)


def _rate(of: TaskSummary, seconds: float | None) -> str:
    rate = of.rate(seconds)
    return f", {short_count(rate)}FLOP/s" if rate else ""


def _noise(view: TaskView) -> str:
    if view.noise is None:
        return "unknown: a repeat a program" if view.repeats else ""
    return f"{100 * view.noise:.2g} % between the {view.repeats} repeats of a program (median)"


def _times(view: TaskView) -> None:
    bars = text_histogram(view.costs, max(10, min(50, out.width - 40)))
    if not bars:
        return
    of = view.summary
    out.print()
    out.print(
        f"times: best {short_seconds(of.best)}, median {short_seconds(of.median)}, worst "
        f"{short_seconds(of.worst)}; {of.spread:.3g}× between best and worst, log scale",
        highlight=False,
    )
    out.print(lines("\n".join(bars)))


def _failures(view: TaskView) -> None:
    if not view.failures:
        return
    table = Table(title="failures", title_justify="left", box=None)
    for name in ("count", "stage", "symptom", "such as"):
        table.add_column(name, justify="right" if name == "count" else "left", overflow="fold")
    for one in view.failures:
        first = (one.message.strip().splitlines() or [""])[0][:160]
        words = (one.stage, one.symptom, first)
        table.add_row(f"{one.count:,}", *words)
    out.print()
    out.print(table)


def _program(
    name: str, chosen: ShownProgram | None, code: Code, view: TaskView, lines: int, steps: bool
) -> None:
    if chosen is None:
        return
    format_subgraphs = f"{name}: {short_seconds(chosen.cost)}{_rate(view.summary, chosen.cost)}"
    _code(format_subgraphs, code.steps if steps or not code.program else code.program, lines)


def _code(heading: str, text: str, most: int) -> None:
    """Code under a heading; long lines stay whole, so that it can be copied."""
    out.print()
    out.print(heading, style="bold", highlight=False)
    every = text.rstrip().splitlines()
    shown = "\n".join(printable(line) for line in every[: most or None])
    if out.is_terminal:
        from rich.syntax import Syntax

        shown_text = Syntax("", "python", background_color="default").highlight(shown)
        out.print(shown_text, soft_wrap=True, end="" if shown_text.plain.endswith("\n") else "\n")
    else:
        typer.echo(shown)
    if most and len(every) > most:
        out.print(f"… {len(every) - most:,} more lines; --lines 0 shows all", style="dim")
