"""``graph-net repro``: a standalone script that shows a problem of a graph."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graph_net.cli import options as opt
from graph_net.cli.common import err, out
from graph_net.display.terminal import lines

NOT_SHOWN = 1


def repro_graph(
    graph: Annotated[str, typer.Argument(help=opt.GRAPH_HELP)],
    compiler: Annotated[
        str,
        typer.Argument(
            help="eager, inductor, onnxruntime or openvino; inductor[mode=max-autotune]. One of "
            "your own, path/to/file.py:Name, becomes part of the script."
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The script; named after graph and compiler if not."),
    ] = None,
    device: opt.Device = "cpu",
    t: Annotated[
        float, typer.Option("--t", help="Outputs may differ up to this tolerance level.")
    ] = -3.0,
    seconds: Annotated[float, typer.Option(help="About how long timing takes.")] = 5.0,
    timeout: Annotated[float, typer.Option(help="Time limit for trying the script.")] = 600.0,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show what the script printed.")
    ] = False,
) -> None:
    """Write a script that needs only torch and the compiler and shows what is wrong with a graph.

    It holds the graph as Python, makes the inputs that were measured, compares eager with the
    compiler, and times them in turns. It is run in a clean process before it is handed out. Exits
    with 0 if it shows a problem, with 1 if it does not, with 2 if none can be written.
    """
    from graph_net.api.repro import repro

    script = repro(graph, compiler, output, device=device, t=t, seconds=seconds, timeout=timeout)
    if verbose:
        err.print(lines(script.shown.printed), end="")
    out.print(f"{script.shown.outcome}: {script.shown.sentence}", highlight=False, soft_wrap=True)
    err.print(f"{script.path}: run it with `python {script.path.name}`", highlight=False)
    if not script.reproduced:
        raise typer.Exit(NOT_SHOWN)
