"""``graph-net bench``: measure compilers on graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graph_net.cli import options as opt
from graph_net.cli.common import err

COMPILERS_HELP = (
    "Comma-separated; options in brackets: inductor[mode=max-autotune],tvm. "
    "A compiler of your own is path/to/file.py:Name. `graph-net compilers` lists all."
)


def bench_graphs(
    graphs: opt.Graphs = None,
    compilers: Annotated[str, typer.Option(help=COMPILERS_HELP)] = "inductor",
    device: opt.Device = "cpu",
    records: Annotated[
        Path,
        typer.Option("--records", "-o", help="Where records go; the same directory resumes."),
    ] = Path("build/records"),
    where: opt.Where = None,
    mini: opt.Mini = False,
    limit: opt.Limit = None,
    budget: Annotated[
        str | None,
        typer.Option(help="End the run after this long (90s, 10m, 2h) and stop what is compiling."),
    ] = None,
    jobs: opt.Jobs = 0,
    threads: opt.Threads = 0,
    seconds: opt.Seconds = 5.0,
    gigabytes: Annotated[float, typer.Option(help="Memory limit for one measurement.")] = 8.0,
    timeout: opt.Timeout = 600.0,
    resume: Annotated[bool, typer.Option(help="Skip what the records have already.")] = True,
    retry: Annotated[
        bool, typer.Option(help="Measure failures again, for example under other limits.")
    ] = False,
    forms: Annotated[
        bool,
        typer.Option(help="Store graphs converted to ONNX beside the records for later."),
    ] = True,
    ray: opt.Ray = None,
    plan: Annotated[
        Path | None,
        typer.Option(help="Write a bundle to run on another machine (python BUNDLE) instead."),
    ] = None,
) -> None:
    """Measure compilers on graphs: correctness, speedup over eager, compile time, memory.

    Each graph and compiler is built and measured in a process of its own; builds run in parallel,
    measurements alone. Stopped or killed, the same command resumes.
    """
    from graph_net.api.bench import bench, plan_bench
    from graph_net.api.options import MeasureOptions

    if plan is not None:
        options = MeasureOptions(
            device, where, mini, limit, seconds=seconds, gigabytes=gigabytes, timeout=timeout
        )
        count, several = plan_bench(plan, graphs, compilers, options)
        err.print(f"{plan}: {count} graphs × {several} compilers; run `python {plan.name}`")
        return
    bench(
        graphs, compilers, store=records, device=device, where=where, mini=mini, limit=limit,
        budget=budget, jobs=jobs, threads=threads, seconds=seconds, gigabytes=gigabytes,
        timeout=timeout, resume=resume, retry=retry, forms=forms, cluster=ray,
    )  # fmt: skip
    err.print(f"records in {records}; `graph-net query` answers SQL over them")
