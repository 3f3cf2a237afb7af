"""Programs of Triton kernels, as ``graph_net.space.triton.collect`` writes them.

A line says all there is to know of its program. Two kinds of lines are no programs and are passed
over: the header, which describes the device, and what torch takes for a workload.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from graph_net.formats.tuning.stream import (
    DEFAULT_LIMITS,
    Damage,
    Limits,
    Place,
    TuningError,
    read_each,
)
from graph_net.formats.tuning.values import (
    date,
    decoded,
    expect,
    fields,
    items,
    number,
    stored,
    text,
    times,
    whole,
)
from graph_net.record import Failure, Program, Stage, Symptom, Task

NAME = "triton"
VERSION = "triton-1"
SIGNALS = 64


def read_triton(
    path: Path, limits: Limits = DEFAULT_LIMITS
) -> Iterator[tuple[Place, Program | Damage]]:
    """The programs of a file, in order."""
    for place, found in read_each(path, limits, _program):
        if found is not None:
            yield place, found


def _program(line: bytes) -> Program | None:
    tree = fields(decoded(line), "a record")
    expect(tree.get("v") == VERSION, f"version {VERSION}")
    if "device" in tree or "baseline" in tree:
        return None
    failure = _failure(tree["failure"]) if "failure" in tree else None
    networks = [text(name, "a network") for name in items(tree.get("networks"), "networks")]
    details = {"networks": networks, "flops": number(tree.get("flops"), "the operations")}
    task = Task(
        NAME,
        stored(fields(tree.get("workload"), "a workload")),
        text(tree.get("name"), "a name of a workload"),
        stored(fields(tree.get("target"), "a target")),
        stored(details),
    )
    return Program(
        task,
        stored(fields(tree.get("schedule"), "a schedule")),
        () if failure else times(tree.get("costs")),
        failure,
        VERSION,
        number(tree.get("seconds"), "the seconds of a program"),
        date(tree.get("time")),
        stored(fields(tree.get("extra", {}), "what else is known")),
    )


def _failure(value: Any) -> Failure:
    tree = fields(value, "a failure")
    signal = tree.get("signal")
    try:
        return Failure(
            Stage(text(tree.get("stage"), "a stage")),
            Symptom(text(tree.get("symptom"), "a symptom")),
            text(tree.get("message"), "a message"),
            signal=None if signal is None else whole(signal, "a signal", SIGNALS),
        )
    except TuningError:
        raise
    except ValueError as error:
        raise TuningError(str(error)) from error
