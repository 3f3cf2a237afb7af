"""Find spaces: built-in ones, and others through entry points."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import cast

from graph_net.programs.spaces.space import Space, SpaceError, Workload

GROUP = "graph_net.spaces"
BUILT_IN = {
    "metaschedule": "graph_net.programs.spaces.metaschedule:MetaScheduleSpace",
    "triton": "graph_net.programs.triton:TritonSpace",
}
MakeSpace = Callable[[Workload, str], Space]
"""Makes a space from a workload and a target (JSON; an empty target is this machine)."""


def space_names() -> list[str]:
    """Return the names of all spaces."""
    return [*BUILT_IN, *sorted({p.name for p in entry_points(group=GROUP)} - BUILT_IN.keys())]


def space_of(workload: Workload, target: str = "") -> Space:
    """Return the space of a workload."""
    for point in entry_points(group=GROUP):
        if point.name == workload.space:
            return cast(MakeSpace, point.load())(workload, target)
    if workload.space not in BUILT_IN:
        raise SpaceError(f"unknown space {workload.space!r}; known: {', '.join(space_names())}")
    module, _, attribute = BUILT_IN[workload.space].partition(":")
    return cast(MakeSpace, getattr(importlib.import_module(module), attribute))(workload, target)
