"""Collected graphs into a pack, each distinct one once."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

from graph_net.capture.worker import Result, Spool
from graph_net.capture.zoo.zoo import Entry
from graph_net.corpus.pack import PackWriter


def results(spool: Spool) -> Iterator[Result]:
    """Every result in a spool, by name."""
    for path in sorted(spool.path.glob("*.json")):
        tree = json.loads(path.read_text("utf-8"))["entry"]
        result = spool.result(Entry(**{**tree, "tags": tuple(tree["tags"])}))
        if result is not None:
            yield result


def gather(spool: Spool, output: Path) -> int:
    """Write a pack with every distinct whole graph of a spool; how many there are.

    The pack is written beside and takes the old one's place when it is complete.
    """
    aside = output.with_name(f".{output.name}.new")
    shutil.rmtree(aside, ignore_errors=True)
    seen: set[str] = set()
    with PackWriter(aside) as writer:
        for result in results(spool):
            if not result.ok or len(result.lengths) != 1:
                continue
            (graph,) = spool.graphs(result)
            if graph.id not in seen:
                seen.add(graph.id)
                writer.add(f"{result.entry.library}/{result.entry.name}", graph)
    shutil.rmtree(output, ignore_errors=True)
    if seen:
        aside.rename(output)
    return len(seen)
