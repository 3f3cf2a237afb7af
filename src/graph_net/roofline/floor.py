"""Floors: lower bounds of a graph's time on a machine, and measurements below them.

A floor is the larger of two times: to move the bytes that must be moved, and to do the operations
that must be done. Both are lower bounds, so a measured time below is an error somewhere: work that
was removed or cached, a clock, or a peak that was measured on a busy machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from graph_net.graph.work import Work
from graph_net.results import Config, Device, Record, Subject
from graph_net.results.peaks import DTYPES, TF32, Peaks, identity
from graph_net.roofline.store import Rooflines

MARGIN = 0.25
"""How far below its floor a time must be to count as impossible."""
SAVED = 4.0
"""The factor that a convolution saves at most by Winograd's algorithm (4 × 4 of 3 × 3)."""
SUSPECTS = (
    "suspect results computed once and kept, code removed because nothing reads it, an input that "
    "need not be read whole, the clock, or peaks measured on a busy machine"
)


@dataclass(frozen=True, slots=True)
class Floor:
    """The least seconds; ``strict`` holds for every algorithm in use.

    ``unknown`` says why operations are missing from it. It is still a lower bound, but the distance
    to it says nothing about what could be saved.
    """

    seconds: float
    bound: str
    strict: float
    unknown: str = ""


@dataclass(frozen=True, slots=True)
class Headroom:
    """One measurement and its floor; ``ratio`` is measured / floor, if that is meaningful."""

    subject: Subject
    config: Config
    device: Device
    seconds: float
    eager_seconds: float
    floor: Floor

    @property
    def ratio(self) -> float | None:
        """The time in multiples of the floor (1: the machine's limit); None: FLOPs unknown."""
        return None if self.floor.unknown else self.seconds / self.floor.seconds

    @property
    def eager_ratio(self) -> float | None:
        """The same for eager."""
        return None if self.floor.unknown else self.eager_seconds / self.floor.seconds

    @property
    def impossible(self) -> bool:
        """Whether it is faster than the machine can be."""
        return self.seconds * (1 + MARGIN) < self.floor.strict

    @property
    def reason(self) -> str:
        """What to suspect of an impossible time, or why there is no headroom."""
        if not self.impossible:
            return f"FLOPs unknown: {self.floor.unknown}" if self.floor.unknown else ""
        return (
            f"{self.seconds:.3g} s is below the {self.floor.bound} floor of "
            f"{self.floor.strict:.3g} s: {SUSPECTS}"
        )


def floor_of(work: Work, peaks: Peaks) -> Floor | None:
    """Return the floor of a graph on a machine; None if unknown."""
    memory = memory_seconds(work.bytes, peaks)
    compute = strict = 0.0
    rate = compute_rate(work, peaks)
    if work.flops and rate:
        compute = work.flops / rate
        fewer = work.flops - work.convolutions * (1 - 1 / SAVED)
        # By default cuDNN uses TF32 for float32 convolutions.
        strict = fewer / max(rate, peaks.flops.get(TF32, 0.0))
    if not max(memory, compute) > 0:
        return None
    bound = "memory" if memory >= compute else "compute"
    return Floor(max(memory, compute), bound, max(memory, strict), _why_incomplete(work, rate))


def _why_incomplete(work: Work, rate: float | None) -> str:
    """Return why some operations of a graph are not in its floor; empty if all are."""
    if work.flops is None or work.reason:
        return work.reason or "its operations are unknown"
    if work.flops and not rate:
        return f"no peak was measured for {', '.join(work.dtypes) or 'its types'}"
    return ""


def memory_seconds(moved: int, peaks: Peaks) -> float:
    """Return the least time to move bytes, some of which the caches may hold from the last call.

    What fits into the caches is bounded by their own rate only.
    """
    beyond = max(0, moved - peaks.cache_bytes) / peaks.bandwidth
    return max(beyond, moved / peaks.cache_bandwidth)


def compute_rate(work: Work, peaks: Peaks) -> float | None:
    """Return the highest peak of the dtypes; None if one may be faster than any measured.

    float64 never is; bfloat16 and float16 without a peak of their own were slower than float32.
    """
    narrow = set(work.dtypes) - {"float64"}
    if not narrow or not narrow <= set(DTYPES):
        return None
    return max((peaks.flops[name] for name in {*narrow, "float32"} if name in peaks.flops),
               default=None)  # fmt: skip


def headroom_of(record: Record, rooflines: Rooflines) -> Headroom | None:
    """Return the headroom of a record; None without a time or a floor."""
    peaks = rooflines.peaks.get(identity(record.device))
    work = rooflines.work.get(record.subject.id)
    if record.timing is None or record.too_noisy or peaks is None or work is None:
        return None
    floor = floor_of(work, peaks)
    if floor is None:
        return None
    seconds, eager = (
        median(arm.wall) for arm in (record.timing.candidate, record.timing.eager)
    )  # fmt: skip
    return Headroom(record.subject, record.config, record.device, seconds, eager, floor)


def headrooms(records: Iterator[Record], rooflines: Rooflines) -> Iterator[Headroom]:
    """Yield the headroom of each record that has one."""
    for record in records:
        headroom = headroom_of(record, rooflines)
        if headroom is not None:
            yield headroom
