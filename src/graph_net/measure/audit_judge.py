"""Whether a record holds: its times by another clock, its outputs by another process."""

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
"""What a worker's clock says may be so many times off …"""
SLACK = 0.005
"""… and so many seconds for messages."""
SUSPICIOUS = 2.0
"""What is less than so many times as fast as eager is not too good to be true."""


def judge_record(audit: Audit, record: Record, workdir: Path) -> Record:
    """The record, or what is wrong with it; noise hides nothing that is wrong."""
    check = OutputCheck(audit.task, from_bytes(audit.task.graph), record, workdir)
    found = list(_failures(audit, record, check))
    failure = next((each for each in found if each.symptom is not Symptom.TOO_NOISY), None)
    if failure is None:
        record, failure = check.run(audit.heard.seed, audit.heard.outputs or b"")
    if failure is None and not record.too_noisy:
        failure = next(iter(found), None)
    if failure is None:
        return record
    return replace(record, failure=replace(failure, signature=signature_of(failure.message)))


def _failures(audit: Audit, record: Record, check: OutputCheck) -> Iterator[Failure]:
    """What is impossible about its times."""
    timing = record.timing
    assert timing is not None
    claimed = median(_quickest(timing.candidate, timing.per_block))
    eager = median(_quickest(timing.eager, timing.per_block))
    if claimed * SUSPICIOUS < eager:
        least = least_seconds(check.graph, audit.task.device)
        if claimed < least:
            yield _impossible(
                f"{claimed:.3g} s per call, where no machine of this kind needs less than"
                f" {least:.3g} s: work was skipped, kept from an earlier call, or not timed"
            )
    yield from _clock(audit, check, claimed, eager)


def _clock(audit: Audit, check: OutputCheck, claimed: float, eager: float) -> Iterator[Failure]:
    """What the worker's clock says that its parent's do not."""
    heard, timing = audit.heard, check.record.timing
    assert timing is not None
    failed = [mark.word for mark in heard.marks if mark.word.startswith(FAILED)]
    if failed:
        yield Failure(Stage.MEASURE, Symptom.EXCEPTION, f"called once more, it {failed[0]}")
    batches = batches_of(check.graph, check.places, timing, audit.task.protocol)
    seen, seen_eager = (heard.batch(arm, batches.pairs) for arm in ("candidate", "eager"))
    if seen is None or seen_eager is None or heard.outputs is None:
        silent = "the worker did not show its parent that its figures hold"
        yield audit.death or _impossible(silent)
        return
    # Whatever the worker waited for on a busy machine, it was run for no longer than it computed.
    threads = audit.task.device.threads if audit.task.device.kind == "cpu" else 1
    spent = min(seen[0], seen[1] / threads)
    shown = max(0.0, spent - SLACK) / batches.candidate
    why = f"the worker's clock says {claimed:.3g} s per call, its parent saw {shown:.3g} s"
    slowest = max(_quickest(timing.candidate, timing.per_block))
    yield from _off(audit, why, shown > OFF * slowest, shown > OFF * claimed)
    shown = seen_eager[0] / batches.eager
    why = f"the worker's clock says {eager:.3g} s per call of eager, its parent saw {shown:.3g} s"
    yield from _off(audit, why, min(timing.eager.wall) > OFF * shown, eager > OFF * shown)


def _quickest(samples: Samples, per_block: int) -> list[float]:
    """The quickest sample of each block, which is what a speedup is made of."""
    wall = samples.wall
    return [min(wall[start : start + per_block]) for start in range(0, len(wall), per_block)]


def _off(audit: Audit, why: str, every: bool, most: bool) -> Iterator[Failure]:
    """A failure where every block is off; where most are, a busy machine may be the reason.

    Then the speedup is withheld, unless noise is asked to be kept.
    """
    if every:
        yield _impossible(why)
    elif most and audit.task.protocol.noise_limit < OFF - 1:
        yield Failure(Stage.MEASURE, Symptom.TOO_NOISY, f"{why}, as some samples do")


def _impossible(why: str) -> Failure:
    return Failure(Stage.MEASURE, Symptom.IMPOSSIBLE, why)
