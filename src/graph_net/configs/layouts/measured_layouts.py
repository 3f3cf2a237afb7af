"""Measured layouts of a collection as examples: each is rewritten again to know its calls.

Nothing is executed: a rewriting walks tensors without data.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import fields
from statistics import median
from typing import Any

import numpy as np

from graph_net.configs.layouts.call_features import call_rows
from graph_net.configs.layouts.call_work import is_free
from graph_net.configs.layouts.calls import LayoutCall
from graph_net.configs.layouts.hand_features import feature_row, label_of, moved_bytes
from graph_net.configs.layouts.layout_config import default_layout, read_layout
from graph_net.configs.layouts.layout_examples import (
    NO_CALLS,
    CallCounts,
    GraphLayouts,
    count_calls,
)
from graph_net.configs.layouts.rewrite import LayoutRewriter, quiet
from graph_net.configs.layouts.second_measurements import second_measurements
from graph_net.configs.layouts.sites import LayoutError
from graph_net.graph.graph import Graph
from graph_net.results import Program


class CallNumbers:
    """Numbers the calls of one graph's layouts; equal calls have one number."""

    def __init__(self, graph: Graph) -> None:
        # On a GPU too: convolutions follow the same rule, and torch may be built without CUDA here.
        self.rewriter = LayoutRewriter(graph, "cpu")
        self.numbered: dict[int, int] = {}
        self.calls: list[LayoutCall] = []

    def of(self, schedule: str) -> list[int]:
        """Return the numbers of the calls of a layout that cost time; empty text: the original."""
        sites = self.rewriter.sites
        layout = read_layout(schedule, sites) if schedule else default_layout(sites)
        return [
            number for call in self.rewriter.calls(layout) if (number := self._number(call)) >= 0
        ]

    def _number(self, call: LayoutCall) -> int:
        if id(call) not in self.numbered:
            free = is_free(call)
            self.numbered[id(call)] = -1 if free else len(self.calls)
            self.calls += [] if free else [call]
        return self.numbered[id(call)]


def by_graph(programs: Iterable[Program]) -> dict[str, list[Program]]:
    """Return the layouts that ran by the id of their graph: those of the compiler with most."""
    groups: dict[tuple[str, str], list[Program]] = {}
    for program in programs:
        if program.failure is None:
            graph = str(json.loads(program.task.details)["graph"])
            groups.setdefault((graph, program.task.workload), []).append(program)
    largest: dict[str, list[Program]] = {}
    for (graph, _), group in sorted(groups.items()):
        if len(group) > len(largest.get(graph, ())):
            largest[graph] = group
    return largest


def measured_layouts(programs: Sequence[Program], graph: Graph | None) -> GraphLayouts:
    """Return the layouts of one graph with their labels; without the graph they have no calls."""
    numbers = CallNumbers(graph) if graph is not None else None
    details = json.loads(programs[0].task.details)
    kinds = details["kinds"]
    rows: dict[str, list[Any]] = {k: [] for k in ("hand", "moved", "seconds", "y", "calls", "text")}
    again: list[tuple[str, float]] = []
    with quiet():
        original = numbers.of("") if numbers else []
        for program, is_second in zip(programs, second_measurements(programs), strict=True):
            extra = json.loads(program.extra)
            label, seconds = label_of(program.costs, extra), median(extra["control"])
            if is_second:
                again.append((program.schedule, label))
                continue
            try:
                rows["calls"].append(numbers.of(program.schedule) if numbers else [])
            except LayoutError:  # this version of torch does not support it
                continue
            rows["hand"].append(feature_row(program.schedule, kinds, extra["copies"], seconds))
            rows["moved"].append(moved_bytes(extra["copies"]))
            rows["seconds"].append(seconds)
            rows["y"].append(label)
            rows["text"].append(program.schedule)
    task = programs[0].task
    table = call_rows(numbers.calls) if numbers else NO_CALLS.rows
    return GraphLayouts(
        np.array(rows["hand"]), np.array(rows["moved"]), np.array(rows["seconds"]),
        count_calls(table, original, rows["calls"]), task.target.partition(":")[0],
        np.array(rows["y"]), details["graph"], task.kernel, tuple(rows["text"]), tuple(again),
    )  # fmt: skip


def layouts_to_bytes(layouts: GraphLayouts) -> bytes:
    """Return layouts as the bytes of an npz, to leave a process."""
    arrays: dict[str, Any] = {}
    for column in fields(layouts):
        value = getattr(layouts, column.name)
        if isinstance(value, CallCounts):
            arrays |= {f"calls.{part.name}": getattr(value, part.name) for part in fields(value)}
        else:
            arrays[column.name] = value if isinstance(value, np.ndarray) else json.dumps(value)
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def layouts_from_bytes(data: bytes) -> GraphLayouts:
    """Return the layouts that ``layouts_to_bytes`` wrote."""
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        own = {name: arrays[name] for name in arrays.files}
    calls = CallCounts(*(own.pop(f"calls.{part.name}") for part in fields(CallCounts)))
    texts = {name: json.loads(str(own.pop(name))) for name in ("device", "graph", "name")}
    schedules = tuple(json.loads(str(own.pop("schedules"))))
    again = tuple((text, label) for text, label in json.loads(str(own.pop("again"))))
    return GraphLayouts(**own, calls=calls, schedules=schedules, again=again, **texts)
