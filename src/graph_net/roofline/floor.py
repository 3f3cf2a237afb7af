"""Floors: the least time a graph can take on a machine, and what was faster than that.

A floor is the larger of two times: that of moving what must be moved, and that of the operations
that must be made. Both are lower bounds, so a measured time below is an error somewhere: work that
was removed or kept from an earlier call, a clock, or a peak that was measured on a busy machine.
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
"""So much below its floor a time must be before it is called impossible."""
SAVED = 4.0
"""What a convolution saves at most where it is not made directly (Winograd, 4 × 4 of 3 × 3)."""
SUSPECTS = (
    "suspect results computed once and kept, code removed because nothing reads it, an input that "
    "need not be read whole, the clock, or peaks measured on a busy machine"
)


@dataclass(frozen=True, slots=True)
class Floor:
    """The least seconds; ``strict`` is what no algorithm that is in use gets below.

    ``unknown`` says why operations are missing from it. It is a lower bound all the same, but how
    far above it a time lies says nothing about what could be saved.
    """

    seconds: float
    bound: str
    strict: float
    unknown: str = ""


@dataclass(frozen=True, slots=True)
class Headroom:
    """One measurement above its floor; ``ratio`` is measured / floor, where that says something."""

    subject: Subject
    config: Config
    device: Device
    seconds: float
    eager_seconds: float
    floor: Floor

    @property
    def ratio(self) -> float | None:
        """How many times the floor it takes, 1 is all the machine can do; None: FLOPs unknown."""
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
        """What to suspect of an impossible one, or why there is no headroom."""
        if not self.impossible:
            return f"FLOPs unknown: {self.floor.unknown}" if self.floor.unknown else ""
        return (
            f"{self.seconds:.3g} s is below the {self.floor.bound} floor of "
            f"{self.floor.strict:.3g} s: {SUSPECTS}"
        )


def floor_of(work: Work, peaks: Peaks) -> Floor | None:
    """The floor of a graph on a machine; None where nothing is known of it."""
    memory = memory_seconds(work.bytes, peaks)
    compute = strict = 0.0
    rate = compute_rate(work, peaks)
    if work.flops and rate:
        compute = work.flops / rate
        fewer = work.flops - work.convolutions * (1 - 1 / SAVED)
        # cuDNN uses the shorter float for float32 convolutions unless it is told not to.
        strict = fewer / max(rate, peaks.flops.get(TF32, 0.0))
    if not max(memory, compute) > 0:
        return None
    bound = "memory" if memory >= compute else "compute"
    return Floor(max(memory, compute), bound, max(memory, strict), _unknown(work, rate))


def _unknown(work: Work, rate: float | None) -> str:
    """Why the operations of a graph are not all in its floor; empty where they are."""
    if work.flops is None or work.reason:
        return work.reason or "nothing is known of its operations"
    if work.flops and not rate:
        return f"no peak was measured for {', '.join(work.dtypes) or 'its types'}"
    return ""


def memory_seconds(moved: int, peaks: Peaks) -> float:
    """The least time to move bytes, of which the caches may still hold some from the last call.

    What fits into the caches is bounded by their own rate alone.
    """
    beyond = max(0, moved - peaks.cache_bytes) / peaks.bandwidth
    return max(beyond, moved / peaks.cache_bandwidth)


def compute_rate(work: Work, peaks: Peaks) -> float | None:
    """The highest peak of the dtypes that occur; None where one may be faster than any measured.

    float64 never is; bfloat16 and float16 without a peak of their own were slower than float32.
    """
    narrow = set(work.dtypes) - {"float64"}
    if not narrow or not narrow <= set(DTYPES):
        return None
    return max((peaks.flops[name] for name in {*narrow, "float32"} if name in peaks.flops),
               default=None)  # fmt: skip


def headroom_of(record: Record, rooflines: Rooflines) -> Headroom | None:
    """A record above its floor; None where it has no time, or its floor is not known."""
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
    """Those of the records that have one."""
    for record in records:
        found = headroom_of(record, rooflines)
        if found is not None:
            yield found
