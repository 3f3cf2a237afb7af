"""The verdict on a rerun of a golden run: same outputs, same speed?

Here absolute times of two runs are compared, which nothing else in this package does: they may be
of two machines, two drivers, two versions. The interval covers disturbances inside each run, not
what changed between them, such as clocks or other tenants.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from graph_net.golden.runs import Rerun
from graph_net.golden.store import GoldenRun
from graph_net.measure.golden import ENVIRONMENT
from graph_net.measure.stats import block_logs, judge, median_interval
from graph_net.results import (
    BLAMELESS,
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
"""Confidence of the ratio's interval; each run's median has half of the remaining error."""
MARGIN = 0.05
"""Wider than between candidates of one run: two runs differ more than two arms."""
LEVEL = -3.0
"""The tolerance level up to which outputs count as the same."""


class Standing(StrEnum):
    """Whether a graph gives the outputs of its golden run."""

    HOLDS = "holds"
    DIFFERS = "differs"
    FAILED = "failed"
    NOT_JUDGED = "not judged"
    NO_REFERENCE = "no reference"
    DAMAGED = "damaged"


@dataclass(frozen=True)
class RerunVerdict:
    """One graph compared with its golden run. Ratios are reference seconds / seconds here."""

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
        """Whether it is a regression: other outputs, a failure, or significantly slower."""
        wrong = self.standing in (Standing.DIFFERS, Standing.FAILED)
        return wrong or self.verdict is Verdict.SLOWER


def judge_rerun(again: Rerun, level: float = LEVEL, margin: float = MARGIN) -> RerunVerdict:
    """Return the verdict on one rerun, whatever happened to it."""
    run = again.run
    if run is None:
        return RerunVerdict(again.name, "", Standing.DAMAGED, again.problem)
    record = run.record
    if again.problem:
        standing = Standing.DAMAGED if again.damaged else Standing.NOT_JUDGED
        return RerunVerdict(record.subject.name, record.config.label, standing, again.problem)
    if again.record is None:
        failure = record.failure
        why = "" if failure is None else f"{failure.stage} {failure.symptom} there"
        return RerunVerdict(record.subject.name, record.config.label, Standing.NO_REFERENCE, why)
    return compare_with_golden(run, again.record, level, margin)


def compare_with_golden(
    run: GoldenRun, record: Record, level: float = LEVEL, margin: float = MARGIN
) -> RerunVerdict:
    """Return the verdict on a record, compared with the golden run of its graph."""
    outputs, failure, bits = read_comparison(record)
    levels = [output.t for output in outputs]
    t = max((x for x in levels if x is not None), default=None) if None not in levels else None
    standing, reason = _judge_outputs(record, failure, t, level, bool(outputs))
    speed = eager = verdict = None
    why = ""
    if run.record.timing is not None and record.timing is not None:
        speed = time_ratio(run.record.timing, record.timing, "candidate")
        eager = time_ratio(run.record.timing, record.timing, "eager")
        judge_rerun = judge(speed, _noise(run.record.timing, record.timing), margin)
        verdict, why = judge_rerun.verdict, judge_rerun.reason
    return RerunVerdict(
        record.subject.name, record.config.label, standing, reason, t, outputs, bits,
        speed, eager, verdict, why, record,
    )  # fmt: skip


def _judge_outputs(
    record: Record, failure: Failure | None, t: float | None, level: float, compared: bool
) -> tuple[Standing, str]:
    """Return the first that applies: not comparable, other outputs, failed here, not judged."""
    if failure is not None and failure.symptom is not Symptom.NONDETERMINISTIC:
        return Standing.DIFFERS, failure.message
    if compared and failure is None and (t is None or t > level):
        far = "at no tolerance" if t is None else f"only from t = {t:.2f} on"
        return Standing.DIFFERS, f"equals the reference {far}"
    here = record.failure
    if here is not None and here.symptom not in BLAMELESS:
        return Standing.FAILED, f"{here.stage} {here.symptom}: {headline_of(here.message)}"
    if failure is not None or not compared:
        reason = failure or here
        return Standing.NOT_JUDGED, reason.message if reason else "no output was compared"
    return Standing.HOLDS, ""


def read_comparison(record: Record) -> tuple[tuple[Output, ...], Failure | None, bool]:
    """Return a worker's comparison with stored outputs: levels, failure, and equal bits."""
    result = record.environment.get(ENVIRONMENT)
    if not isinstance(result, dict) or "failure" not in result:
        return (), None, False
    listed, failed, bits = result.get("outputs"), result.get("failure"), result.get("same_bits")
    listed = listed if isinstance(listed, list) else []
    outputs = tuple(read_as(Output, canonical(tree), "output") for tree in listed)
    failure = None if failed is None else read_as(Failure, canonical(failed), "failure")
    return outputs, failure, isinstance(bits, list) and bool(bits) and all(bits)


def time_ratio(reference: Timing, here: Timing, arm: str) -> Interval:
    """Return the ratio of an arm's seconds then / now, from samples that are not paired."""
    then, now = (
        _median_seconds(getattr(timing, arm), timing.per_block) for timing in (reference, here)
    )
    return Interval(then.value / now.value, then.low / now.high, then.high / now.low)


def _median_seconds(samples: Samples, per_block: int) -> Interval:
    """Return the median of the blocks' quickest samples, in seconds, with its interval."""
    size = per_block if per_block > 0 and len(samples.wall) % per_block == 0 else 1
    ones = (1.0,) * len(samples.wall)
    return median_interval(block_logs(samples.wall, ones, size), 1 - (1 - CONFIDENCE) / 2)


def _noise(reference: Timing, here: Timing) -> Interval:
    """Return the wider of both controls' intervals."""
    first, second = reference.noise, here.noise
    return Interval(first.value, min(first.low, second.low), max(first.high, second.high))
