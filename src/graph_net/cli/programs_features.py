"""``graph-net programs features``: programs and their graphs as numbers, kept for learning."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graph_net.cli.common import err
from graph_net.display.progress import progress
from graph_net.printable import count_phrase, short_bytes

if TYPE_CHECKING:
    from graph_net.isolate import Pool
    from graph_net.programs.features.failures import Lost
    from graph_net.programs.features.feature_store import FeatureStore

CHOICES = ("primitives", "per_store", "graph")
SHOWN = 5


def make_features(
    records: Annotated[
        Path, typer.Argument(metavar="RECORDS", help="A directory of records that has programs.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the features go.")],
    kind: Annotated[
        str, typer.Option(help=f"What to make, with commas between: {', '.join(CHOICES)}.")
    ] = "primitives",
    graphs: Annotated[
        Path | None,
        typer.Option(metavar="PACK", help="The graphs for the kind graph: a pack of subgraphs."),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes at a time.")] = 1,
    seconds: Annotated[int, typer.Option(min=1, help="The most for one program or graph.")] = 20,
    retry: Annotated[
        bool, typer.Option("--retry", help="Try again what could not be computed before.")
    ] = False,
) -> None:
    """Compute features that are not there yet, and keep them as Parquet; a stopped run goes on.

    Primitives come from the schedules alone; per_store replays them with TVM and needs their
    workloads; graph takes the graphs of a pack.
    """
    from graph_net.isolate import Limits, Pool
    from graph_net.programs.features.feature_store import FeatureStore
    from graph_net.store.records import RecordStore

    chosen = [word.strip() for word in kind.split(",") if word.strip()]
    unknown = [word for word in chosen if word not in CHOICES]
    if unknown or not chosen:
        raise typer.BadParameter(f"{kind!r}; known: {', '.join(CHOICES)}", param_hint="--kind")
    if "graph" in chosen and graphs is None:
        raise typer.BadParameter("the kind graph needs --graphs PACK", param_hint="--graphs")
    if set(chosen) != {"graph"} and not any(records.glob("programs-*.parquet")):
        raise typer.BadParameter(f"{records} holds no programs", param_hint="RECORDS")
    store, pool = FeatureStore(output), Pool(Limits.of(seconds, 16.0), jobs)
    with RecordStore(output).locked():
        if "primitives" in chosen:
            _primitives(records, store, retry)
        if "per_store" in chosen:
            _per_store(records, store, pool, retry)
        if "graph" in chosen and graphs is not None:
            _graphs(graphs, store, pool, retry)


def _primitives(records: Path, store: FeatureStore, retry: bool) -> None:
    from graph_net.programs.features.feature_kinds import ANSOR_CPU, ANSOR_GPU, METASCHEDULE
    from graph_net.programs.features.pipeline import ROWS, Making

    making = Making(records, store, retry)
    total = making.count("format IN ('ansor', 'metaschedule')")
    with progress(f"primitives, × {ROWS:,} programs", -(-total // ROWS)) as advance:
        for _ in making.primitives():
            advance()
    for kind in (METASCHEDULE, ANSOR_CPU, ANSOR_GPU):
        if store.parts(kind):
            _tell(store, kind.name)
    if others := making.count("format NOT IN ('ansor', 'metaschedule') OR schedule IS NULL"):
        err.print(f"{others:,} programs have no primitives: another format, or no schedule kept")


def _per_store(records: Path, store: FeatureStore, pool: Pool, retry: bool) -> None:
    from graph_net.programs.features.pipeline import Making

    making = Making(records, store, retry)
    missing = making.missing_stores()
    total = sum(len(programs) for programs in missing.values())
    _each("per_store, programs", total, making.per_store(missing, pool))
    _tell(store, "per_store")


def _graphs(graphs: Path, store: FeatureStore, pool: Pool, retry: bool) -> None:
    from graph_net.corpus.pack import Pack
    from graph_net.programs.features.graph_pipeline import make_graphs, missing_graphs

    pack = Pack(graphs)
    missing = missing_graphs(pack, store, retry)
    _each("graphs", len(missing), make_graphs(pack, missing, store, pool))
    _tell(store, "graph")


def _each(what: str, total: int, found: Iterator[Lost | None]) -> None:
    with progress(what, total) as advance:
        for _ in found:
            advance()


def _tell(store: FeatureStore, name: str) -> None:
    """What is there of a kind, and why some is not."""
    from graph_net.programs.features.feature_kinds import KINDS

    kind = KINDS[name]
    parts = store.parts(kind)
    lost = store.lost(kind)
    size = sum(part.stat().st_size for part in parts)
    err.print(
        f"{name} {kind.version}: {store.count(kind):,} with features, {lost.total():,} without, "
        f"{count_phrase(len(parts), 'file')}, {short_bytes(size)}"
    )
    for reason, number in lost.most_common(SHOWN):
        err.print(f"  {number:,} × {reason}")
