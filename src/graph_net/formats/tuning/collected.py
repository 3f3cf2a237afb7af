"""Programs as this package collects them: a Program a line, with all there is to know of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from graph_net.formats.tuning.stream import (
    DEFAULT_LIMITS,
    Damage,
    Limits,
    Place,
    TuningError,
    read_each,
)
from graph_net.formats.tuning.values import decoded
from graph_net.record import Program, RecordError, canonical, program_from_json


def read_collected(
    path: Path, limits: Limits = DEFAULT_LIMITS
) -> Iterator[tuple[Place, Program | Damage]]:
    """The programs of a file, in order."""
    return read_each(path, limits, _program)


def _program(line: bytes) -> Program:
    try:
        program = program_from_json(line)
    except RecordError as error:
        raise TuningError(str(error)) from error
    for text in (program.schedule, program.task.details, program.extra):
        if text and canonical(decoded(text.encode())) != text:
            raise TuningError("schedule, details and extra are canonical JSON")
    return program
