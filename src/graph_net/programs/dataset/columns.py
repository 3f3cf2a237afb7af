"""Descriptions of the stored columns of a data set of programs, for its card and metadata."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from graph_net.corpus.card import DESCRIPTIONS as OF_GRAPHS
from graph_net.corpus.columns import SCHEMA as GRAPHS
from graph_net.programs.features.feature_kinds import MACHINE_CODE
from graph_net.programs.store.columns import PACKED
from graph_net.programs.store.plain_format import PARAMETERS, PLAIN
from graph_net.programs.store.program_store import format_of
from graph_net.programs.store.task_table import SCHEMA as TASKS
from graph_net.programs.store.workload_table import SCHEMA as WORKLOADS

SCHEMAS: dict[str, pa.Schema] = {
    "programs": PLAIN.schema,
    "packed": PACKED.schema,
    "tasks": TASKS,
    "workloads": WORKLOADS,
    "subgraphs": GRAPHS,
    "code": MACHINE_CODE.schema,
}
"""The columns of each table; a platform's programs are plain, or packed if not published."""
ABOUT = {
    "programs": "One measured program per row: every timed run of it, or why there is none.",
    "packed": "The same in few bytes: times and schedules are computed from these columns.",
    "tasks": "How often a network calls a workload.",
    "workloads": "What a workload computes, as its space writes it.",
    "subgraphs": "The subgraph that a task computes, as a graph of GraphNet's.",
    "code": "What LLVM makes of each program, compiled for its target and not run.",
}
DESCRIPTIONS: dict[str, dict[str, str]] = {
    "programs": {
        "task": "hash of workload, target and device: what splits.json lists",
        "workload": "hash of the computation with its sizes: joins tasks and workloads",
        "kernel": "its name, for people",
        "format": "the space: `metaschedule` or `triton`",
        "version": "of the format; empty where it has none",
        "target": "what was compiled for, as JSON",
        "device": "where it ran, by name",
        "dtype": "of the computation, where the task says; `tf32`: a float32 network whose "
        "products run on tensor cores",
        "shape": "sizes of the computation, in the order of the kernel's name",
        **PARAMETERS,
        "schedule": "the configuration or the trace, as canonical JSON",
        "costs": "seconds of every timed run; empty for a failure",
        "status": "`success` or `failed`",
        "stage": "where it failed",
        "symptom": "how it failed",
        "message": "what was said then",
        "seconds": "what building and measuring took",
        "measured": "when, in UTC",
        "again": "whether this is the second measurement of a program, taken to know the noise",
        "registers": "per thread",
        "spills": "registers spilled to memory, per thread",
        "shared": "bytes of shared memory",
        "compile_seconds": "what compiling took",
        "load_seconds": "what loading it to the device took",
        "torch_costs": "seconds of runs of eager torch for the same task, where measured beside it",
        "structure": "structure hash of the graph that the task computes",
        "graph": "id of that graph",
        "program": "hash of the schedule",
        "source": "name of the file it was read from",
        "line": "place in that file",
        "details": "all that is known of the task, as JSON",
        "fingerprint": "the whole device as JSON, where the collector wrote it down",
        "extra": "what else is known of the program, as JSON",
    },
    "packed": {
        "source": "name of the file it was read from",
        "format": "the space: `metaschedule` or `triton`",
        "version": "of the format; empty here",
        "task": "hash of workload, target and device: what splits.json lists",
        "workload": "hash of the computation with its sizes: joins tasks and workloads",
        "kernel": "its name, for people",
        "target": "what was compiled for, as JSON",
        "device_name": "where it ran",
        "details": "what else is known of the task, as JSON",
        "status": "`success` or `failed`",
        "stage": "where it failed",
        "symptom": "how it failed",
        "message": "what was said then",
        "extra": "what else is known of the program, as JSON: registers, shared memory, spills",
        "fingerprint": "the whole device as JSON, where the collector wrote it down",
        "template": "the schedule as canonical JSON, with a gap (U+0001) for each of `numbers`",
        "line": "place in the collection",
        "program": "hash of the schedule",
        "repeats": "number of timed runs",
        "total": "sum of the runs, in units of 10^-`unit` s",
        "unit": "decimal digits of the times",
        "spread": "distance of each run but the last from `total // repeats`, zigzag",
        "costs_raw": "the runs in seconds, where they have too many digits for that",
        "took": "what building and measuring took, in units of 10^-`took_unit` s",
        "took_unit": "decimal digits of `took`",
        "took_raw": "the same in seconds, where it has too many digits for that",
        "stamp": "when, in whole seconds since 1970",
        "stamp_raw": "the same where it has a fraction",
        "numbers": "what goes into the gaps of the template",
    },
    "tasks": {
        "network": "architecture, batch and size",
        "workload": "hash of the computation with its sizes",
        "kernel": "its name, for people",
        "structure": "structure hash of the subgraph, where it is one of GraphNet's",
        "graph": "id of that subgraph",
        "weight": "calls in one pass of the network",
        "flops": "operations of one call",
    },
    "workloads": {
        "source": "name of the file it was read from",
        "workload": "hash of the computation with its sizes",
        "module": "the computation: TVM's module, packed; a kernel's sizes as JSON for Triton",
    },
    "subgraphs": {**OF_GRAPHS, "name": "kernel and workload: the key of a subgraph"},
    "code": {
        "task": "the task of the program",
        "program": "hash of its schedule: joins the column `program` of the programs",
        "values": "its numbers, in the order of `graph_net.programs.features.code_features.COLUMNS`"
        " (docs/features.md)",
        "reason": "why there are none",
    },
}


def kind_of(table: str, parts: Sequence[Path]) -> str:
    """Return the key of a table in SCHEMAS: programs are plain or packed."""
    if table != "programs" or all(format_of(part) is PLAIN for part in parts):
        return table
    return "packed"


def schema_of(table: str, parts: Sequence[Path]) -> pa.Schema:
    """Return the columns that a table of a platform has."""
    kind = kind_of(table, parts)
    names = {name for part in parts for name in pq.read_schema(part).names}
    return pa.schema([field for field in SCHEMAS[kind] if field.name in names])


def plain(kind: pa.DataType) -> pa.DataType:
    """Return the type of a column's values, whatever its encoding."""
    if pa.types.is_dictionary(kind):
        return kind.value_type
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(kind.value_type)
    return kind
