"""Programs as this package collects them: one Program per line, with all its fields.

A task's details contain, if known, the source of its space (``module``) and how often networks call
it (``weights``), so that a file alone is enough for the tables of tasks and workloads.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from graph_net.programs.formats.values import LATEST, REPEATS, expect, from_text, to_text
from graph_net.results import Program, RecordError, program_from_json
from graph_net.store.lines import (
    DEFAULT_LIMITS,
    Damage,
    Place,
    ReadError,
    ReadLimits,
    read_each,
)


def read_collected(
    path: Path, limits: ReadLimits = DEFAULT_LIMITS
) -> Iterator[tuple[Place, Program | Damage]]:
    """Yield the programs of a file, in order."""
    return read_each(path, limits, _program)


def _program(line: bytes) -> Program:
    try:
        program = program_from_json(line)
    except RecordError as error:
        raise ReadError(str(error)) from error
    for text in (program.schedule, program.task.details, program.extra):
        if text and to_text(from_text(text.encode())) != text:
            raise ReadError("schedule, details and extra are canonical JSON")
    expect(len(program.costs) <= REPEATS, f"at most {REPEATS} repeats")
    expect((program.measured or 0.0) <= LATEST, "a date")
    return program


def device_of(path: Path) -> str:
    """Return the device name of a file's first program, else that of the program's target."""
    for _, found in read_collected(path):
        if isinstance(found, Program):
            return found.device.name if found.device else _name(found.task.target)
    return ""


def _name(target: str) -> str:
    try:
        tree: Any = from_text(target.encode())
    except ReadError:
        return ""
    name = tree.get("name") if isinstance(tree, dict) else None
    return name if isinstance(name, str) else ""
