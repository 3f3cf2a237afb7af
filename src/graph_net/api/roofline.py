"""The peaks of a machine, and how near measurements come to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from graph_net.api.confined import run_confined
from graph_net.api.records import Records, record_paths
from graph_net.api.report import pack_at_hand
from graph_net.display.display import Display, display_of
from graph_net.graph import GraphError
from graph_net.printable import count_phrase, html_table

if TYPE_CHECKING:
    from graph_net.corpus.pack import Pack
    from graph_net.graph import Graph
    from graph_net.graph.work import Work
    from graph_net.results import Device
    from graph_net.results.peaks import Peaks
    from graph_net.roofline.floor import Headroom
    from graph_net.roofline.store import Rooflines
    from graph_net.store.records import RecordStore

SHOWN = 20
"""Measurements that a notebook lists."""


@dataclass(frozen=True)
class Roofline:
    """Peaks by device, the work of graphs by id, and the headroom of measurements.

    ``headrooms`` has the measurement nearest to its floor first.
    """

    peaks: Mapping[str, Peaks]
    work: Mapping[str, Work]
    headrooms: tuple[Headroom, ...] = ()

    def __repr__(self) -> str:
        floors = count_phrase(len(self.headrooms), "measurement")
        return f"<Roofline of {', '.join(peaks.name for peaks in self.peaks.values())}: {floors}>"

    def _repr_html_(self) -> str:
        rows = [
            (h.subject.name, h.config.label, f"{h.floor.seconds * 1e3:.4g} ms",
             f"{h.seconds * 1e3:.4g} ms", "" if h.ratio is None else f"{h.ratio:.2f}×")
            for h in self.headrooms[:SHOWN]
        ]  # fmt: skip
        more = len(self.headrooms) - len(rows)
        columns = ("graph", "compiler", "floor", "measured", "headroom")
        return html_table(repr(self), columns, rows, more=more)


def roofline(
    records: str | Path | Records | None = None,
    *,
    device: str = "cpu",
    threads: int = 0,
    again: bool = False,
    corpus: str | Path | None = None,
    progress: Display | bool = True,
) -> Roofline:
    """Measure this machine's peaks once; with records, also the least time of each graph.

    Peaks are cached for this user, floors beside the records; ``again`` measures both again.
    ``corpus`` is the pack of the graphs, by default the one of GraphNet.
    """
    from graph_net.measure.device import describe
    from graph_net.results.peaks import identity

    display = display_of(progress)
    described = describe(device, threads or None)
    if records is None:
        return Roofline({identity(described): _peaks(described, again, display)}, {})
    (path,) = record_paths([records])
    return _floors(path, described, again, pack_at_hand(corpus), display)


def _peaks(device: Device, again: bool, display: Display) -> Peaks:
    from graph_net.results.peaks import identity
    from graph_net.roofline.store import cache_peaks, read_cached_peaks

    cached = None if again else read_cached_peaks(identity(device))
    if cached is not None:
        return cached
    from graph_net.measure.peaks import measure_peaks

    display.tell(f"measuring {device.name}, {device.threads} threads …")
    peaks = measure_peaks(device)
    cache_peaks(peaks)
    return peaks


def _floors(
    records: Path, here: Device, again: bool, pack: Pack | None, display: Display
) -> Roofline:
    """Return the headroom of records; their peaks and work are stored beside them."""
    from graph_net.roofline.floor import headrooms
    from graph_net.roofline.store import Rooflines, read_rooflines, write_rooflines
    from graph_net.store.records import RecordStore

    store = RecordStore(records).require()
    stored = Rooflines() if again else read_rooflines(records)
    devices, graphs = _measured(store)
    peaks = _peaks_of(devices, stored, here, again, display)
    work = {**stored.work, **_count_work(pack, graphs - stored.work.keys(), display)}
    rooflines = Rooflines(peaks, {graph: work[graph] for graph in sorted(work)})
    write_rooflines(records, rooflines)
    if missing := len(graphs - work.keys()):
        display.tell(f"{missing} graphs have no floor: name a pack that has them with --corpus")
    nearest_first = sorted(headrooms(store.records(), rooflines), key=_nearest)
    return Roofline(rooflines.peaks, rooflines.work, tuple(nearest_first))


def _measured(store: RecordStore) -> tuple[dict[str, Device], set[str]]:
    """Return the devices of records, and the graphs that have a time."""
    from graph_net.results.peaks import identity

    devices, graphs = {}, set[str]()
    for record in store.records():
        devices[identity(record.device)] = record.device
        if record.timing is not None:
            graphs.add(record.subject.id)
    return devices, graphs


def _peaks_of(
    devices: dict[str, Device], stored: Rooflines, here: Device, again: bool, display: Display
) -> dict[str, Peaks]:
    """Return the stored peaks and those of this machine; others must be measured there."""
    from graph_net.measure.device import describe
    from graph_net.results.peaks import identity

    peaks = dict(stored.peaks)
    for name, device in devices.items():
        mine = device.kind == here.kind and identity(describe(here.kind, device.threads)) == name
        if name not in peaks and mine:
            peaks[name] = _peaks(describe(here.kind, device.threads), again, display)
    missing = [device.name for name, device in devices.items() if name not in peaks]
    if missing:
        display.tell(f"no peaks for {', '.join(missing)}: run this verb there, on these records")
    return peaks


def _count_work(pack: Pack | None, wanted: set[str], display: Display) -> dict[str, Work]:
    """Return the work of those graphs that a pack has."""
    import torch  # noqa: F401 - once here, and not in each process

    if pack is None or not wanted:
        return {}
    rows = pack.rows(["name", "id"]).to_pylist()
    names = {row["name"]: row["id"] for row in rows if row["id"] in wanted}
    work: dict[str, Work] = {}
    with display.progress("count work", len(names)) as advance:
        for name, graph in pack.graphs(sorted(names)) if names else ():
            if names[name] not in work:
                work[names[name]] = _work(graph)
            advance()
    return work


def _work(graph: Graph) -> Work:
    from graph_net.graph.work import Work, work_of

    try:
        counts = run_confined(lambda: asdict(work_of(graph)))
    except GraphError as error:
        return Work(0, reason=str(error))
    return Work(**{**counts, "dtypes": tuple(counts["dtypes"])})


def _nearest(headroom: Headroom) -> tuple[bool, float]:
    """Return a sort key: the nearest to its floor first, those of unknown FLOPs last."""
    return headroom.ratio is None, headroom.ratio or 0.0
