"""``graph-net bisect``: the smallest subgraph that still shows a problem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from graph_net.api.graphs import open_graph, open_graph_in
from graph_net.cli.common import err, out

if TYPE_CHECKING:
    from graph_net.bisect import Cluster, Settings, Witness
    from graph_net.bisect.stored import Stored
    from graph_net.graph import Graph
    from graph_net.record import Config

NOT_SHOWN = 1


def bisect_graph(
    graph: Annotated[
        str | None,
        typer.Argument(
            help="A graph as `show` takes it; with --records where the graphs are, the shipped "
            "corpus if not said."
        ),
    ] = None,
    compiler: Annotated[
        str | None,
        typer.Argument(
            help="The compiler, options in brackets, or path/to/file.py:Name; with --records only "
            "this one's."
        ),
    ] = None,
    problem: Annotated[
        str | None,
        typer.Option(help="crash, mismatch or slower; whatever the graph shows if not said."),
    ] = None,
    records: Annotated[
        Path | None, typer.Option(help="Records of a run: all graphs in it that show a problem.")
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where witnesses and scripts go.")
    ] = Path("build/witnesses"),
    t: Annotated[
        float, typer.Option("--t", help="Outputs that pass only above this level are a mismatch.")
    ] = -3.0,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    threads: Annotated[int, typer.Option(help="Threads of a trial; 0 for all.")] = 0,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Trials; 0 for one a core.")] = 0,
    seconds: Annotated[float, typer.Option(help="Sampling time where slowness is sought.")] = 5.0,
    gigabytes: Annotated[float, typer.Option(help="Memory limit for one trial.")] = 8.0,
    timeout: Annotated[float, typer.Option(help="Time limit for one compilation.")] = 600.0,
    limit: Annotated[int | None, typer.Option(help="At most so many records.")] = None,
) -> None:
    """Find the smallest subgraph that still crashes, mismatches or is slower, and store it.

    Every trial runs in a process of its own. The witness is a graph (.json), with a script that
    shows the problem where one can be written. With --records every graph of a run is taken that
    shows a problem, and equal witnesses are counted together. Records of a compiler of your own,
    or with options that a file may not set, are taken if COMPILER names it again. Exits with 0 if
    there is a witness, with 1 if the problem does not show, with 2 if the question makes no sense.
    """
    from graph_net.bisect import Problem, Settings
    from graph_net.measure import Limits, Protocol
    from graph_net.measure.device import describe
    from graph_net.measure.plan import default_jobs

    known = [str(kind) for kind in Problem]
    if problem is not None and problem not in known:
        raise ValueError(f"{problem!r} is no problem; problems are {', '.join(known)}")
    settings = Settings(
        describe(device, threads or None),
        None if problem is None else Problem(problem),
        t,
        Protocol(seconds=seconds),
        Limits(memory_bytes=int(gigabytes * 2**30)).with_compile(timeout),
        jobs or default_jobs(device),
    )
    if records is not None:
        _over_a_run(records, graph, compiler, settings, output, limit)
    elif graph is None or compiler is None:
        raise ValueError("say which GRAPH and which COMPILER, or --records of a run")
    else:
        _one(graph, compiler, settings, output)


def _told(line: str) -> None:
    err.print(line, highlight=False, soft_wrap=True)


def _one(place: str, compiler: str, settings: Settings, output: Path) -> None:
    from graph_net.bisect import BisectError, bisect, stored, trials

    config = _config(compiler)
    name, graph = open_graph(place)
    try:
        with trials([config], settings) as ask:
            witness = bisect(name, graph, config, settings, ask, _told)
    except BisectError as error:
        _told(str(error))
        raise typer.Exit(NOT_SHOWN) from error
    _report(witness, stored(witness, output, settings.level))


def _config(compiler: str) -> Config:
    from graph_net.measure.plan import parse_compilers

    configs = parse_compilers(compiler)
    if len(configs) != 1:
        raise ValueError(f"{compiler!r} names {len(configs)} compilers; one is bisected")
    return configs[0]


def _report(witness: Witness, place: Stored) -> None:
    for node in witness.graph.nodes:
        reads = ", ".join(ref.name for ref in node.refs)
        out.print(f"{node.name} = {node.target}({reads})", highlight=False)
    what = f"{witness.shown.problem} {witness.shown.detail}".strip()
    count = f"{len(witness.graph.nodes)} of {witness.calls} calls, {witness.trials} trials"
    _told(f"{what}: {count}; {place.graph}")
    if place.script is None:
        _told(f"no script: {place.reason}")
    else:
        _told(f"{place.script}: run it with `python {place.script.name}`")
    if witness.held:
        name, reason = witness.held[0]
        more = f" ({len(witness.held)} such calls)" if len(witness.held) > 1 else ""
        _told(f"{name} stays because the rest cannot be cut out without it: {reason}{more}")
    if not witness.imitated:
        _told("inputs that the whole graph computes are noise here: its values were not to be had")


def _over_a_run(
    records: Path,
    place: str | None,
    compiler: str | None,
    settings: Settings,
    output: Path,
    limit: int | None,
) -> None:
    from graph_net.bisect import clustered, stored
    from graph_net.bisect.run import bisect_run, troubled
    from graph_net.corpus.records import RecordStore

    typed = None if compiler is None else _config(compiler)
    store = RecordStore(records).require()
    wanted = typed
    if typed is not None and "[" not in (compiler or ""):
        wanted = replace(typed, options={})  # of this compiler, whatever the options
    kind = settings.device.kind
    here = (record for record in store.records() if record.device.kind == kind)
    todo = troubled(here, settings.problem, settings.level, wanted)[:limit]
    if not todo:
        _told(f"no record in {records} shows {settings.problem or 'a problem'} on {kind}")
        raise typer.Exit(NOT_SHOWN)
    files: dict[str, Stored] = {}
    witnesses = []
    named = () if typed is None else (typed,)
    for witness in bisect_run(todo, _graphs(place), settings, _told, named):
        witnesses.append(witness)
        files[witness.graph.id] = stored(witness, output, settings.level)
    out.print(_table(clustered(witnesses), files))
    _told(f"{len(witnesses)} of {len(todo)} have a witness; they are in {output}")
    if not witnesses:
        raise typer.Exit(NOT_SHOWN)


def _graphs(place: str | None) -> Callable[[str], Graph]:
    from graph_net.corpus.shipped import shipped_corpus

    root = shipped_corpus() if place is None else Path(place)
    # A record says which graph of the place it is of; the place is the user's.
    return lambda name: open_graph_in(root, name)[1]


def _table(clusters: list[Cluster], files: dict[str, Stored]) -> Table:
    table = Table("compiler", "problem", "calls", "graphs", "what", "witness", title="witnesses")
    for cluster in clusters:
        example = cluster.example
        operators = " → ".join(node.target for node in example.graph.nodes[:6])
        more = " …" if len(example.graph.nodes) > 6 else ""
        table.add_row(
            cluster.compiler,
            f"{cluster.shown.problem} {cluster.shown.detail}".strip(),
            str(len(example.graph.nodes)),
            str(len(cluster.witnesses)),
            operators + more,
            files[example.graph.id].graph.name,
        )
    return table
