"""What a machine can do at most, and how near measurements come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from graph_net.api.confined import run_confined
from graph_net.api.records import Records
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
    """Peaks by device, the work of graphs by id, and how far measurements are above their floors.

    ``headrooms`` has the measurement nearest to its floor first.
    """

    peaks: Mapping[str, Peaks]
    work: Mapping[str, Work]
    headrooms: tuple[Headroom, ...] = ()

    def __repr__(self) -> str:
        floors = count_phrase(len(self.headrooms), "measurement")
        return f"<Roofline of {', '.join(each.name for each in self.peaks.values())}: {floors}>"

    def _repr_html_(self) -> str:
        rows = [
            (each.subject.name, each.config.label, f"{each.floor.seconds * 1e3:.4g} ms",
             f"{each.seconds * 1e3:.4g} ms", "" if each.ratio is None else f"{each.ratio:.2f}×")
            for each in self.headrooms[:SHOWN]
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

    Peaks are kept for this user, floors beside the records. ``again`` measures anew; ``corpus`` is
    the pack that has the graphs, the one of GraphNet if not named.
    """
    from graph_net.measure.device import describe
    from graph_net.results.peaks import identity

    display = display_of(progress)
    described = describe(device, threads or None)
    if records is None:
        return Roofline({identity(described): _peaks(described, again, display)}, {})
    place = records.path if isinstance(records, Records) else Path(records)
    return _floors(place, described, again, pack_at_hand(corpus), display)


def _peaks(device: Device, again: bool, display: Display) -> Peaks:
    from graph_net.results.peaks import identity
    from graph_net.roofline.store import cache_peaks, read_cached_peaks

    known = None if again else read_cached_peaks(identity(device))
    if known is not None:
        return known
    from graph_net.measure.peaks import measure_peaks

    display.tell(f"measuring {device.name}, {device.threads} threads …")
    found = measure_peaks(device)
    cache_peaks(found)
    return found


def _floors(
    records: Path, here: Device, again: bool, pack: Pack | None, display: Display
) -> Roofline:
    """Peaks and work for records, kept beside them, and how far above their floors they are."""
    from graph_net.roofline.floor import headrooms
    from graph_net.roofline.store import Rooflines, read_rooflines, write_rooflines
    from graph_net.store.records import RecordStore

    store = RecordStore(records).require()
    known = Rooflines() if again else read_rooflines(records)
    devices, graphs = _measured(store)
    peaks = _peaks_of(devices, known, here, again, display)
    work = {**known.work, **_counted(pack, graphs - known.work.keys(), display)}
    found = Rooflines(peaks, {graph: work[graph] for graph in sorted(work)})
    write_rooflines(records, found)
    without = len(graphs - work.keys())
    if without:
        display.tell(
            f"{without} graphs are in no pack at hand and have no floor; --corpus names one"
        )
    above = sorted(headrooms(store.records(), found), key=_nearest)
    return Roofline(found.peaks, found.work, tuple(above))


def _measured(store: RecordStore) -> tuple[dict[str, Device], set[str]]:
    """The devices of records, and the graphs that have a time."""
    from graph_net.results.peaks import identity

    devices, graphs = {}, set[str]()
    for record in store.records():
        devices[identity(record.device)] = record.device
        if record.timing is not None:
            graphs.add(record.subject.id)
    return devices, graphs


def _peaks_of(
    devices: dict[str, Device], known: Rooflines, here: Device, again: bool, display: Display
) -> dict[str, Peaks]:
    """The peaks that are known, and those of this machine; others must be measured there."""
    from graph_net.measure.device import describe
    from graph_net.results.peaks import identity

    peaks = dict(known.peaks)
    for name, device in devices.items():
        mine = device.kind == here.kind and identity(describe(here.kind, device.threads)) == name
        if name not in peaks and mine:
            peaks[name] = _peaks(describe(here.kind, device.threads), again, display)
    missing = [device.name for name, device in devices.items() if name not in peaks]
    if missing:
        display.tell(f"no peaks for {', '.join(missing)}: run this verb there, on these records")
    return peaks


def _counted(pack: Pack | None, wanted: set[str], display: Display) -> dict[str, Work]:
    """The work of those graphs that a pack has."""
    import torch  # noqa: F401 - once here, and not in each process

    if pack is None or not wanted:
        return {}
    rows = pack.rows(["name", "id"]).to_pylist()
    names = {row["name"]: row["id"] for row in rows if row["id"] in wanted}
    found: dict[str, Work] = {}
    with display.progress("count work", len(names)) as advance:
        for name, graph in pack.graphs(sorted(names)) if names else ():
            if names[name] not in found:
                found[names[name]] = _work(graph)
            advance()
    return found


def _work(graph: Graph) -> Work:
    from graph_net.graph.work import Work, work_of

    try:
        count_phrase = run_confined(lambda: asdict(work_of(graph)))
    except GraphError as error:
        return Work(0, reason=str(error))
    return Work(**{**count_phrase, "dtypes": tuple(count_phrase["dtypes"])})


def _nearest(each: Headroom) -> tuple[bool, float]:
    """The nearest to its floor first; those whose floor lacks operations last."""
    return each.ratio is None, each.ratio or 0.0
