"""Collected graphs into a pack: each distinct one once."""

from __future__ import annotations

from pathlib import Path

from graph_net.capture.worker import Result, Spool
from graph_net.capture.zoo.zoo import ZooEntry
from graph_net.corpus.pack import Pack
from graph_net.corpus.pack_collected import gather
from graph_net.graph import Graph, Input, Node, Normal, Ref, TensorSpec, to_bytes


def pooled(rows: int, size: int) -> Graph:
    inputs = (Input("x", TensorSpec((rows, 8), "float32"), Normal(0.0, 1.0)),)
    return Graph(inputs, (Node("y", "method:reshape", (Ref("x"), size, -1)),), (Ref("y"),))


def put(spool: Spool, name: str, graph: Graph) -> None:
    data = to_bytes(graph)
    entry = ZooEntry("lib", name, "other")
    spool.put(Result(entry, True, way="export", lengths=(len(data),)), [data])


def test_graphs_that_differ_in_input_shapes_alone_are_one(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool")
    put(spool, "a", pooled(4, 16))
    put(spool, "b", pooled(6, 16))  # another shape: the same to GraphNet
    put(spool, "c", pooled(4, 8))  # another literal: another graph of the same structure
    assert gather(spool, tmp_path / "pack") == 2
    assert Pack(tmp_path / "pack").names() == ["lib/a", "lib/c"]


def test_what_the_pack_has_counts_too(tmp_path: Path) -> None:
    first, second = Spool(tmp_path / "first"), Spool(tmp_path / "second")
    put(first, "a", pooled(4, 16))
    gather(first, tmp_path / "pack")
    put(second, "b", pooled(6, 16))
    put(second, "c", pooled(4, 2))
    put(second, "d", pooled(2, 2))
    assert gather(second, tmp_path / "pack") == 1
    assert sorted(Pack(tmp_path / "pack").names()) == ["lib/a", "lib/c"]
