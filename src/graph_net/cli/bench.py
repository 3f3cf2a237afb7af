"""``graph-net bench``: compilers measured on graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graph_net.cli.common import err
from graph_net.cli.list import WHERE_HELP

COMPILERS_HELP = (
    "Comma-separated; options in brackets: inductor[mode=max-autotune],tvm. "
    "A compiler of your own is path/to/file.py:Name. `graph-net compilers` lists all."
)


def bench_graphs(
    graphs: Annotated[
        str | None,
        typer.Argument(help="A pack or samples; the shipped corpus if none is named."),
    ] = None,
    compilers: Annotated[str, typer.Option(help=COMPILERS_HELP)] = "inductor",
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    records: Annotated[
        Path, typer.Option("--records", "-o", help="Where records go; the same place resumes.")
    ] = Path("build/records"),
    where: Annotated[str | None, typer.Option(help=WHERE_HELP)] = None,
    mini: Annotated[
        bool, typer.Option(help="The mini selection: few, quick, of every kind.")
    ] = False,
    limit: Annotated[int | None, typer.Option(help="At most so many graphs.")] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            help="The run ends after this long: 90s, 10m, 2h. What compiles then is stopped."
        ),
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Builders; 0 for one a core.")] = 0,
    threads: Annotated[int, typer.Option(help="Threads of a measured graph; 0 for all.")] = 0,
    seconds: Annotated[float, typer.Option(help="Sampling time for one graph.")] = 5.0,
    gigabytes: Annotated[float, typer.Option(help="Memory limit for one measurement.")] = 8.0,
    timeout: Annotated[float, typer.Option(help="Time limit for one compilation.")] = 600.0,
    resume: Annotated[bool, typer.Option(help="Pass over what the records have already.")] = True,
    retry: Annotated[
        bool, typer.Option(help="Measure again what failed, under limits that may be other ones.")
    ] = False,
    forms: Annotated[
        bool, typer.Option(help="Keep graphs converted to ONNX beside the records for next time.")
    ] = True,
    plan: Annotated[
        Path | None,
        typer.Option(help="Write a bundle to run on another machine (python BUNDLE) instead."),
    ] = None,
) -> None:
    """Measure compilers on graphs: correctness, speedup over eager, compile time, memory.

    Each graph and compiler is built and measured in a process of its own; building goes on
    beside others, measuring alone. Stopped or killed, the same command goes on where it was.
    """
    from graph_net.api.bench import bench, plan_bench

    if plan is not None:
        count, several = plan_bench(
            plan, graphs, compilers, device=device, where=where, mini=mini, limit=limit,
            seconds=seconds, gigabytes=gigabytes, timeout=timeout,
        )  # fmt: skip
        err.print(f"{plan}: {count} graphs × {several} compilers; run `python {plan.name}`")
        return
    bench(
        graphs, compilers, store=records, device=device, where=where, mini=mini, limit=limit,
        budget=budget, jobs=jobs, threads=threads, seconds=seconds, gigabytes=gigabytes,
        timeout=timeout, resume=resume, retry=retry, forms=forms,
    )  # fmt: skip
    err.print(f"records in {records}; `graph-net query` asks them anything")
