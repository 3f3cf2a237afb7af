"""``bench`` on three nodes: the records of a run without Ray, whatever happens on the way."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from cluster.ray_nodes import RayNodes
from graph_net.api.bench import bench
from graph_net.cluster.connection import Cluster
from graph_net.corpus.pack import PackWriter
from graph_net.graph import Graph, Input, Node, Normal, Ref, TensorSpec
from graph_net.results import Record
from graph_net.store.record_journal import read_journal
from graph_net.store.records import RecordStore

GRAPHS = 200
QUICK = ("--seconds", "0.001", "--threads", "1", "--jobs", "1")


def tiny_graph(size: int) -> Graph:
    """One sigmoid: no output is 0, and no two sizes are one graph."""
    spec = TensorSpec((size,), "float32")
    nodes = (Node("y", "torch.sigmoid", (Ref("x"),)),)
    return Graph((Input("x", spec, Normal(0.0, 1.0)),), nodes, (Ref("y"),))


@pytest.fixture(scope="session")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As many tiny graphs as the comparison takes."""
    path = tmp_path_factory.mktemp("cluster") / "pack"
    with PackWriter(path) as writer:
        for size in range(1, GRAPHS + 1):
            writer.add(f"tiny{size}", tiny_graph(size))
    return path


def comparable(record: Record) -> Record:
    """A record without its times and its node, and without the noise that those decide."""
    outputs = tuple(replace(output, t_self=None) for output in record.outputs)
    return Record(
        record.subject, record.config, record.device, record.protocol, None, record.timing,
        outputs, settings=record.settings,
    )  # fmt: skip


def facts(record: Record) -> tuple[object, ...]:
    same = comparable(record)
    names = sorted(set(record.environment) - {"node"})
    return (same.key, same.subject, same.config, same.device, same.settings, same.outputs, names)


def start_driver(pack: Path, records: Path, address: str) -> subprocess.Popen[bytes]:
    words = ["bench", str(pack), "--compilers", "eager", "-o", str(records), "--ray", address]
    command = [sys.executable, "-m", "graph_net.cli.main", *words, *QUICK]
    return subprocess.Popen(command, env=dict(os.environ), stderr=subprocess.DEVNULL)


def journal_lines(records: Path) -> int:
    return sum(1 for path in RecordStore(records).journals() for _ in read_journal(path))


def test_a_driver_killed_midway_resumes_to_the_records_of_a_run_without_ray(
    pack: Path, tmp_path: Path, nodes: RayNodes, cluster: Cluster
) -> None:
    nodes.keep(2)
    there, here = tmp_path / "there", tmp_path / "here"
    driver = start_driver(pack, there, nodes.address)
    while journal_lines(there) < GRAPHS // 4:
        assert driver.poll() is None, "the driver ended before it was killed"
        time.sleep(0.1)
    driver.kill()
    driver.wait()
    before = {record.key for record in RecordStore(there).records()}
    quick = {"seconds": 0.001, "threads": 1, "jobs": 1, "progress": False}
    bench(pack, "eager", store=there, cluster=cluster, **quick)  # type: ignore[arg-type]
    bench(pack, "eager", store=here, **quick)  # type: ignore[arg-type]
    on_nodes, alone = (list(RecordStore(path).records()) for path in (there, here))
    assert len(before) < GRAPHS
    rows = Counter(RecordStore(there).table(["key"])["key"].to_pylist())
    assert rows.total() == len(rows) == GRAPHS  # nothing doubled, superseded rows included
    assert sorted(map(facts, on_nodes), key=str) == sorted(map(facts, alone), key=str)
    assert len({record.environment["node"] for record in on_nodes}) >= 3
    assert not [record for record in alone if "node" in record.environment]


def test_a_node_with_another_torch_is_another_device_and_the_table_says_so(
    pack: Path, tmp_path: Path, nodes: RayNodes, cluster: Cluster,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    (older,) = nodes.keep(0) or [nodes.add({"PYTHONPATH": str(fake_torch(tmp_path))})]
    records = bench(
        pack, "eager", store=tmp_path / "records", limit=30, cluster=cluster,
        seconds=0.001, threads=1, jobs=1,
    )  # fmt: skip
    found = list(records)
    nodes.kill(older)
    versions = {record.environment["node"]: record.device.software["torch"] for record in found}
    assert len(versions) == 2
    assert "2.11.0" in versions.values()
    assert len(found) == len({record.subject.id for record in found}) == 30
    printed = capsys.readouterr()
    assert "different devices" in printed.err
    assert "torch 2.11.0" in " ".join(printed.out.split())


def fake_torch(folder: Path) -> Path:
    """A directory in which torch says that it is of another version."""
    metadata = folder / "older" / "torch-2.11.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.11.0\n")
    return Path(os.pathsep.join([str(metadata.parent), os.environ["PYTHONPATH"]]))
