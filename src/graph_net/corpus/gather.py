"""Collected graphs into a pack, each distinct one once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from graph_net.capture.worker import Result, Spool
from graph_net.capture.zoo.zoo import Entry
from graph_net.corpus.pack import Pack, PackWriter, is_pack


def results(spool: Spool) -> Iterator[Result]:
    """Every result in a spool, by name."""
    for path in sorted(spool.path.glob("*.json")):
        tree = json.loads(path.read_text("utf-8"))["entry"]
        result = spool.result(Entry(**{**tree, "tags": tuple(tree["tags"])}))
        if result is not None:
            yield result


def gather(spool: Spool, output: Path) -> int:
    """Add every distinct whole graph of a spool that a pack does not have; how many were added.

    Parts that exist stay as they are.
    """
    added = 0
    with PackWriter(output) as writer:
        seen = set(Pack(output).rows(["id"])["id"].to_pylist()) if is_pack(output) else set()
        for result in results(spool):
            name = name_of(result.entry)
            if not result.ok or len(result.lengths) != 1 or name in writer.names:
                continue
            (graph,) = spool.graphs(result)
            if graph.id not in seen:
                seen.add(graph.id)
                writer.add(name, graph)
                added += 1
    return added


def name_of(entry: Entry) -> str:
    """What a model's graph is called in a pack."""
    return f"{entry.library}/{entry.name}"
