"""Programs as lines of JSON: the flat fields that journals and collected files have always had.

A line has a ``device`` only where its program has one; all other lines keep their earlier bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

from graph_net.results.canonical import canonical, plain
from graph_net.results.codec import read_as
from graph_net.results.device import Device
from graph_net.results.failure import Failure
from graph_net.results.program import Program, Task


@dataclass(frozen=True)
class _Line:
    """The fields of a line."""

    task: Task
    schedule: str
    costs: tuple[float, ...] = ()
    failure: Failure | None = None
    version: str = ""
    seconds: float | None = None
    measured: float | None = None
    extra: str = ""
    device: Device | None = None


def program_to_json(program: Program) -> str:
    """Return a program as one line."""
    names = [name for name in _Line.__dataclass_fields__ if name != "device" or program.device]
    return canonical({name: plain(getattr(program, name)) for name in names})


def program_from_json(text: str | bytes) -> Program:
    """Return the program of a line; raises RecordError on anything else."""
    line = read_as(_Line, text, "program")
    return Program.from_log(**{name: getattr(line, name) for name in _Line.__dataclass_fields__})
