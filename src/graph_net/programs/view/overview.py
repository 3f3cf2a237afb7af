"""Summaries of a store's tasks: what each computes, and how its programs performed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graph_net.programs.formats import ReadError
from graph_net.programs.store.program_store import ProgramStore
from graph_net.programs.store.task_table import TaskStore
from graph_net.programs.store.workload_table import WorkloadStore
from graph_net.results import json_object
from graph_net.store.sql import Sql

MAKES_SOME = "`graph-net programs collect` measures some, `graph-net ingest` takes in a tuner's"


@dataclass(frozen=True)
class TaskSummary:
    """A task and its distinct programs; costs are seconds, None if no program ran.

    A program measured twice counts once, with its first measurement.
    """

    task: str
    format: str
    workload: str
    kernel: str
    target: str
    device: str
    details: str
    programs: int
    failed: int
    best: float | None
    median: float | None
    worst: float | None
    weights: Mapping[str, int]
    """How often each network calls the task; empty if no file says."""
    flops: float
    """Operations of the computation; 0 if unknown."""
    structure: str
    graph: str
    """Id of the task's subgraph (``structure`` is its structure hash); empty if unknown."""

    @property
    def name(self) -> str:
        """Readable name: the kernel, with its arguments if the workload is a call of it."""
        return format_workload(self.workload) or self.kernel or self.workload

    @property
    def weight(self) -> int:
        """Calls in all networks; 1 if unknown."""
        return sum(self.weights.values()) or 1

    @property
    def spread(self) -> float | None:
        """Time of the worst program over that of the best."""
        return self.worst / self.best if self.best and self.worst else None

    @property
    def importance(self) -> float:
        """Seconds that all networks together spend in the task's best program."""
        return self.weight * (self.best or 0.0)

    def rate(self, seconds: float | None) -> float | None:
        """Return operations per second; None if unknown."""
        return self.flops / seconds if self.flops and seconds else None


@contextmanager
def tables(records: Path) -> Iterator[Sql]:
    """Yield a connection that sees only ``programs``, ``tasks`` and ``workloads``."""
    store = ProgramStore(records)
    if not store.parts():
        within = sorted({str(part.parent) for part in records.glob("*/programs-*.parquet")})
        hint = f"there are some in {', '.join(within)}" if within else MAKES_SOME
        raise ReadError(f"{records} holds no programs; {hint}")
    with Sql() as connection:
        store.create_view(connection)
        connection.register("tasks", TaskStore(records).source())
        connection.register("workloads", WorkloadStore(records).source())
        yield connection


_SUMMARY = """SELECT task, any_value(format), any_value(workload), any_value(kernel),
    any_value(target), any_value(device_name), any_value(details), count(DISTINCT program),
    count(DISTINCT program) FILTER (status = 'failed'), min(cost), median(cost), max(cost)
    FROM programs WHERE NOT again {chosen} GROUP BY task ORDER BY task"""
_CALLS = """SELECT workload, network, max(weight), max(flops), any_value(structure),
    any_value(graph) FROM tasks GROUP BY workload, network ORDER BY workload, network"""


def summaries(connection: Sql, tasks: Sequence[str] | None = None) -> list[TaskSummary]:
    """Return the summary of every task, or of the given ones."""
    chosen = "" if tasks is None else f"AND task IN ({', '.join('?' * len(tasks))})"
    found = connection.execute(_SUMMARY.format(chosen=chosen), tasks or ()).fetchall()
    calls: dict[str, list[Any]] = {}
    for workload, *rest in connection.execute(_CALLS).fetchall():
        calls.setdefault(workload, []).append(rest)
    return [TaskSummary(*row, **_known(row[6], calls.get(row[2], []))) for row in found]


def _known(details: str, calls: list[Any]) -> dict[str, Any]:
    """Return what is known of a workload, from the table of tasks or from a program's details."""
    if calls:
        _, _, flops, structure, graph = calls[0]
    else:
        flops, structure, graph = map(json_object(details).get, ("flops", "structure", "graph"))
    return {
        "weights": {network: int(weight) for network, weight, *_ in calls},
        "flops": float(flops) if isinstance(flops, int | float) and flops > 0 else 0.0,
        "structure": str(structure or ""),
        "graph": str(graph or ""),
    }


def format_workload(workload: str) -> str:
    """Return a workload of the form [function, arguments] as a call; empty for any other."""
    try:
        tree = json.loads(workload)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(tree, list) or len(tree) < 2 or not isinstance(tree[0], str):
        return ""
    return f"{tree[0]}({', '.join(map(json.dumps, tree[1:]))})"
