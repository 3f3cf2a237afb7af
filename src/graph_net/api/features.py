"""Compute features of programs and graphs, stored as Parquet for learning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from graph_net.display.display import Display, display_of

if TYPE_CHECKING:
    from graph_net.cluster.connection import Cluster
    from graph_net.isolate import WorkPool
    from graph_net.programs.features.feature_store import FeatureStore

THROUGH_TVM = ("per_store", "machine_code")
KINDS = ("primitives", *THROUGH_TVM, "graph")


@dataclass(frozen=True)
class FeatureCounts:
    """How many programs or graphs have features of a kind, and why the others have none."""

    kind: str
    version: int
    computed: int
    failed: Counter[str]
    files: int
    bytes: int


def make_features(
    records: Path,
    output: Path,
    kinds: Collection[str] = ("primitives",),
    *,
    graphs: Path | None = None,
    jobs: int = 1,
    seconds: int = 20,
    retry: bool = False,
    cluster: Cluster | str | None = None,
    progress: Display | bool = True,
) -> Iterator[FeatureCounts]:
    """Compute features that ``output`` does not hold yet; yield each kind when it is done.

    ``primitives`` come from the schedules alone, ``per_store`` replays them with TVM,
    ``machine_code`` compiles them for the CPU of their target, ``graph`` takes the graphs of the
    pack ``graphs``. With a ``cluster`` its nodes compute all but the first, which is a pass over
    files that are here.
    """
    from graph_net.cluster.connection import pools
    from graph_net.isolate import Limits, Sandbox
    from graph_net.programs.features.feature_store import FeatureStore
    from graph_net.programs.features.tvm_features import warm_up
    from graph_net.programs.formats import ReadError
    from graph_net.store.records import RecordStore

    if not kinds or not set(kinds) <= set(KINDS):
        raise ReadError(f"unknown kind in {','.join(kinds)!r}; available: {', '.join(KINDS)}")
    if "graph" in kinds and graphs is None:
        raise ReadError("the kind graph needs --graphs PACK")
    if set(kinds) != {"graph"} and not any(records.glob("programs-*.parquet")):
        raise ReadError(f"{records} holds no programs")

    def make() -> Iterator[FeatureCounts]:
        display, store = display_of(progress), FeatureStore(output)
        several = 0 if jobs == 1 and cluster is not None else jobs
        with pools(cluster, several) as (make_pool, most), RecordStore(output).locked():
            limits = Limits.of(seconds, 16.0)
            if "primitives" in kinds:
                yield from _make_primitives(records, store, retry, display)
            for kind in THROUGH_TVM:
                if kind in kinds:
                    pool = make_pool(limits, most, Sandbox(), warm_up)
                    yield _make_through_tvm(kind, records, store, pool, retry, display)
            if "graph" in kinds and graphs is not None:
                pool = make_pool(limits, most)
                yield _make_graphs(graphs, store, pool, retry, display)

    return make()  # mistakes are raised at once, not when it is iterated


def _make_primitives(
    records: Path, store: FeatureStore, retry: bool, display: Display
) -> Iterator[FeatureCounts]:
    from graph_net.programs.features.feature_kinds import ANSOR_CPU, ANSOR_GPU, METASCHEDULE
    from graph_net.programs.features.pipeline import ROWS, Making

    making = Making(records, store, retry)
    total = making.count("format IN ('ansor', 'metaschedule')")
    _exhaust(display, f"primitives, × {ROWS:,} programs", -(-total // ROWS), making.primitives())
    for kind in (METASCHEDULE, ANSOR_CPU, ANSOR_GPU):
        if store.parts(kind):
            yield _count(store, kind.name)
    if others := making.count("format NOT IN ('ansor', 'metaschedule') OR schedule IS NULL"):
        display.tell(f"{others:,} programs have no primitives: another format, or no schedule kept")


def _make_through_tvm(
    name: str, records: Path, store: FeatureStore, pool: WorkPool, retry: bool, display: Display
) -> FeatureCounts:
    from graph_net.programs.features.feature_kinds import KINDS
    from graph_net.programs.features.pipeline import Making

    making, kind = Making(records, store, retry), KINDS[name]
    missing = making.missing(kind)
    total = sum(len(programs) for programs in missing.values())
    _exhaust(display, f"{name}, programs", total, making.through_tvm(kind, missing, pool))
    return _count(store, name)


def _make_graphs(
    graphs: Path, store: FeatureStore, pool: WorkPool, retry: bool, display: Display
) -> FeatureCounts:
    from graph_net.corpus.pack import Pack
    from graph_net.programs.features.graph_pipeline import make_graphs, missing_graphs

    pack = Pack(graphs)
    missing = missing_graphs(pack, store, retry)
    _exhaust(display, "graphs", len(missing), make_graphs(pack, missing, store, pool))
    return _count(store, "graph")


def _exhaust(display: Display, title: str, total: int, items: Iterator[object]) -> None:
    with display.progress(title, total) as advance:
        for _ in items:
            advance()


def _count(store: FeatureStore, name: str) -> FeatureCounts:
    from graph_net.programs.features.feature_kinds import KINDS

    kind = KINDS[name]
    parts = store.parts(kind)
    size = sum(part.stat().st_size for part in parts)
    return FeatureCounts(name, kind.version, store.count(kind), store.lost(kind), len(parts), size)
