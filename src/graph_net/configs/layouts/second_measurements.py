"""Which results of a collection measure a layout that another result has measured before."""

from __future__ import annotations

import json
from collections.abc import Sequence

from graph_net.results import Program


def second_measurements(programs: Sequence[Program]) -> list[bool]:
    """Return, for each program, whether it is a second measurement of its layout.

    It is if it is marked ``again``, or comes after another of the same device, graph, compiler and
    layout: early collections did not mark them all.
    """
    seen: set[tuple[str, str, str]] = set()
    second = []
    for program in programs:
        key = (program.task.target, program.task.workload, program.schedule)
        is_marked = bool(program.extra and json.loads(program.extra).get("again"))
        second.append(is_marked or key in seen)
        if not is_marked:
            seen.add(key)
    return second
