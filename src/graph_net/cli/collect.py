"""``graph-net collect``: model zoos into a pack of graphs."""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from graph_net.cli.common import err, out
from graph_net.display.progress import progress

if TYPE_CHECKING:
    from graph_net.capture.worker import Result


def collect_zoos(
    output: Annotated[Path, typer.Option("--output", "-o", help="The pack to write or add to.")],
    zoos: Annotated[
        str, typer.Option(help="Names of zoos, comma-separated; every installed one by default.")
    ] = "",
    work: Annotated[
        Path, typer.Option(help="Where results wait; the same place again resumes.")
    ] = Path("build/collect"),
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Processes; 0 for one a core.")] = 0,
    limit: Annotated[int | None, typer.Option(help="At most so many models of each zoo.")] = None,
    seconds: Annotated[int, typer.Option(help="Time limit for one model.")] = 180,
    gigabytes: Annotated[float, typer.Option(help="Memory limit for one model.")] = 10.0,
    mode: Annotated[
        str, typer.Option(help="inference, training, or its forward or backward part.")
    ] = "inference",
    dtype: Annotated[
        str, typer.Option(help="Cast models first: bfloat16, float16; as they are by default.")
    ] = "",
    retry: Annotated[bool, typer.Option(help="Try models again that failed before.")] = False,
    pack: Annotated[bool, typer.Option(help="Write the pack at the end.")] = True,
    by_size: Annotated[
        bool, typer.Option(help="Pack graphs too that differ from others in their sizes alone.")
    ] = False,
) -> None:
    """Capture every model of the zoos, each in a process of its own, and pack the graphs.

    Resumes: models that the pack has, and those with a result in --work, are passed over (--retry
    takes the failed ones again). Models come in an order that is shuffled once, so that a part of
    a run is a fair sample.
    """
    # These load torch: seconds, which no other verb and no completion should wait for.
    from graph_net.capture.collect import collect
    from graph_net.capture.training import MODES
    from graph_net.capture.worker import Spool
    from graph_net.capture.zoo import available, load
    from graph_net.capture.zoo.variant import Variant
    from graph_net.corpus.pack import Pack, is_pack
    from graph_net.corpus.pack_collected import gather, name_of
    from graph_net.isolate import Limits

    if mode not in MODES:
        raise ValueError(f"unknown mode {mode!r}; known: {', '.join(MODES)}")
    names = [name for name in zoos.split(",") if name] or [n for n, ok in available().items() if ok]
    spool = Spool(work)
    limits = Limits.of(seconds, gigabytes)
    packed = set(Pack(output).names()) if is_pack(output) else set()
    for name in names:
        zoo = Variant(load(name), mode, dtype) if mode != "inference" or dtype else load(name)
        entries = sorted(
            (entry for entry in zoo.entries() if name_of(entry) not in packed),
            key=lambda entry: entry.name,
        )
        random.Random(0).shuffle(entries)  # noqa: S311 - an order, not a secret
        results = {entry: spool.result(entry) for entry in entries[:limit]}
        wanted = [e for e, r in results.items() if r is None or (retry and not r.ok)]
        found = [r for e, r in results.items() if r is not None and e not in set(wanted)]
        with progress(name, len(wanted)) as advance:
            for result in collect(zoo, wanted, spool, jobs or os.cpu_count() or 1, limits):
                found.append(result)
                advance()
        _report(name, found)
    if pack:
        added = gather(spool, output, by_size)
        err.print(f"{added} distinct graphs added to {output}")


def _report(name: str, results: list[Result]) -> None:
    failed = [result for result in results if not result.ok]
    err.print(f"{name}: {len(results) - len(failed)} captured, {len(failed)} failed")
    for result in results:
        if result.ok and len(result.lengths) > 1:
            share = "unknown" if result.coverage is None else f"{result.coverage:.0%}"
            pieces = f"{result.entry.name}: {len(result.lengths)} pieces"
            err.print(f"{pieces} with {share} of its FLOPs")
    if not failed:
        return
    table = Table(title=f"{name}: failed", title_justify="left")
    table.add_column("why", overflow="fold")
    table.add_column("models", justify="right")
    table.add_column("for example", overflow="fold")
    clusters = Counter(result.signature for result in failed)
    for signature, count in clusters.most_common(20):
        example = next(r.entry.name for r in failed if r.signature == signature)
        table.add_row(signature, str(count), example)
    out.print(table)
