"""``graph-net roofline``: the peaks of this machine, and how near graphs come to them."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graph_net.cli import options as opt
from graph_net.cli.common import err, new_table, out

if TYPE_CHECKING:
    from graph_net.api.roofline import Roofline
    from graph_net.results.peaks import Peaks
    from graph_net.roofline.floor import Headroom

MOST = 40
"""Rows that are printed; ``--json`` prints all."""


def show_roofline(
    records: Annotated[
        Path | None,
        typer.Argument(
            metavar="[RECORDS]",
            help="Also compute floors of these records.",
        ),
    ] = None,
    device: opt.Device = "cpu",
    threads: Annotated[int, typer.Option(help="Threads to measure with; 0 for all.")] = 0,
    again: Annotated[bool, typer.Option("--again", help="Measure and count again.")] = False,
    corpus: Annotated[
        Path | None,
        typer.Option(metavar="PACK", help="Where the graphs are; the shipped corpus if not named."),
    ] = None,
    json: opt.Json = False,
) -> None:
    """Measure this machine's peaks once: bytes and operations per second.

    With RECORDS also the floor of each measured graph, its least possible time, and how far above
    it every compiler is; the report shows both. A time below its floor is impossible, and flagged.
    """
    from graph_net.api.roofline import roofline

    result = roofline(records, device=device, threads=threads, again=again, corpus=corpus)
    if json:
        typer.echo(_to_json(result, records is None))
        return
    for peaks in result.peaks.values():
        _print_peaks(peaks)
    if records is not None:
        _print_floors(result.headrooms)


def _to_json(result: Roofline, peaks_alone: bool) -> str:
    if peaks_alone:
        (peaks,) = result.peaks.values()
        return jsonlib.dumps(asdict(peaks), indent=1)
    tree = {
        "peaks": {name: asdict(peaks) for name, peaks in result.peaks.items()},
        "work": {graph: asdict(work) for graph, work in result.work.items()},
        "graphs": [_headroom_json(headroom) for headroom in result.headrooms],
    }
    return jsonlib.dumps(tree)


def _print_peaks(peaks: Peaks) -> None:
    title = f"{peaks.name}, {peaks.software}, {peaks.measured}"
    table = new_table("peak", "", title=title, numbers=[""])
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
            f"the load was {peaks.load:.1f} while peaks were measured: they may be too low, and "
            "floors too high; --again measures them again"
        )


def _print_floors(headrooms: Sequence[Headroom]) -> None:
    numbers = ("floor", "bound", "measured", "headroom", "eager's")
    columns = ("graph", "compiler", *numbers, "")
    table = new_table(*columns, title="nearest to their floors", numbers=numbers)
    for headroom in headrooms[:MOST]:
        floor = headroom.floor
        table.add_row(
            headroom.subject.name, headroom.config.label, _milli(floor.seconds), floor.bound,
            _milli(headroom.seconds), _times(headroom.ratio), _times(headroom.eager_ratio),
            headroom.reason, style="red" if headroom.impossible else None,
        )  # fmt: skip
    out.print(table)
    impossible = sum(headroom.impossible for headroom in headrooms)
    err.print(f"{len(headrooms)} measurements have a floor, {impossible} are faster than possible")
    unknown = sum(headroom.ratio is None for headroom in headrooms)
    if unknown:
        err.print(f"{unknown} have no headroom: some of their FLOPs are unknown, so floors are low")


def _times(ratio: float | None) -> str:
    return "unknown" if ratio is None else f"{ratio:.2f}×"


def _milli(seconds: float) -> str:
    return f"{seconds * 1e3:.4g} ms"


def _headroom_json(headroom: Headroom) -> dict[str, Any]:
    return {
        "graph": headroom.subject.name,
        "graph_id": headroom.subject.id,
        "compiler": headroom.config.label,
        "device": headroom.device.name,
        "floor_seconds": headroom.floor.seconds,
        "strict_floor_seconds": headroom.floor.strict,
        "bound": headroom.floor.bound,
        "seconds": headroom.seconds,
        "eager_seconds": headroom.eager_seconds,
        "headroom": headroom.ratio,
        "flops_unknown": headroom.floor.unknown,
        "impossible": headroom.impossible,
        "reason": headroom.reason,
    }
