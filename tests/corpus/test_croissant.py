"""The metadata is Croissant to Croissant's own reader, and leads to the graphs."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

import pytest

from corpus.some_graphs import some_graph
from graph_net.cli.main import main
from graph_net.corpus import stats
from graph_net.corpus.pack import Pack, PackWriter
from graph_net.corpus.shipped import shipped_corpus
from graph_net.graph import from_bytes

mlcroissant = pytest.importorskip("mlcroissant")


def test_its_own_reader_finds_no_fault_and_reads_the_graphs(tmp_path: Path) -> None:
    with PackWriter(tmp_path) as writer:
        for number in range(3):
            writer.add(f"g{number}", some_graph(number))
        writer.flush()
        writer.add("g3", some_graph(3))  # a second part
    pack = Pack(tmp_path)
    stats.count_pack(pack).save(tmp_path / stats.FILE)
    with pytest.raises(SystemExit):
        main(["corpus", "card", str(tmp_path), "--published", "2026-01-01"])
    dataset = mlcroissant.Dataset(str(tmp_path / "croissant.json"))
    assert not dataset.metadata.ctx.issues.errors
    assert not dataset.metadata.ctx.issues.warnings
    records = {record["graphs/name"]: record for record in dataset.records("graphs")}
    assert sorted(records) == [b"g0", b"g1", b"g2", b"g3"]
    assert from_bytes(records[b"g3"]["graphs/graph"]) == some_graph(3)
    assert records[b"g1"]["graphs/nodes"] == len(some_graph(1).nodes)


def test_the_shipped_one_reads() -> None:
    place = shipped_corpus()
    found = stats.load_stats(place / stats.FILE)
    tree = json.loads((place / "croissant.json").read_text("utf-8"))
    digests = {f["name"]: f["sha256"] for f in tree["distribution"] if "sha256" in f}
    assert digests == found.parts
    dataset = mlcroissant.Dataset(str(place / "croissant.json"))
    for record in islice(dataset.records("graphs"), 2):
        assert from_bytes(record["graphs/graph"]).id == record["graphs/id"].decode()
