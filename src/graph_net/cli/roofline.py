"""``graph-net roofline``: what this machine can do at most, and how near graphs come."""

from __future__ import annotations

import json as jsonlib
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from graph_net.api.confined import confined
from graph_net.api.report import pack_at_hand
from graph_net.cli.common import err, out
from graph_net.display.progress import progress
from graph_net.graph import GraphError

if TYPE_CHECKING:
    from graph_net.corpus.pack import Pack
    from graph_net.corpus.rooflines import Rooflines
    from graph_net.graph import Graph
    from graph_net.graph.work import Work
    from graph_net.record import Device
    from graph_net.record.peaks import Peaks
    from graph_net.score.roofline import Headroom

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
    from graph_net.measure.device import describe

    described = describe(device, threads or None)
    if records is None:
        peaks = _peaks(described, again)
        if json:
            typer.echo(jsonlib.dumps(asdict(peaks), indent=1))
        else:
            _show_peaks(peaks)
        return
    found, above = _floors(records, described, again, pack_at_hand(corpus))
    if json:
        typer.echo(jsonlib.dumps({**asdict(found), "graphs": [_tree(each) for each in above]}))
        return
    for peaks in found.peaks.values():
        _show_peaks(peaks)
    _show_floors(above)


def _peaks(device: Device, again: bool) -> Peaks:
    from graph_net.corpus.rooflines import cached_peaks, keep_peaks
    from graph_net.record.peaks import identity

    known = None if again else cached_peaks(identity(device))
    if known is not None:
        return known
    from graph_net.measure.peaks import measure_peaks

    err.print(f"measuring {device.name}, {device.threads} threads …")
    found = measure_peaks(device)
    keep_peaks(found)
    return found


def _floors(
    records: Path, here: Device, again: bool, pack: Pack | None
) -> tuple[Rooflines, list[Headroom]]:
    """Peaks and work for records, kept beside them, and how far above their floors they are."""
    from graph_net.corpus.records import RecordStore
    from graph_net.corpus.rooflines import Rooflines, read_rooflines, write_rooflines
    from graph_net.measure.device import describe
    from graph_net.record.peaks import identity
    from graph_net.score.roofline import headrooms

    store = RecordStore(records).require()
    known = Rooflines() if again else read_rooflines(records)
    devices, graphs = {}, dict[str, str]()
    for record in store.records():
        devices[identity(record.device)] = record.device
        if record.timing is not None:
            graphs[record.subject.id] = record.subject.name
    peaks = dict(known.peaks)
    for name, device in devices.items():
        # Peaks are this machine's: those of another must be measured there.
        mine = device.kind == here.kind and identity(describe(here.kind, device.threads)) == name
        if name not in peaks and mine:
            peaks[name] = _peaks(describe(here.kind, device.threads), again)
    missing = [device.name for name, device in devices.items() if name not in peaks]
    if missing:
        err.print(f"no peaks for {', '.join(missing)}: run this verb there, on these records")
    work = {**known.work, **_counted(pack, set(graphs) - known.work.keys())}
    found = Rooflines(peaks, {graph: work[graph] for graph in sorted(work)})
    write_rooflines(records, found)
    without = sum(graph not in work for graph in graphs)
    if without:
        err.print(f"{without} graphs are in no pack at hand and have no floor; --corpus names one")
    above = sorted(headrooms(store.records(), found), key=_nearest)
    return found, above


def _counted(pack: Pack | None, wanted: set[str]) -> dict[str, Work]:
    """The work of those graphs that a pack has."""
    import torch  # noqa: F401 - once here, and not in each process

    if pack is None or not wanted:
        return {}
    rows = pack.rows(["name", "id"]).to_pylist()
    names = {row["name"]: row["id"] for row in rows if row["id"] in wanted}
    found: dict[str, Work] = {}
    with progress("count work", len(names)) as advance:
        for name, graph in pack.graphs(sorted(names)) if names else ():
            if names[name] not in found:
                found[names[name]] = _work(graph)
            advance()
    return found


def _work(graph: Graph) -> Work:
    from graph_net.graph.work import Work, work_of

    try:
        counted = confined(lambda: asdict(work_of(graph)))
    except GraphError as error:
        return Work(0, reason=str(error))
    return Work(**{**counted, "dtypes": tuple(counted["dtypes"])})


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


def _nearest(each: Headroom) -> tuple[bool, float]:
    """The nearest to its floor first; those whose floor lacks operations last."""
    return each.ratio is None, each.ratio or 0.0


def _show_floors(above: list[Headroom]) -> None:
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
