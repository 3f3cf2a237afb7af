"""Packing of collected graphs, each distinct one once."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from graph_net.capture.worker import Result, Spool
from graph_net.capture.zoo.zoo import ZooEntry
from graph_net.corpus.pack import Pack, PackWriter, is_pack
from graph_net.graph import Graph
from graph_net.graph.hashing import code_hash
from graph_net.store.files import read_text


def read_results(spool: Spool) -> Iterator[Result]:
    """Yield every result in a spool, by name."""
    for path in sorted(spool.path.glob("*.json")):
        tree = json.loads(read_text(path))["entry"]
        result = spool.result(ZooEntry(**{**tree, "tags": tuple(tree["tags"])}))
        if result is not None:
            yield result


def gather(spool: Spool, output: Path, by_size: bool = False) -> int:
    """Add every distinct whole graph of a spool that a pack lacks; return how many were added.

    Distinct means as GraphNet counts (``code_hash``), or with ``by_size`` also by sizes. Existing
    parts do not change.
    """
    added = 0
    with PackWriter(output) as writer:
        known = _Ids(output) if by_size else _Codes(output)
        for result in read_results(spool):
            name = name_of(result.entry)
            if not result.ok or len(result.lengths) != 1 or name in writer.names:
                continue
            (graph,) = spool.graphs(result)
            if known.is_new(graph, lambda result=result: spool.graphs(result)):  # type: ignore[misc]
                writer.add(name, graph)
                added += 1
    return added


class _Ids:
    """The ids of a pack's graphs."""

    def __init__(self, path: Path) -> None:
        self.ids = set(Pack(path).rows(["id"])["id"].to_pylist()) if is_pack(path) else set()

    def is_new(self, graph: Graph, again: object) -> bool:
        """Return whether this graph is new, and remember it."""
        new = graph.id not in self.ids
        self.ids.add(graph.id)
        return new


class _Codes:
    """The code hashes of a pack's graphs.

    Graphs of equal code have equal structure, which is a column: graphs are read for their codes
    only if a structure recurs.
    """

    def __init__(self, path: Path) -> None:
        self.codes: dict[str, set[str]] = {}
        self.unread: defaultdict[str, list[Callable[[], Iterable[Graph]]]] = defaultdict(list)
        if not is_pack(path):
            return
        pack = Pack(path)
        names: defaultdict[str, list[str]] = defaultdict(list)
        for row in pack.rows(["name", "structure"]).to_pylist():
            names[row["structure"]].append(row["name"])
        for structure, stored in names.items():
            self.unread[structure].append(partial(_read_graphs, pack, stored))

    def is_new(self, graph: Graph, again: Callable[[], Iterable[Graph]]) -> bool:
        """Return whether this graph's code is new, and remember it.

        ``again`` reads the graph once more, if its code is needed later.
        """
        unread = self.unread.pop(graph.structure, [])
        if not unread and graph.structure not in self.codes:
            self.unread[graph.structure].append(again)
            return True
        codes = self.codes.setdefault(graph.structure, set())
        codes.update(code_hash(earlier) for read in unread for earlier in read())
        code = code_hash(graph)
        new = code not in codes
        codes.add(code)
        return new


def _read_graphs(pack: Pack, names: list[str]) -> list[Graph]:
    return [graph for _, graph in pack.graphs(names)]


def name_of(entry: ZooEntry) -> str:
    """Return the name of a model's graph in a pack."""
    return f"{entry.library}/{entry.name}"
