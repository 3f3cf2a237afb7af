"""Print schedules as readable lines, from their JSON alone, without a compiler."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from graph_net.programs.spaces.ansor_steps import steps_of
from graph_net.programs.spaces.space import SpaceError
from graph_net.programs.spaces.traces import parse_trace

_ANSOR = {
    "AN": ("annotate", "stage", "iter", "kind"),
    "FU": ("fuse", "stage", "iters"),
    "PR": ("pragma", "stage", "iter", "text"),
    "RE": ("reorder", "stage", "order"),
    "SP": ("split", "stage", "iter", "extent", "lengths", "inner_to_outer"),
    "FSP": ("follow_split", "stage", "iter", "step", "parts"),
    "FFSP": ("follow_fused_split", "stage", "iter", "steps", "level", "factor_or_parts"),
    "SA": ("storage_align", "stage", "iter", "factor", "offset"),
    "CA": ("compute_at", "stage", "target", "iter"),
    "CI": ("compute_inline", "stage"),
    "CR": ("compute_root", "stage"),
    "CHR": ("cache_read", "stage", "scope", "readers"),
    "CHW": ("cache_write", "stage", "scope"),
    "RF": ("rfactor", "stage", "iter", "factor_iter"),
}
"""For each kind of step: its name, and the names of its values (TVM's ``auto_scheduler``)."""
_AXES = (
    *("none", "unroll", "vectorize", "parallel", "vthread", "blockIdx.x", "threadIdx.x"),
    *("blockIdx.y", "threadIdx.y", "blockIdx.z", "threadIdx.z", "tensorize"),
)


def format_schedule(kind: str, schedule: str) -> str:
    """Return a schedule as lines of text; unchanged if it cannot be parsed."""
    try:
        return _WRITERS.get(kind, _settings)(schedule)
    except (SpaceError, ValueError, RecursionError):
        return schedule


def _ansor(schedule: str) -> str:
    return "\n".join(map(_step, steps_of(schedule)))


def _step(step: list[Any]) -> str:
    name, *fields = _ANSOR.get(step[0], (step[0],))
    values = list(step[1:])
    if step[0] == "AN" and len(values) == 3 and values[2] in range(len(_AXES)):
        values[2] = _AXES[values[2]]
    named = [f"{field}={json.dumps(value)}" for field, value in zip(fields, values, strict=False)]
    return f"{name}({', '.join([*named, *map(json.dumps, values[len(fields) :])])})"


def _trace(schedule: str) -> str:
    instructions, decisions = parse_trace(schedule)
    decided = dict(decisions)
    lines = []
    for index, (name, inputs, attributes, outputs) in enumerate(instructions):
        arguments = [part if isinstance(part, str) else json.dumps(part) for part in inputs]
        arguments += map(json.dumps, attributes)
        if index in decided:
            arguments.append(f"decision={json.dumps(decided[index])}")
        results = f"{', '.join(map(str, outputs))} = " if outputs else ""
        lines.append(f"{results}{name}({', '.join(arguments)})")
    return "\n".join(lines)


def _settings(schedule: str) -> str:
    """Return parameters with their values, for Kernel Tuner, AutoTVM and Triton."""
    tree = json.loads(schedule)
    if not isinstance(tree, dict):
        return json.dumps(tree, indent=1)
    return "\n".join(f"{name} = {json.dumps(value)}" for name, value in tree.items())


_WRITERS: dict[str, Callable[[str], str]] = {"ansor": _ansor, "metaschedule": _trace}
