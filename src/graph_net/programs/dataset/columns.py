"""What the stored columns of a data set of programs are, for its card and its metadata."""

from __future__ import annotations

import pyarrow as pa

from graph_net.corpus.card import DESCRIPTIONS as OF_GRAPHS
from graph_net.corpus.columns import SCHEMA as GRAPHS
from graph_net.programs.store.columns import SCHEMA as PROGRAMS
from graph_net.programs.store.task_table import SCHEMA as TASKS
from graph_net.programs.store.workload_table import SCHEMA as WORKLOADS

SCHEMAS: dict[str, pa.Schema] = {
    "programs": PROGRAMS,
    "tasks": TASKS,
    "workloads": WORKLOADS,
    "subgraphs": GRAPHS,
}
ABOUT = {
    "programs": "A schedule of a task a row, and every measured run of it or why there is none.",
    "tasks": "How often a network calls a workload.",
    "workloads": "What a workload computes, as its space writes it.",
    "subgraphs": "The subgraph that a task computes, as a graph of GraphNet's.",
}
DESCRIPTIONS: dict[str, dict[str, str]] = {
    "programs": {
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
}


def plain(kind: pa.DataType) -> pa.DataType:
    """The type of a column's values, whatever its encoding."""
    if pa.types.is_dictionary(kind):
        return kind.value_type
    return kind
