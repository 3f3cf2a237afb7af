"""Kernel Tuner's T4: one JSON document with a list of results.

Times are in the unit that ``metadata`` names, else in milliseconds, and are returned in seconds.
The file names neither the kernel nor the device; the caller may.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from graph_net.programs.formats.json_stream import read_pieces
from graph_net.programs.formats.values import (
    date,
    expect,
    fields,
    from_text,
    items,
    number,
    text,
    times,
    to_text,
)
from graph_net.results import Failure, Program, Stage, Symptom, Task
from graph_net.store.lines import DEFAULT_LIMITS, Damage, Place, ReadError, ReadLimits

NAME, VERSION = "t4", "1.0.0"
FAILURES = {
    "compile": Failure(Stage.COMPILE, Symptom.EXCEPTION, "did not compile"),
    "runtime": Failure(Stage.FIRST_RUN, Symptom.EXCEPTION, "error while running"),
    "timeout": Failure(Stage.FIRST_RUN, Symptom.TIMEOUT, "took too long"),
    "correctness": Failure(Stage.VERIFY, Symptom.NUMERIC, "wrong answer"),
    "constraints": Failure(Stage.COMPILE, Symptom.UNSUPPORTED, "breaks a constraint"),
}
INVALIDITIES = {failure: word for word, failure in FAILURES.items()}
_PER_SECOND = {
    **dict.fromkeys(("s", "seconds"), 1),
    **dict.fromkeys(("ms", "milliseconds", "miliseconds"), 1_000),  # misspelled in real files
    **dict.fromkeys(("us", "microseconds"), 1_000_000),
    **dict.fromkeys(("ns", "nanoseconds"), 1_000_000_000),
}


def read_t4(
    path: Path, kernel: str = "", limits: ReadLimits = DEFAULT_LIMITS
) -> Iterator[tuple[Place, Program | Damage]]:
    """Yield the programs of a file, in order; the task is named ``kernel``, else after the file."""
    metadata = _metadata(path, limits)
    unit = text(metadata.pop("timeunit", "ms"), "a unit of time")
    expect(unit in _PER_SECOND, f"a unit of time ({', '.join(_PER_SECOND)}), not {unit[:40]}")
    named = text(metadata.pop("kernel_name", ""), "a kernel's name")
    kernel = kernel or named or path.name.split(".")[0] or path.name
    task = Task(NAME, kernel, kernel, "", to_text(metadata))
    for place, piece in read_pieces(path, limits):
        if isinstance(piece, Damage):
            yield place, piece
            continue
        try:
            if piece.list == "results":
                yield place, _program(fields(from_text(piece.data), "a result"), task, unit)
            elif not piece.list:
                _check(fields(from_text(b"{" + piece.data + b"}"), "a member"))
        except ReadError as error:
            yield place, Damage(str(error))


def _metadata(path: Path, limits: ReadLimits) -> dict[str, Any]:
    """Return the document's metadata, wherever it is in the file; results are not decoded."""
    for _, piece in read_pieces(path, limits):
        if isinstance(piece, Damage) or piece.list:
            continue
        if piece.data.lstrip().startswith(b'"metadata"'):
            return fields(from_text(b"{" + piece.data + b"}")["metadata"], "metadata")
    return {}


def _check(member: dict[str, Any]) -> None:
    version = member.get("schema_version", VERSION)
    expect(version == VERSION, f"schema version {VERSION}, not {str(version)[:40]}")


def _program(tree: dict[str, Any], task: Task, unit: str) -> Program:
    config = to_text(fields(tree.pop("configuration", None), "a configuration"))
    measured = _date(tree.pop("timestamp", None))
    word = text(tree.pop("invalidity", None), "invalidity")
    expect(word == "correct" or word in FAILURES, f"a known invalidity, not {word[:40]}")
    spent = fields(tree.get("times", {}), "times")
    runs = spent.pop("runtimes", None)
    scale = _PER_SECOND[unit]
    tree["times"] = {name: number(value, f"times.{name}") / scale for name, value in spent.items()}
    tree["measurements"] = _measurements(tree.get("measurements", []), unit)
    taken: tuple[float, ...] = ()
    if word == "correct":
        taken = _seconds(runs, scale) if runs else _objective(tree["measurements"])
    return Program.from_log(
        task, config, taken, FAILURES.get(word), VERSION, None, measured, to_text(tree)
    )


def _date(value: Any) -> float | None:
    if value is None:
        return None
    try:
        when = datetime.fromisoformat(text(value, "a time stamp"))
    except ValueError as error:
        raise ReadError("expected a time stamp as ISO 8601 writes it") from error
    return date((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp())


def _seconds(values: Any, scale: int) -> tuple[float, ...]:
    return times([number(value, "a run's time") / scale for value in items(values, "runtimes")])


def _measurements(value: Any, unit: str) -> list[dict[str, Any]]:
    """Return the measurements with explicit units; a time without one uses the file's unit."""
    found = [fields(entry, "a measurement") for entry in items(value, "measurements")]
    for entry in found:
        if text(entry.get("name"), "a measurement's name") == "time" and not entry.get("unit"):
            entry["unit"] = unit
    return found


def _objective(measurements: list[dict[str, Any]]) -> tuple[float, ...]:
    """Return the mean time, used if the file has no single runs."""
    for entry in measurements:
        if entry["name"] == "time":
            unit = text(entry["unit"], "a unit of time")
            expect(unit in _PER_SECOND, "a time in a known unit")
            return _seconds([entry.get("value")], _PER_SECOND[unit])
    raise ReadError("expected runtimes, or a measurement of time")


def write_t4(programs: Iterable[Program], file: IO[bytes]) -> None:
    """Write programs of one kernel as a document that ``read_t4`` reads; times in seconds."""
    task: Task | None = None
    for program in programs:
        if task is None:
            task = program.task
            head = json.loads(task.details) | {"timeunit": "seconds", "kernel_name": task.kernel}
            file.write(b'{"metadata": ' + json.dumps(head).encode() + b', "results": [\n')
        else:
            file.write(b",\n")
        expect(task.format == NAME and program.task == task, "programs of one kernel, from T4")
        file.write(json.dumps(_result(program), allow_nan=False).encode())
    expect(task is not None, "at least one program")
    file.write(b'\n], "schema_version": "' + VERSION.encode() + b'"}\n')


def _result(program: Program) -> dict[str, Any]:
    tree: dict[str, Any] = json.loads(program.extra)
    if program.costs:
        tree["times"]["runtimes"] = program.costs
    if program.measured is not None:
        tree["timestamp"] = datetime.fromtimestamp(program.measured, UTC).isoformat(" ")
    word = INVALIDITIES[program.failure] if program.failure else "correct"
    return tree | {"configuration": json.loads(program.schedule), "invalidity": word}
