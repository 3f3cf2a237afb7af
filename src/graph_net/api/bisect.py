"""Find the smallest subgraph that still shows a problem of a compiler."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from graph_net.api.choose import named_graph
from graph_net.api.graphs import open_graph_in
from graph_net.api.options import config_of, limits_of
from graph_net.api.records import Records, record_paths
from graph_net.display.display import Display, display_of
from graph_net.graph import Graph

if TYPE_CHECKING:
    from graph_net.bisect import BisectSettings, Witness
    from graph_net.results import Config, Record


def bisect(
    graph: Graph | str | Path,
    compiler: str | Config,
    problem: str | None = None,
    *,
    t: float = -3.0,
    device: str = "cpu",
    threads: int = 0,
    jobs: int = 0,
    seconds: float = 5.0,
    gigabytes: float = 8.0,
    timeout: float = 600.0,
    progress: Display | bool = True,
) -> Witness:
    """Return the smallest subgraph that still crashes, mismatches or is slower.

    ``problem`` is ``"crash"``, ``"mismatch"`` or ``"slower"``, whatever the graph shows if None;
    outputs that pass only above level ``t`` are a mismatch. Every trial runs in a confined process
    of its own. Raises ``BisectError`` if the graph does not show the problem.
    """
    settings = bisect_settings(problem, t, device, threads, jobs, seconds, gigabytes, timeout)
    return bisect_one(graph, compiler, settings, display_of(progress))


def bisect_settings(
    problem: str | None,
    t: float,
    device: str,
    threads: int,
    jobs: int,
    seconds: float,
    gigabytes: float,
    timeout: float,
) -> BisectSettings:
    """Return the settings of trials; raise ValueError for an unknown problem."""
    from graph_net.bisect import BisectSettings, Problem
    from graph_net.measure import Protocol
    from graph_net.measure.device import describe
    from graph_net.measure.plan import default_jobs

    problems = [str(kind) for kind in Problem]
    if problem is not None and problem not in problems:
        raise ValueError(f"unknown problem {problem!r}; available: {', '.join(problems)}")
    return BisectSettings(
        describe(device, threads or None),
        None if problem is None else Problem(problem),
        t,
        Protocol(seconds=seconds),
        limits_of(gigabytes, timeout),
        jobs or default_jobs(device),
    )


def bisect_one(
    graph: Graph | str | Path, compiler: str | Config, settings: BisectSettings, display: Display
) -> Witness:
    """Return the witness of one graph and one compiler."""
    from graph_net.bisect import bisect, trials

    config = config_of(compiler, ValueError, "one is bisected")
    name, opened = named_graph(graph)
    with trials([config], settings) as ask:
        return bisect(name, opened, config, settings, ask, display.tell)


def troubled_records(
    records: str | Path | Records,
    compiler: str | None,
    settings: BisectSettings,
    limit: int | None = None,
) -> list[Record]:
    """Return the records of a run on this kind of device that show a problem.

    A ``compiler`` without options in brackets stands for all of its options.
    """
    from graph_net.bisect.run import select_troubled
    from graph_net.store.records import RecordStore

    (path,) = record_paths([records])
    wanted = None if compiler is None else config_of(compiler, ValueError, "one is bisected")
    if wanted is not None and "[" not in (compiler or ""):
        wanted = replace(wanted, options={})
    kind = settings.device.kind
    store = RecordStore(path).require()
    here = (record for record in store.records() if record.device.kind == kind)
    return select_troubled(here, settings.problem, settings.level, wanted)[:limit]


def bisect_records(
    todo: list[Record],
    graphs: str | Path | None,
    compiler: str | None,
    settings: BisectSettings,
    display: Display,
) -> Iterator[Witness]:
    """Yield a witness per record whose problem shows again; print why the others do not."""
    from graph_net.bisect.run import bisect_run

    named = () if compiler is None else (config_of(compiler, ValueError, "one is bisected"),)
    yield from bisect_run(todo, _open_by_name(graphs), settings, display.tell, named)


def _open_by_name(graphs: str | Path | None) -> Callable[[str], Graph]:
    from graph_net.corpus.shipped import corpus_at_hand

    root = corpus_at_hand() if graphs is None else Path(graphs)
    # A record names a graph of this root; the root is the user's.
    return lambda name: open_graph_in(root, name)[1]
