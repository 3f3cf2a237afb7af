"""``graph-net collect``: model zoos into a pack of graphs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graph_net.cli import options as opt
from graph_net.cli.common import err, new_table, out

if TYPE_CHECKING:
    from graph_net.api.collect import CollectedZoo


def collect_zoos(
    output: opt.OutputPack,
    zoos: Annotated[
        str, typer.Option(help="Names of zoos, comma-separated; every installed one by default.")
    ] = "",
    work: opt.Work = Path("build/collect"),
    jobs: opt.Jobs = 0,
    limit: Annotated[int | None, typer.Option(help="At most this many models per zoo.")] = None,
    seconds: Annotated[int, typer.Option(help="Time limit for one model.")] = 180,
    gigabytes: Annotated[float, typer.Option(help="Memory limit for one model.")] = 10.0,
    mode: Annotated[
        str, typer.Option(help="inference, training, or its forward or backward part.")
    ] = "inference",
    dtype: Annotated[
        str, typer.Option(help="Cast models first: bfloat16, float16; not cast by default.")
    ] = "",
    retry: Annotated[bool, typer.Option(help="Try models again that failed before.")] = False,
    ray: opt.Ray = None,
    pack: Annotated[bool, typer.Option(help="Write the pack at the end.")] = True,
    by_size: Annotated[
        bool, typer.Option(help="Also pack graphs that differ from others in their sizes alone.")
    ] = False,
) -> None:
    """Capture every model of the zoos, each in a process of its own, and pack the graphs.

    Resumes: models that the pack has, and those with a result in --work, are not captured again
    (--retry captures the failed ones again). Models come in an order that is shuffled once, so
    that a part of a run is a fair sample.
    """
    from graph_net.api import collect as api

    captured = api.collect_zoos(
        output, zoos, work=work, jobs=jobs, limit=limit, seconds=seconds, gigabytes=gigabytes,
        mode=mode, dtype=dtype, retry=retry, cluster=ray,
    )  # fmt: skip
    for zoo in captured:
        _print_zoo(zoo)
    if pack:
        added = api.pack_collected(work, output, by_size)
        err.print(f"{added} distinct graphs added to {output}")


def _print_zoo(zoo: CollectedZoo) -> None:
    failed = zoo.failed
    err.print(f"{zoo.name}: {len(zoo.results) - len(failed)} captured, {len(failed)} failed")
    for result in zoo.results:
        if result.ok and len(result.lengths) > 1:
            share = "unknown" if result.coverage is None else f"{result.coverage:.0%}"
            pieces = f"{result.entry.name}: {len(result.lengths)} pieces"
            err.print(f"{pieces} with {share} of its FLOPs")
    if not failed:
        return
    columns = ("why", "models", "for example")
    table = new_table(*columns, title=f"{zoo.name}: failed", numbers=["models"])
    signatures = Counter(result.signature for result in failed)
    for signature, count in signatures.most_common(20):
        example = next(result.entry.name for result in failed if result.signature == signature)
        table.add_row(signature, str(count), example)
    out.print(table)
