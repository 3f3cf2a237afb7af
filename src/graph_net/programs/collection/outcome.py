"""Make a Program from a measurement; collectors make programs only here."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from graph_net.results import RETRIED, Failure, Program, Task, canonical


def make_program(
    task: Task,
    schedule: str,
    outcome: Sequence[float] | Failure,
    seconds: float,
    extra: Mapping[str, Any],
) -> Program:
    """Return a program measured just now, with the seconds of every repeat or a failure."""
    return Program.from_log(
        task,
        schedule,
        () if isinstance(outcome, Failure) else tuple(outcome),
        outcome if isinstance(outcome, Failure) else None,
        seconds=round(seconds, 4),
        measured=round(time.time(), 3),
        extra=canonical(dict(extra)) if extra else "",
    )


def extra_of(program: Program) -> dict[str, Any]:
    """Return the extra fields of a program as a dictionary."""
    tree: dict[str, Any] = json.loads(program.extra) if program.extra else {}
    return tree


def is_final(program: Program) -> bool:
    """Return whether a program has an outcome; failures caused by the machine are retried."""
    return program.failure is None or program.failure.symptom not in RETRIED
