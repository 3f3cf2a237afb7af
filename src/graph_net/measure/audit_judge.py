"""Judge a record: its times by another clock, its outputs by another process."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median

from graph_net.graph import from_bytes
from graph_net.measure.audit import FAILED, Audit
from graph_net.measure.audit_answer import batches_of
from graph_net.measure.audit_outputs import OutputCheck
from graph_net.measure.least_time import least_seconds
from graph_net.results import Failure, Record, Samples, Stage, Symptom
from graph_net.results.signature import signature_of

OFF = 3.0
"""The factor by which a worker's clock may differ from its parent's."""
SLACK = 0.005
"""Seconds subtracted from the parent's time of a batch, for messages."""
SUSPICIOUS = 2.0
"""Speedups below this are not compared with the least possible time."""


def judge_record(audit: Audit, record: Record, workdir: Path) -> Record:
    """Return the record, with its failure if there is one; a real failure comes before noise."""
    check = OutputCheck(audit.task, from_bytes(audit.task.graph), record, workdir)
    failures = list(_time_failures(audit, record, check))
    failure = next((f for f in failures if f.symptom is not Symptom.TOO_NOISY), None)
    if failure is None:
        record, failure = check.run(audit.answer.seed, audit.answer.outputs or b"")
    if failure is None and not record.too_noisy:
        failure = next(iter(failures), None)
    if failure is None:
        return record
    return replace(record, failure=replace(failure, signature=signature_of(failure.message)))


def _time_failures(audit: Audit, record: Record, check: OutputCheck) -> Iterator[Failure]:
    """Yield a failure for each claim about times that cannot be true."""
    timing = record.timing
    assert timing is not None
    claimed = median(_quickest_of_blocks(timing.candidate, timing.per_block))
    eager = median(_quickest_of_blocks(timing.eager, timing.per_block))
    if claimed * SUSPICIOUS < eager:
        least = least_seconds(check.graph, audit.task.device)
        if claimed < least:
            yield _impossible_failure(
                f"{claimed:.3g} s per call, where no machine of this kind needs less than"
                f" {least:.3g} s: work was skipped, kept from an earlier call, or not timed"
            )
    yield from _clock_failures(audit, check, claimed, eager)


def _clock_failures(
    audit: Audit, check: OutputCheck, claimed: float, eager: float
) -> Iterator[Failure]:
    """Yield a failure for each arm whose times its parent's clock contradicts."""
    answer, timing = audit.answer, check.record.timing
    assert timing is not None
    failed = [mark.text for mark in answer.marks if mark.text.startswith(FAILED)]
    if failed:
        yield Failure(Stage.MEASURE, Symptom.EXCEPTION, f"called once more, it {failed[0]}")
    batches = batches_of(check.graph, check.changing, timing, audit.task.protocol)
    candidate, reference = (answer.batch(arm, batches.pairs) for arm in ("candidate", "eager"))
    if candidate is None or reference is None or answer.outputs is None:
        silent = "the worker did not show its parent that its figures hold"
        yield audit.death or _impossible_failure(silent)
        return
    # However long the worker waited on a busy machine, its CPU time is the time it computed.
    threads = audit.task.device.threads if audit.task.device.kind == "cpu" else 1
    shown, usual = (
        max(0.0, min(wall, busy / threads) - SLACK) / calls
        for (wall, busy), calls in ((candidate, batches.candidate), (reference, batches.eager))
    )
    # Unless threads waited for one another: then eager was slow in these batches too.
    disturbed = usual > OFF * max(_quickest_of_blocks(timing.eager, timing.per_block))
    # A worker can see to that, and gains nothing: what is too noisy has no speedup.
    why = f"the worker's clock says {claimed:.3g} s per call, its parent saw {shown:.3g} s"
    every = shown > OFF * max(_quickest_of_blocks(timing.candidate, timing.per_block))
    if every and disturbed:
        yield Failure(Stage.MEASURE, Symptom.TOO_NOISY, f"{why}, and eager was as slow")
    else:
        yield from _judge_clock(audit, why, every, shown > OFF * claimed)
    shown = reference[0] / batches.eager
    why = f"the worker's clock says {eager:.3g} s per call of eager, its parent saw {shown:.3g} s"
    yield from _judge_clock(audit, why, min(timing.eager.wall) > OFF * shown, eager > OFF * shown)


def _quickest_of_blocks(samples: Samples, per_block: int) -> list[float]:
    """Return the quickest sample of each block, as speedups use them."""
    wall = samples.wall
    return [min(wall[start : start + per_block]) for start in range(0, len(wall), per_block)]


def _judge_clock(audit: Audit, why: str, every: bool, most: bool) -> Iterator[Failure]:
    """Yield a failure if every block is off.

    If only most are, a busy machine may be the reason: then the speedup is withheld, unless the
    protocol keeps noisy measurements.
    """
    if every:
        yield _impossible_failure(why)
    elif most and audit.task.protocol.noise_limit < OFF - 1:
        yield Failure(Stage.MEASURE, Symptom.TOO_NOISY, f"{why}, as some samples do")


def _impossible_failure(why: str) -> Failure:
    return Failure(Stage.MEASURE, Symptom.IMPOSSIBLE, why)
