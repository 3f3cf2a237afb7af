"""``graph-net bisect``: the smallest subgraph that still shows a problem."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from graph_net.cli import options as opt
from graph_net.cli.common import new_table, out
from graph_net.display.display import Display

if TYPE_CHECKING:
    from graph_net.bisect import BisectSettings, Witness, WitnessCluster
    from graph_net.bisect.witness_file import WitnessFiles

DISPLAY = Display()
NOT_SHOWN = 1


def bisect_graph(
    graph: Annotated[
        str | None,
        typer.Argument(
            help="A graph as `show` takes it; with --records the pack of the graphs, the shipped "
            "corpus by default."
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
        typer.Option(help="crash, mismatch or slower; by default whatever the graph shows."),
    ] = None,
    records: Annotated[
        Path | None, typer.Option(help="Records of a run: bisect all graphs that show a problem.")
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The directory of witnesses and scripts.")
    ] = Path("build/witnesses"),
    t: Annotated[
        float, typer.Option("--t", help="Outputs that pass only above this level are a mismatch.")
    ] = -3.0,
    device: opt.Device = "cpu",
    threads: Annotated[int, typer.Option(help="Threads of a trial; 0 for all.")] = 0,
    jobs: opt.Jobs = 0,
    seconds: Annotated[float, typer.Option(help="Sampling time where slowness is sought.")] = 5.0,
    gigabytes: Annotated[float, typer.Option(help="Memory limit for one trial.")] = 8.0,
    timeout: opt.Timeout = 600.0,
    limit: Annotated[int | None, typer.Option(help="At most this many records.")] = None,
) -> None:
    """Find the smallest subgraph that still crashes, mismatches or is slower, and store it.

    Every trial runs in a process of its own. The witness is a graph (.json), with a script that
    shows the problem where one can be written. With --records every graph of a run
    that shows a problem is bisected, and equal witnesses are counted together. Records of a
    compiler of your own, or with options that a file may not set, need COMPILER named again. Exits
    with 0 if there is a witness, with 1 if the problem does not show, with 2 on an error.
    """
    from graph_net.api.bisect import bisect_settings

    settings = bisect_settings(problem, t, device, threads, jobs, seconds, gigabytes, timeout)
    if records is not None:
        _bisect_run(records, graph, compiler, settings, output, limit)
    elif graph is None or compiler is None:
        raise ValueError("name GRAPH and COMPILER, or --records of a run")
    else:
        _bisect_graph(graph, compiler, settings, output)


def _bisect_graph(graph: str, compiler: str, settings: BisectSettings, output: Path) -> None:
    from graph_net.api.bisect import bisect_one
    from graph_net.bisect import BisectError, write_witness

    try:
        witness = bisect_one(graph, compiler, settings, DISPLAY)
    except BisectError as error:
        DISPLAY.tell(str(error))
        raise typer.Exit(NOT_SHOWN) from error
    _print_witness(witness, write_witness(witness, output, settings.level))


def _print_witness(witness: Witness, files: WitnessFiles) -> None:
    for node in witness.graph.nodes:
        reads = ", ".join(ref.name for ref in node.refs)
        out.print(f"{node.name} = {node.target}({reads})", highlight=False)
    problem = f"{witness.shown.problem} {witness.shown.detail}".strip()
    count = f"{len(witness.graph.nodes)} of {witness.calls} calls, {witness.trials} trials"
    DISPLAY.tell(f"{problem}: {count}; {files.graph}")
    if files.script is None:
        DISPLAY.tell(f"no script: {files.reason}")
    else:
        DISPLAY.tell(f"{files.script}: run it with `python {files.script.name}`")
    if witness.held:
        name, reason = witness.held[0]
        more = f" ({len(witness.held)} such calls)" if len(witness.held) > 1 else ""
        DISPLAY.tell(f"{name} stays because the rest cannot be cut out without it: {reason}{more}")
    if not witness.imitated:
        DISPLAY.tell(
            "inputs that the whole graph computes are noise here: its values are not available"
        )


def _bisect_run(
    records: Path,
    graphs: str | None,
    compiler: str | None,
    settings: BisectSettings,
    output: Path,
    limit: int | None,
) -> None:
    from graph_net.api.bisect import bisect_records, troubled_records
    from graph_net.bisect import cluster_witnesses, write_witness

    todo = troubled_records(records, compiler, settings, limit)
    if not todo:
        problem, kind = settings.problem or "a problem", settings.device.kind
        DISPLAY.tell(f"no record in {records} shows {problem} on {kind}")
        raise typer.Exit(NOT_SHOWN)
    files: dict[str, WitnessFiles] = {}
    witnesses = []
    for witness in bisect_records(todo, graphs, compiler, settings, DISPLAY):
        witnesses.append(witness)
        files[witness.graph.id] = write_witness(witness, output, settings.level)
    out.print(_table(cluster_witnesses(witnesses), files))
    DISPLAY.tell(f"{len(witnesses)} of {len(todo)} have a witness; they are in {output}")
    if not witnesses:
        raise typer.Exit(NOT_SHOWN)


def _table(clusters: list[WitnessCluster], files: dict[str, WitnessFiles]) -> Table:
    columns = ("compiler", "problem", "calls", "graphs", "operators", "witness")
    table = new_table(*columns, title="witnesses")
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
