"""``graph-net bisect``: the smallest subgraph that still shows a problem."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from graph_net.cli.common import out
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
    from graph_net.api.bisect import bisect_settings

    settings = bisect_settings(problem, t, device, threads, jobs, seconds, gigabytes, timeout)
    if records is not None:
        _over_a_run(records, graph, compiler, settings, output, limit)
    elif graph is None or compiler is None:
        raise ValueError("say which GRAPH and which COMPILER, or --records of a run")
    else:
        _one(graph, compiler, settings, output)


def _one(place: str, compiler: str, settings: BisectSettings, output: Path) -> None:
    from graph_net.api.bisect import bisect_one
    from graph_net.bisect import BisectError, write_witness

    try:
        witness = bisect_one(place, compiler, settings, DISPLAY)
    except BisectError as error:
        DISPLAY.tell(str(error))
        raise typer.Exit(NOT_SHOWN) from error
    _report(witness, write_witness(witness, output, settings.level))


def _report(witness: Witness, place: WitnessFiles) -> None:
    for node in witness.graph.nodes:
        reads = ", ".join(ref.name for ref in node.refs)
        out.print(f"{node.name} = {node.target}({reads})", highlight=False)
    what = f"{witness.shown.problem} {witness.shown.detail}".strip()
    count = f"{len(witness.graph.nodes)} of {witness.calls} calls, {witness.trials} trials"
    DISPLAY.tell(f"{what}: {count}; {place.graph}")
    if place.script is None:
        DISPLAY.tell(f"no script: {place.reason}")
    else:
        DISPLAY.tell(f"{place.script}: run it with `python {place.script.name}`")
    if witness.held:
        name, reason = witness.held[0]
        more = f" ({len(witness.held)} such calls)" if len(witness.held) > 1 else ""
        DISPLAY.tell(f"{name} stays because the rest cannot be cut out without it: {reason}{more}")
    if not witness.imitated:
        DISPLAY.tell(
            "inputs that the whole graph computes are noise here: its values were not to be had"
        )


def _over_a_run(
    records: Path,
    place: str | None,
    compiler: str | None,
    settings: BisectSettings,
    output: Path,
    limit: int | None,
) -> None:
    from graph_net.api.bisect import bisect_records, troubled_records
    from graph_net.bisect import cluster_witnesses, write_witness

    todo = troubled_records(records, compiler, settings, limit)
    if not todo:
        shows, kind = settings.problem or "a problem", settings.device.kind
        DISPLAY.tell(f"no record in {records} shows {shows} on {kind}")
        raise typer.Exit(NOT_SHOWN)
    files: dict[str, WitnessFiles] = {}
    witnesses = []
    for witness in bisect_records(todo, place, compiler, settings, DISPLAY):
        witnesses.append(witness)
        files[witness.graph.id] = write_witness(witness, output, settings.level)
    out.print(_table(cluster_witnesses(witnesses), files))
    DISPLAY.tell(f"{len(witnesses)} of {len(todo)} have a witness; they are in {output}")
    if not witnesses:
        raise typer.Exit(NOT_SHOWN)


def _table(clusters: list[WitnessCluster], files: dict[str, WitnessFiles]) -> Table:
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
