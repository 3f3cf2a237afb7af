"""MetaSchedule's databases: a file of workloads, and a file of records that refer to its lines.

A failed record has no reason, only an impossible time, so all failures look alike.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from graph_net.programs.formats.outcome import NO_TIME
from graph_net.programs.formats.values import costs, expect, from_text, items, text, to_text, whole
from graph_net.results import NEVER, Failure, Program, Stage, Symptom, Task
from graph_net.results.timing import SMALLEST
from graph_net.store.lines import (
    DEFAULT_LIMITS,
    Damage,
    Place,
    ReadError,
    ReadLimits,
    read_each,
)

NAME = "metaschedule"
RECORDS, WORKLOADS = "tuning_record", "workload"
FAILED = Failure(Stage.MEASURE, Symptom.EXCEPTION, "failed; the database does not say how")
_HASH = re.compile(r"[0-9]{1,20}")
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")


@dataclass(frozen=True)
class MetaScheduleWorkload:
    """A task's structural hash, and its module as TVM packs it (base 64; stored, not decoded)."""

    hash: str
    module: str


def read_workloads(
    path: Path, limits: ReadLimits = DEFAULT_LIMITS
) -> Iterator[tuple[Place, MetaScheduleWorkload | Damage]]:
    """Yield the workloads of a file, in the order in which records count them."""
    return read_each(path, limits, _workload)


def _workload(line: bytes) -> MetaScheduleWorkload:
    known, module = items(from_text(line), "a workload", 2)
    expect(isinstance(known, str) and bool(_HASH.fullmatch(known)), "a hash, in digits")
    expect(isinstance(module, str) and bool(_BASE64.fullmatch(module)), "a module, in base 64")
    return MetaScheduleWorkload(known, module)


def workload_file(records: Path) -> Path:
    """Return the workload file of a file of records: beside it, under TVM's name."""
    beside = records.with_name(records.name.replace(RECORDS, WORKLOADS))
    if beside == records or not beside.is_file():
        wanted = f"database_{WORKLOADS}.json"
        raise ReadError(f"{records} needs the workloads of its database beside it ({wanted})")
    return beside


def read_metaschedule(
    path: Path, limits: ReadLimits = DEFAULT_LIMITS
) -> Iterator[tuple[Place, Program | Damage]]:
    """Yield the programs of a file of records, in order."""
    known = [
        found.hash if isinstance(found, MetaScheduleWorkload) else None
        for _, found in read_workloads(workload_file(path), limits)
    ]
    return read_each(path, limits, lambda line: _program(line, known))


def _program(line: bytes, known: Sequence[str | None]) -> Program:
    index, record = items(from_text(line), "a record", 2)
    trace, repeats, target, arguments = items(record, "a record's second item", 4)
    workload = known[index] if whole(index, "a workload", 1 << 31) < len(known) else None
    if workload is None:
        raise ReadError(f"workload {index} is not in the database, or is damaged there")
    taken = costs(repeats)
    failed = any(cost >= NEVER for cost in taken)
    expect(failed or min(taken) >= SMALLEST, f"costs from {SMALLEST:g} seconds")
    return Program.from_log(
        Task(NAME, workload, "", _target(target), to_text(items(arguments, "arguments"))),
        _trace(trace),
        () if failed else taken,
        FAILED if failed else None,
    )


def _trace(value: Any) -> str:
    steps, decisions = items(value, "a trace", 2)
    for step in items(steps, "instructions"):
        name, *rest = items(step, "an instruction", 4)
        text(name, "the name of an instruction")
        expect(all(isinstance(part, list) for part in rest), "lists in an instruction")
    for decision in items(decisions, "decisions"):
        items(decision, "a decision", 2)
    return to_text(value)


def _target(value: Any) -> str:
    if isinstance(value, dict):
        return to_text(value)
    expect(isinstance(value, str) and not value.startswith("{"), "a target, a text or an object")
    return text(value, "a target")


def write_workloads(workloads: Iterable[MetaScheduleWorkload], file: IO[bytes]) -> None:
    """Write workloads as lines that TVM and ``read_workloads`` read."""
    for workload in workloads:
        file.write(json.dumps([workload.hash, workload.module]).encode() + b"\n")


def write_records(programs: Iterable[Program], index: Mapping[str, int], file: IO[bytes]) -> None:
    """Write programs as records; ``index`` has the line of each workload's hash, from 0."""
    for program in programs:
        task = program.task
        expect(task.format == NAME, f"programs of {NAME}, not {task.format}")
        expect(task.workload in index, f"workload {task.workload} among those given")
        target = json.loads(task.target) if task.target.startswith("{") else task.target
        taken = list(program.costs) or [NO_TIME]
        record = [json.loads(program.schedule), taken, target, json.loads(task.details)]
        line = json.dumps([index[task.workload], record], allow_nan=False)
        file.write(line.encode() + b"\n")
