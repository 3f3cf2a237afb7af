"""Arguments and options that mean the same in every verb."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graph_net.corpus.columns import COLUMNS

GRAPH_HELP = (
    "A sample directory, a pack with the name (or id) of a graph (PACK:NAME), a name in the "
    "shipped corpus, or a graph's file (.json, .bin)."
)
SOURCES_HELP = "Records, GraphNet logs, JSON results, or directories of them."
_WHERE = (
    "A condition in SQL: \"category = 'nlp' AND nodes < 500\". Columns: " + ", ".join(COLUMNS) + "."
)
_INTERPRETATION = "From which t on failures are tolerated: default, paper or mismatch_extended."
_RAY = (
    "Work on a Ray cluster: HOST:PORT, or auto for the one this machine is in; alone: start one "
    "here. Same records, same resume."
)

Graph = Annotated[str, typer.Argument(metavar="PACK_OR_DIR[:NAME]", help=GRAPH_HELP)]
Graphs = Annotated[
    str | None, typer.Argument(help="A pack or samples; the shipped corpus if none is named.")
]
Pack = Annotated[Path | None, typer.Argument(help="A pack; the shipped corpus if none is named.")]
Sources = Annotated[list[Path], typer.Argument(metavar="SOURCE…", help=SOURCES_HELP)]

Base = Annotated[float, typer.Option("--b", help="The speedup that stands for a failure.")]
Device = Annotated[str, typer.Option(help="cpu or cuda.")]
Gigabytes = Annotated[float, typer.Option(help="Memory limit for one graph.")]
Interpretation = Annotated[str, typer.Option(help=_INTERPRETATION)]
Jobs = Annotated[int, typer.Option("--jobs", "-j", help="Processes; 0 for one per core.")]
Json = Annotated[bool, typer.Option("--json", help="Print everything as JSON.")]
Limit = Annotated[int | None, typer.Option(help="At most this many graphs.")]
Mini = Annotated[bool, typer.Option(help="The mini selection: few, quick, of every kind.")]
OutputPack = Annotated[Path, typer.Option("--output", "-o", help="The pack to write or add to.")]
Penalty = Annotated[float, typer.Option("--p", help="Penalty for slowdowns.")]
Records = Annotated[Path, typer.Option("--records", "-r", help="Where the records are.")]
Ray = Annotated[str | None, typer.Option("--ray", metavar="[ADDRESS]", help=_RAY)]
Seconds = Annotated[float, typer.Option(help="Sampling time for one graph.")]
Threads = Annotated[int, typer.Option(help="Threads of a measured graph; 0 for all.")]
Timeout = Annotated[float, typer.Option(help="Time limit for one compilation.")]
Where = Annotated[str | None, typer.Option(help=_WHERE)]
Work = Annotated[Path, typer.Option(help="Where results wait; the same directory resumes.")]
