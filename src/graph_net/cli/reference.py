"""``graph-net reference``: a golden run, for other machines to be held against."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graph_net.cli.common import err
from graph_net.cli.list import WHERE_HELP

COMPILER_HELP = (
    "One compiler, options in brackets: inductor[mode=max-autotune]. A compiler of your own is "
    "path/to/file.py:Name."
)


def reference_graphs(
    graphs: Annotated[
        str | None, typer.Argument(help="A pack or samples; the shipped corpus if none is named.")
    ] = None,
    compiler: Annotated[str, typer.Option(help=COMPILER_HELP)] = "inductor",
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where the golden run goes; it resumes there.")
    ] = Path("build/golden"),
    where: Annotated[str | None, typer.Option(help=WHERE_HELP)] = None,
    mini: Annotated[
        bool, typer.Option(help="The mini selection: few, quick, of every kind.")
    ] = False,
    limit: Annotated[int | None, typer.Option(help="At most so many graphs.")] = None,
    budget: Annotated[
        str | None, typer.Option(help="The run ends after this long: 90s, 10m, 2h.")
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Builders; 0 for one a core.")] = 0,
    threads: Annotated[int, typer.Option(help="Threads of a measured graph; 0 for all.")] = 0,
    seconds: Annotated[float, typer.Option(help="Sampling time for one graph.")] = 5.0,
    seed: Annotated[int, typer.Option(help="Of the tensors, and of random calls.")] = 0,
    gigabytes: Annotated[float, typer.Option(help="Memory limit for one graph.")] = 8.0,
    timeout: Annotated[float, typer.Option(help="Time limit for one compilation.")] = 600.0,
    again: Annotated[bool, typer.Option("--again", help="Replace what is there.")] = False,
) -> None:
    """Store a golden run: outputs, their hashes, every raw sample, the environment.

    `graph-net verify` holds another device, driver or version against it. Each graph is a set of
    files of its own. Stopped or killed, the same command goes on where it was.
    """
    from graph_net.api.golden import make_reference

    make_reference(
        output, graphs, compiler, device=device, where=where, mini=mini, limit=limit,
        budget=budget, jobs=jobs, threads=threads, seconds=seconds, seed=seed,
        gigabytes=gigabytes, timeout=timeout, again=again,
    )  # fmt: skip
    err.print(f"golden run in {output}; `graph-net verify {output}` holds a machine against it",
              highlight=False, soft_wrap=True)  # fmt: skip
