"""``graph-net roofline``: what this machine can do at most, and how near graphs come."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from graph_net.cli.common import err, out

if TYPE_CHECKING:
    from graph_net.api.roofline import Roofline
    from graph_net.results.peaks import Peaks
    from graph_net.roofline.floor import Headroom

MOST = 40
"""Rows that are printed; ``--json`` has all."""


def show_roofline(
    records: Annotated[
        Path | None,
        typer.Argument(metavar="[RECORDS]", help="Floors of what was measured, kept beside it."),
    ] = None,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    threads: Annotated[int, typer.Option(help="Threads to measure with; 0 for all.")] = 0,
    again: Annotated[bool, typer.Option("--again", help="Measure anew, and count anew.")] = False,
    corpus: Annotated[
        Path | None,
        typer.Option(metavar="PACK", help="Where the graphs are; the shipped corpus if not named."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Measure this machine's peaks once: bytes and operations a second.

    With RECORDS the least time of each measured graph follows, and how far above it every
    compiler is; the report shows both. A time below its floor is impossible, and flagged.
    """
    from graph_net.api.roofline import roofline

    found = roofline(records, device=device, threads=threads, again=again, corpus=corpus)
    if json:
        typer.echo(_json(found, records is None))
        return
    for peaks in found.peaks.values():
        _show_peaks(peaks)
    if records is not None:
        _show_floors(found.headrooms)


def _json(found: Roofline, alone: bool) -> str:
    """The peaks alone, or everything."""
    if alone:
        (peaks,) = found.peaks.values()
        return jsonlib.dumps(asdict(peaks), indent=1)
    peaks_of = {name: asdict(each) for name, each in found.peaks.items()}
    work = {graph: asdict(each) for graph, each in found.work.items()}
    graphs = [_tree(each) for each in found.headrooms]
    return jsonlib.dumps({"peaks": peaks_of, "work": work, "graphs": graphs})


def _show_peaks(peaks: Peaks) -> None:
    table = Table(title=f"{peaks.name}, {peaks.software}, {peaks.measured}",
                  title_justify="left")  # fmt: skip
    table.add_column("peak")
    table.add_column("", justify="right")
    table.add_row("memory", f"{peaks.bandwidth / 1e9:.1f} GB/s")
    table.add_row(
        f"inside {peaks.cache_bytes / 2**20:.1f} MiB of caches",
        f"{peaks.cache_bandwidth / 1e9:.1f} GB/s",
    )
    for dtype, rate in peaks.flops.items():
        table.add_row(dtype, f"{rate / 1e9:.1f} GFLOP/s")
    out.print(table)
    if peaks.load > 1:
        err.print(
            f"the load was {peaks.load:.1f} while they were measured: they may be too low, and "
            "floors too high; --again measures anew"
        )


def _show_floors(above: Sequence[Headroom]) -> None:
    table = Table(title="nearest to their floors", title_justify="left")
    for name in ("graph", "compiler"):
        table.add_column(name, overflow="fold")
    for name in ("floor", "bound", "measured", "headroom", "eager's"):
        table.add_column(name, justify="right")
    table.add_column("", overflow="fold")
    for each in above[:MOST]:
        floor = each.floor
        table.add_row(
            each.subject.name, each.config.label, _milli(floor.seconds),
            floor.bound, _milli(each.seconds), _times(each.ratio), _times(each.eager_ratio),
            each.reason,
            style="red" if each.impossible else None,
        )  # fmt: skip
    out.print(table)
    flagged = sum(each.impossible for each in above)
    err.print(f"{len(above)} measurements have a floor, {flagged} are faster than possible")
    unknown = sum(each.ratio is None for each in above)
    if unknown:
        err.print(f"{unknown} have no headroom: some of their FLOPs are unknown, so floors are low")


def _times(ratio: float | None) -> str:
    return "unknown" if ratio is None else f"{ratio:.2f}×"


def _milli(seconds: float) -> str:
    return f"{seconds * 1e3:.4g} ms"


def _tree(each: Headroom) -> dict[str, Any]:
    return {
        "graph": each.subject.name,
        "graph_id": each.subject.id,
        "compiler": each.config.label,
        "device": each.device.name,
        "floor_seconds": each.floor.seconds,
        "strict_floor_seconds": each.floor.strict,
        "bound": each.floor.bound,
        "seconds": each.seconds,
        "eager_seconds": each.eager_seconds,
        "headroom": each.ratio,
        "flops_unknown": each.floor.unknown,
        "impossible": each.impossible,
        "reason": each.reason,
    }
