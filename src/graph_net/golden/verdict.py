"""A run against a golden run: are the outputs those of then, and is it as fast as then?

Here absolute times of two runs are compared, which nothing else in this package does: they may be
of two machines, two drivers, two versions. The interval covers what disturbed the samples inside
each run; it knows nothing of what changed between them, such as clocks or other tenants.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from graph_net.golden.runs import Again
from graph_net.golden.store import GoldenRun
from graph_net.measure.golden import ENVIRONMENT
from graph_net.measure.stats import block_logs, judge, median_interval
from graph_net.results import (
    BLAMELESS,
    MISMATCHES,
    Failure,
    Interval,
    Output,
    Record,
    Samples,
    Symptom,
    Timing,
    Verdict,
    canonical,
    read_as,
)
from graph_net.results.signature import headline_of

CONFIDENCE = 0.98
"""Of the ratio's interval: each run's median is bounded with half of what is left."""
MARGIN = 0.05
"""Wider than between candidates of one run: two runs are never as alike as two arms."""
LEVEL = -3.0
"""The tolerance level up to which outputs count as the same."""


class Standing(StrEnum):
    """Whether a graph gives what it gave."""

    HOLDS = "holds"
    DIFFERS = "differs"
    FAILED = "failed"
    NOT_JUDGED = "not judged"
    NO_REFERENCE = "no reference"
    DAMAGED = "damaged"


@dataclass(frozen=True)
class Verified:
    """One graph against its golden run. Ratios are reference seconds / seconds here."""

    name: str
    compiler: str
    standing: Standing
    reason: str = ""
    t: float | None = None
    outputs: tuple[Output, ...] = ()
    same_bits: bool = False
    speed: Interval | None = None
    eager: Interval | None = None
    verdict: Verdict | None = None
    verdict_reason: str = ""
    record: Record | None = None

    @property
    def worse(self) -> bool:
        """Whether it is a regression: other outputs, a failure, or surely slower."""
        wrong = self.standing in (Standing.DIFFERS, Standing.FAILED)
        return wrong or self.verdict is Verdict.SLOWER


def judged(again: Again, level: float = LEVEL, margin: float = MARGIN) -> Verified:
    """What came of one graph of a golden run, whatever it was."""
    run = again.run
    if run is None:
        return Verified(again.name, "", Standing.DAMAGED, again.problem)
    record = run.record
    if again.problem:
        standing = Standing.DAMAGED if again.damaged else Standing.NOT_JUDGED
        return Verified(record.subject.name, record.config.label, standing, again.problem)
    if again.record is None:
        failure = record.failure
        why = "" if failure is None else f"{failure.stage} {failure.symptom} there"
        return Verified(record.subject.name, record.config.label, Standing.NO_REFERENCE, why)
    return verified(run, again.record, level, margin)


def verified(
    run: GoldenRun, record: Record, level: float = LEVEL, margin: float = MARGIN
) -> Verified:
    """What a record says against the golden run of its graph."""
    outputs, failure, bits = compared_outputs(record)
    levels = [output.t for output in outputs]
    t = max((x for x in levels if x is not None), default=None) if None not in levels else None
    standing, reason = _standing(record, failure, t, level, bool(outputs))
    speed = eager = verdict = None
    why = ""
    if run.record.timing is not None and record.timing is not None:
        speed = ratio(run.record.timing, record.timing, "candidate")
        eager = ratio(run.record.timing, record.timing, "eager")
        judged = judge(speed, _noise(run.record.timing, record.timing), margin)
        verdict, why = judged.verdict, judged.reason
    return Verified(
        record.subject.name, record.config.label, standing, reason, t, outputs, bits,
        speed, eager, verdict, why, record,
    )  # fmt: skip


def _standing(
    record: Record, failure: Failure | None, t: float | None, level: float, known: bool
) -> tuple[Standing, str]:
    """The first of these that is so: not comparable, other outputs, failed here, not judged."""
    if failure is not None and failure.symptom is not Symptom.NONDETERMINISTIC:
        return Standing.DIFFERS, failure.message
    if known and failure is None and (t is None or t > level):
        far = "at no tolerance" if t is None else f"from t = {t:.2f} on only"
        return Standing.DIFFERS, f"the same as the reference {far}"
    here = record.failure
    if here is not None and here.symptom not in BLAMELESS:
        return Standing.FAILED, f"{here.stage} {here.symptom}: {headline_of(here.message)}"
    if failure is not None or not known:
        told = failure or here
        return Standing.NOT_JUDGED, told.message if told else "no output was compared"
    return Standing.HOLDS, ""


def compared_outputs(record: Record) -> tuple[tuple[Output, ...], Failure | None, bool]:
    """What a worker found when it compared its outputs with stored ones."""
    found = record.environment.get(ENVIRONMENT)
    if not isinstance(found, dict) or "failure" not in found:
        return (), None, False
    listed, failed, bits = found.get("outputs"), found.get("failure"), found.get("same_bits")
    listed = listed if isinstance(listed, list) else []
    outputs = tuple(read_as(Output, canonical(each), "output") for each in listed)
    failure = None if failed is None else read_as(Failure, canonical(failed), "failure")
    return outputs, failure, isinstance(bits, list) and bool(bits) and all(bits)


def mismatched(record: Record) -> Failure | None:
    """The failure that is no difference in values but in structure, shape or dtype."""
    failure = compared_outputs(record)[1]
    shaped = MISMATCHES - {Symptom.NUMERIC}
    return failure if failure is not None and failure.symptom in shaped else None


def ratio(reference: Timing, here: Timing, arm: str) -> Interval:
    """Seconds of an arm then / seconds now, from two sets of samples that are not paired."""
    then, now = (_median(getattr(timing, arm), timing.per_block) for timing in (reference, here))
    return Interval(then.value / now.value, then.low / now.high, then.high / now.low)


def _median(samples: Samples, per_block: int) -> Interval:
    """The median of the blocks' quickest samples, in seconds, with its interval."""
    size = per_block if per_block > 0 and len(samples.wall) % per_block == 0 else 1
    ones = (1.0,) * len(samples.wall)
    return median_interval(block_logs(samples.wall, ones, size), 1 - (1 - CONFIDENCE) / 2)


def _noise(reference: Timing, here: Timing) -> Interval:
    """As far as either control was off."""
    first, second = reference.noise, here.noise
    return Interval(first.value, min(first.low, second.low), max(first.high, second.high))
