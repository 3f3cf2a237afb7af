"""A collection of layouts: graphs in, a journal of programs out; used here and in bundles."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from graph_net.compilers import create
from graph_net.configs.layouts.layout_bench import LayoutBench
from graph_net.configs.layouts.layout_journal import LayoutJournal
from graph_net.configs.layouts.layout_workers import WorkerSettings
from graph_net.configs.layouts.plan import LayoutsWanted, LayoutTask
from graph_net.configs.layouts.sites import LayoutError, Site, SiteKind, find_sites
from graph_net.graph import GraphError, from_bytes
from graph_net.graph.effects import changed_values
from graph_net.isolate import Limits, Sandbox, call
from graph_net.isolate.workdir import temporary_directory
from graph_net.measure.device import describe
from graph_net.results import Device
from graph_net.results.canonical import plain

MOST_SECONDS = {"cpu": 0.08, "cuda": 0.03}
"""Longest original that is collected from, in seconds per run, by device."""


@dataclass(frozen=True)
class LayoutGraphs:
    """The graphs of a collection that have layouts to choose, and why others are excluded."""

    tasks: tuple[LayoutTask, ...]
    sites: tuple[tuple[Site, ...], ...]
    refused: tuple[str, ...] = ()


def sort_graphs(tasks: Sequence[LayoutTask]) -> LayoutGraphs:
    """Separate the graphs that have layouts to choose from the others."""
    taken, sites, refused = [], [], []
    for task in tasks:
        try:
            found = layout_sites(task.graph)
        except (LayoutError, GraphError) as error:
            refused.append(f"{task.subject.name}: {error}")
            continue
        taken.append(task)
        sites.append(found)
    return LayoutGraphs(tuple(taken), tuple(sites), tuple(refused))


def layout_sites(data: bytes) -> tuple[Site, ...]:
    """Return the sites of a graph to collect from; raise LayoutError if it is not suitable.

    Calls are repeated on the same inputs, so a graph that changes them is not suitable.
    """
    graph = from_bytes(data)
    found = find_sites(graph)
    if not any(site.kind in (SiteKind.CONVOLUTION, SiteKind.MATMUL) for site in found):
        raise LayoutError("the graph has no convolution and no product of matrices")
    changed = changed_values(graph)
    if names := [entry.name for entry in graph.inputs if entry.name in changed]:
        raise LayoutError(f"the graph changes its input {names[0]}")
    return found


@contextmanager
def open_layout_bench(
    graphs: LayoutGraphs,
    wanted: LayoutsWanted,
    journal: Path,
    device: str = "cpu",
    jobs: int = 0,
    until: float = math.inf,
    threads: int = 0,
) -> Iterator[LayoutBench]:
    """Yield the bench that collects layouts on this machine; raise ValueError if it cannot.

    ``jobs`` processes rewrite graphs; by default all cores but two.
    """
    import torch  # noqa: F401  # once, here, rather than in each process that is forked

    described = describe_confined(device, threads)
    with temporary_directory("layouts-") as folder:
        settings = WorkerSettings(
            tuple(task.graph for task in graphs.tasks),
            device,
            wanted.compiler,
            described.threads,
            folder,
            MOST_SECONDS.get(described.kind, math.inf),
        )
        compiler = create(wanted.compiler)
        compiler.prepare(device)
        sandbox = Sandbox(folder, device=device).needing(compiler.needs)
        bench = LayoutBench(
            graphs.tasks, graphs.sites, described, wanted, LayoutJournal(journal), settings,
            sandbox, jobs or max(1, (os.cpu_count() or 3) - 2), until,
        )  # fmt: skip
        if others := bench.journal.targets - {bench.target}:
            raise ValueError(f"{journal} has layouts of {others.pop()}: name another file")
        yield bench


def describe_confined(device: str, threads: int = 0) -> Device:
    """Return this machine's device, queried in a process of its own: once this process has used a
    GPU, its forks cannot.
    """
    limits, sandbox = Limits(120, None), Sandbox(device=device)
    tree = call(lambda: plain(describe(device, threads or None)), limits, sandbox)
    return Device(**tree)
