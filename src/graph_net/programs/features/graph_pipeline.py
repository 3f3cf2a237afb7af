"""Compute and store the missing features of a pack's graphs."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from graph_net.corpus.pack import Pack
from graph_net.graph import GraphLimits as GraphLimits
from graph_net.graph import from_bytes
from graph_net.isolate import Batch, WorkPool
from graph_net.programs.features.failures import Lost, found_or_lost
from graph_net.programs.features.feature_kinds import GRAPH
from graph_net.programs.features.feature_store import FeatureStore, hashes
from graph_net.programs.features.graph_features import graph_features
from graph_net.programs.features.part_writer import FeaturePartWriter

BATCH = 32


def missing_graphs(pack: Pack, store: FeatureStore, retry: bool = False) -> dict[str, str]:
    """Return the names of graphs without features, by graph id."""
    rows = pack.rows(["id", "name"])
    known = store.known(GRAPH, retry).has(hashes(GRAPH, [rows["id"]]))
    fresh = rows.filter(pa.array(~known))
    return dict(zip(fresh["id"].to_pylist(), fresh["name"].to_pylist(), strict=True))


def make_graphs(
    pack: Pack, missing: dict[str, str], store: FeatureStore, pool: WorkPool
) -> Iterator[Lost | None]:
    """Compute and store features; yield None per graph, or the reason for failing."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # a thread pool does not survive a fork
    # Read everything first, a few bytes per node: while a pack is being read, read-ahead threads
    # exist, and a process forked then may inherit a lock that is never released.
    blobs = dict(pack.blobs(list(missing.values())))
    items = sorted((graph, blobs[name]) for graph, name in missing.items())
    prepare = partial(_prepared, pack.limits)
    batches = (
        Batch(prepare, tuple(items[start : start + BATCH])) for start in range(0, len(items), BATCH)
    )
    try:
        with FeaturePartWriter(store, GRAPH) as parts:
            for done in pool.batches(batches):
                found = found_or_lost(done, _arrays)
                parts.add(((done.item[0],), found))
                yield found if isinstance(found, Lost) else None
    finally:
        torch.set_num_threads(threads)


def _arrays(answer: bytes) -> list[NDArray[Any]]:
    arrays = np.load(io.BytesIO(answer), allow_pickle=False)
    return [arrays[column.name] for column in GRAPH.columns]


def _prepared(limits: GraphLimits) -> Callable[[tuple[str, bytes]], bytes]:
    """Return a function that computes the features of a graph, given its id and bytes."""

    def work(item: tuple[str, bytes]) -> bytes:
        found = graph_features(from_bytes(item[1], limits))
        written = io.BytesIO()
        np.savez(written, summary=found.summary, nodes=found.nodes, edges=found.edges)
        return written.getvalue()

    return work
