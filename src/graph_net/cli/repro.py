"""``graph-net repro``: one standalone script that shows what is wrong."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated

import typer

from graph_net.api.graphs import open_graph
from graph_net.cli.common import GRAPH_HELP, err, out
from graph_net.cli.export import safe_path
from graph_net.display.terminal import lines

NOT_SHOWN = 1


def repro_graph(
    graph: Annotated[str, typer.Argument(help=GRAPH_HELP)],
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
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    t: Annotated[
        float, typer.Option("--t", help="Outputs may differ up to this tolerance level.")
    ] = -3.0,
    seconds: Annotated[float, typer.Option(help="Timing takes about so long.")] = 5.0,
    timeout: Annotated[float, typer.Option(help="Trying the script may take so long.")] = 600.0,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show what the script printed.")
    ] = False,
) -> None:
    """Write a script that needs only torch and the compiler and shows what is wrong with a graph.

    It holds the graph as Python, makes the inputs that were measured, compares eager with the
    compiler, and times them in turns. It is run in a clean process before it is handed out. Exits
    with 0 if it shows a problem, with 1 if it does not, with 2 if none can be written.
    """
    from graph_net.compilers import usable
    from graph_net.files import read_text
    from graph_net.measure.device import require_device
    from graph_net.measure.plan import parse_compilers
    from graph_net.record import short_name
    from graph_net.repro import Outcome, ReproError, try_script, write_script

    require_device(device)
    configs = parse_compilers(compiler)
    if len(configs) != 1:
        raise ReproError(f"{compiler!r} names {len(configs)} compilers; a script is for one")
    (config,) = configs
    name, found = open_graph(graph)
    own = Path(config.name.partition(":")[0])
    source = read_text(own) if own.suffix == ".py" else None  # named on this command line
    text = write_script(name, found, config, device, t, seconds, source=source)
    usable(config.name, config.options)
    words = (*safe_path(name).parts, re.sub(r"\W+", "_", short_name(config.name)))
    place = output or Path(f"repro_{'_'.join(words)}.py")
    with err.status("running the script in a clean process"):
        shown = try_script(text, timeout, package=source is not None)
    aside = place.with_name(f".{place.name}.{os.getpid()}")
    aside.write_text(text, "utf-8")
    aside.replace(place)
    if verbose:
        err.print(lines(shown.printed), end="")
    out.print(f"{shown.outcome}: {shown.sentence}", highlight=False, soft_wrap=True)
    err.print(f"{place}: run it with `python {place.name}`", highlight=False)
    if shown.outcome is not Outcome.SHOWN:
        raise typer.Exit(NOT_SHOWN)
