"""``graph-net reference``: store a golden run to compare other machines with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graph_net.cli import options as opt
from graph_net.cli.common import err

COMPILER_HELP = (
    "One compiler, options in brackets: inductor[mode=max-autotune]. A compiler of your own is "
    "path/to/file.py:Name."
)


def reference_graphs(
    graphs: opt.Graphs = None,
    compiler: Annotated[str, typer.Option(help=COMPILER_HELP)] = "inductor",
    device: opt.Device = "cpu",
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="Where the golden run goes; it resumes there."),
    ] = Path("build/golden"),
    where: opt.Where = None,
    mini: opt.Mini = False,
    limit: opt.Limit = None,
    budget: Annotated[
        str | None, typer.Option(help="The run ends after this long: 90s, 10m, 2h.")
    ] = None,
    jobs: opt.Jobs = 0,
    threads: opt.Threads = 0,
    seconds: opt.Seconds = 5.0,
    seed: Annotated[int, typer.Option(help="Seed of the tensors and of random calls.")] = 0,
    gigabytes: opt.Gigabytes = 8.0,
    timeout: opt.Timeout = 600.0,
    again: Annotated[bool, typer.Option("--again", help="Replace what is there.")] = False,
) -> None:
    """Store a golden run: outputs, their hashes, every raw sample, the environment.

    `graph-net verify` compares another device, driver or version with it. Each graph has files of
    its own. Stopped or killed, the same command resumes.
    """
    from graph_net.api.golden import make_reference
    from graph_net.api.options import MeasureOptions

    options = MeasureOptions(
        device, where, mini, limit, budget, jobs, threads, seconds, gigabytes, timeout
    )
    make_reference(output, graphs, compiler, options, seed=seed, again=again)
    err.print(f"golden run in {output}; `graph-net verify {output}` compares a machine with it",
              highlight=False, soft_wrap=True)  # fmt: skip
