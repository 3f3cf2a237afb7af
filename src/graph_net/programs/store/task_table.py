"""The tasks of networks and how often each network calls them: a table beside the programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from graph_net.programs.formats.values import HUGE
from graph_net.programs.store.workload_table import SCHEMA as WORKLOADS
from graph_net.results import Task, canonical
from graph_net.store.atomic import open_atomic
from graph_net.store.files import list_regular
from graph_net.store.parquet import arrow_source

SCHEMA = pa.schema(
    [
        *(
            pa.field(name, pa.string())
            for name in ("network", "workload", "kernel", "structure", "graph")
        ),
        pa.field("weight", pa.int32()),
        pa.field("flops", pa.float64()),
    ],
    metadata={b"graph_net.tasks": b"1"},
)
CALLS = 1 << 20
"""Most calls of one workload in one network."""


class TaskStore:
    """The tasks of a store."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)

    def parts(self) -> list[Path]:
        """Return the Parquet files, one per collection."""
        return list_regular(self.path, "tasks-*.parquet")

    def source(self) -> Any:
        """Return the whole table, for queries."""
        return arrow_source(self.parts(), SCHEMA)

    def add(self, label: str, source: str, tasks: Iterable[Task]) -> None:
        """Write the networks and computations of collected tasks."""
        known = [(task, _details(task)) for task in tasks]
        write_rows(self.path / f"tasks-{label}.parquet", SCHEMA, list(_rows(known)))
        modules = [
            {"source": source, "workload": task.workload, "module": canonical(details["module"])}
            for task, details in known
            if "module" in details
        ]
        write_rows(self.path / f"workloads-{label}.parquet", WORKLOADS, modules)


def _rows(known: list[tuple[Task, dict[str, Any]]]) -> Iterator[dict[str, Any]]:
    for task, details in known:
        weights = details.get("weights")
        for network, weight in weights.items() if isinstance(weights, dict) else ():
            if type(weight) is int and 0 < weight < CALLS:
                yield {
                    "network": network,
                    "workload": task.workload,
                    "kernel": task.kernel,
                    "structure": _word(details.get("structure")),
                    "graph": _word(details.get("graph")),
                    "weight": weight,
                    "flops": _flops(details.get("flops")),
                }


def _word(value: Any) -> str:
    """Return a hash from an untrusted file; empty if it has none."""
    return value if isinstance(value, str) else ""


def _flops(value: Any) -> float | None:
    """Return a number of operations if it is a valid double."""
    return float(value) if type(value) in (int, float) and 0 <= value <= HUGE else None


def _details(task: Task) -> dict[str, Any]:
    tree = json.loads(task.details) if task.details else {}
    return tree if isinstance(tree, dict) else {}


def write_rows(target: Path, schema: pa.Schema, rows: list[dict[str, Any]]) -> None:
    """Write a small table as one file; write nothing if it has no rows."""
    if not rows:
        return
    with open_atomic(target) as file:
        table = pa.Table.from_pylist(rows, schema=schema)
        pq.write_table(table, file, compression="zstd", compression_level=9)
