"""Records as entries of the page: numbers for the table, the rest packed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from graph_net.report.page_assets import pack_json, round_number
from graph_net.results import (
    Config,
    Cost,
    Device,
    Failure,
    Interval,
    ProtocolSettings,
    Record,
    Subject,
    Symptom,
    Verdict,
)
from graph_net.roofline.floor import Headroom, headroom_of
from graph_net.roofline.store import Rooflines
from graph_net.score import ScoredGraph, sample_of
from graph_net.store.records import RecordStore

MESSAGE = 600
"""Characters of a message on the page."""
ARMS = ("eager", "control", "candidate")
MICRO = 1e6
CurveKey = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class PageTiming:
    """A timing without its samples; one that was too noisy has no speedup."""

    speedup: tuple[float, float, float] | None
    noise: tuple[float, float, float]
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class PageEntry:
    """One measurement on the page; ``sample`` is None if it is excluded from scores.

    ``detail`` holds what only the view of its graph shows, packed into one line.
    """

    subject: Subject
    config: Config
    device: Device
    protocol: str
    settings: ProtocolSettings | None
    started: str
    failure: Failure | None
    measured: PageTiming | None
    t: float | None
    cost: Cost
    load: float | None
    sample: ScoredGraph | None
    detail: str
    headroom: Headroom | None = None
    """Its distance above its floor, if that is known."""

    @property
    def too_noisy(self) -> bool:
        """Whether its outputs count but its speedup does not."""
        return self.failure is not None and self.failure.symptom is Symptom.TOO_NOISY

    @property
    def curve(self) -> CurveKey:
        """The curve it belongs to: a configuration on a device under a protocol."""
        return self.config.hash, self.device.hash, self.protocol


def read_entries(
    store: RecordStore,
    rooflines: Rooflines = Rooflines(),  # noqa: B008 - frozen
) -> list[PageEntry]:
    """Return the measurements of a store that count."""
    entries = (entry_of(record, headroom_of(record, rooflines)) for record in store.records())
    return sorted(entries, key=lambda e: (e.subject.name, e.subject.id, e.config.label))


def entry_of(record: Record, headroom: Headroom | None = None) -> PageEntry:
    """Return a record as an entry."""
    timing, load = record.timing, record.environment.get("load")
    measured = None
    if timing is not None:
        speedup = None if record.speedup is None else _triple(record.speedup)
        measured = PageTiming(speedup, _triple(timing.noise), timing.verdict)
    return PageEntry(
        subject=record.subject,
        config=record.config,
        device=record.device,
        protocol=record.protocol,
        settings=record.settings,
        started=record.started,
        failure=record.failure,
        measured=measured,
        t=record.t,
        cost=record.cost,
        load=float(load) if isinstance(load, (int, float)) else None,
        sample=sample_of(record),
        detail=pack_json(_detail(record, headroom)),
        headroom=headroom,
    )


def _triple(interval: Interval) -> tuple[float, float, float]:
    return interval.value, interval.low, interval.high


def _detail(record: Record, headroom: Headroom | None) -> dict[str, Any]:
    timing, failure = record.timing, record.failure
    detail: dict[str, Any] = {
        "outputs": [_output(output) for output in map(asdict, record.outputs)],
        "cost": {name: round_number(value) for name, value in asdict(record.cost).items()},
        "environment": {
            key: value for key, value in record.environment.items() if key != "eager_outputs"
        },
        "started": record.started,
        "seconds": round_number(record.seconds),
    }
    if headroom is not None:
        detail["floor"] = {"bound": headroom.floor.bound, "reason": headroom.reason}
    if failure is not None:
        detail["message"] = failure.message[:MESSAGE]
    if timing is not None:
        arms = [timing.eager, timing.control, timing.candidate]
        detail["reason"] = timing.reason
        detail["inner"] = [arm.inner for arm in arms]
        detail["wall"] = [_micro(arm.wall) for arm in arms]
        if all(arm.device for arm in arms):
            detail["device"] = [_micro(arm.device) for arm in arms]
            on_device = timing.device_speedup
            if on_device is not None and not record.too_noisy:
                detail["device_speedup"] = [round_number(value) for value in _triple(on_device)]
    return detail


def _micro(seconds: tuple[float, ...]) -> list[float | None]:
    return [round_number(value * MICRO) for value in seconds]


def _output(output: dict[str, Any]) -> list[Any]:
    levels = [round_number(output[name]) for name in ("t", "max_abs", "t_exact", "eager_t_exact")]
    return [output["dtype"], list(output["shape"]), *levels]
