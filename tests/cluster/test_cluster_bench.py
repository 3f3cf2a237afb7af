"""``bench`` on three nodes: the records of a run without Ray, whatever happens on the way."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from cluster.quick_bench import QUICK
from cluster.ray_nodes import RayNodes
from graph_net.api.bench import bench
from graph_net.cluster.connection import Cluster
from graph_net.corpus.pack import PackWriter
from graph_net.graph import Graph, Input, Node, Normal, Ref, TensorSpec
from graph_net.results import Record, Symptom, canonical
from graph_net.store.record_journal import read_journal
from graph_net.store.records import RecordStore

GRAPHS = 200
OPTIONS = ("--seconds", "0.005", "--threads", "1", "--jobs", "1")
OF_THE_MOMENT = frozenset(
    "node load involuntary_switches major_faults steal_seconds waited_seconds "
    "noisy_at_first".split()
)


def tiny_graph(size: int) -> Graph:
    """One sigmoid: no output is 0, and no two sizes are one graph."""
    spec = TensorSpec((size,), "float32")
    nodes = (Node("y", "torch.sigmoid", (Ref("x"),)),)
    return Graph((Input("x", spec, Normal(0.0, 1.0)),), nodes, (Ref("y"),))


@pytest.fixture(autouse=True)
def _few_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graph_net.measure.Protocol", QUICK)


@pytest.fixture(scope="session")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As many tiny graphs as the comparison takes."""
    path = tmp_path_factory.mktemp("cluster") / "pack"
    with PackWriter(path) as writer:
        for size in range(1, GRAPHS + 1):
            writer.add(f"tiny{size}", tiny_graph(size))
    return path


def facts(record: Record) -> tuple[object, ...]:
    """All of a record but its times, its node, and what the machine was busy with.

    That its times were too noisy is of the moment too.
    """
    environment = {name: v for name, v in record.environment.items() if name not in OF_THE_MOMENT}
    same = (record.subject, record.config, record.device, record.settings, record.outputs)
    failure = record.failure
    is_noisy = failure is not None and failure.symptom is Symptom.TOO_NOISY
    return (record.key, *same, None if is_noisy else failure, canonical(environment))


def start_driver(pack: Path, records: Path, address: str) -> subprocess.Popen[bytes]:
    words = ["bench", str(pack), "--compilers", "eager", "-o", str(records), "--ray", address]
    command = [sys.executable, "-m", "cluster.quick_bench", *words, *OPTIONS]
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
    assert journal_lines(there) < GRAPHS
    for store, where in ((there, cluster), (here, None)):
        bench(
            pack, "eager", store=store, cluster=where,
            seconds=0.005, threads=1, jobs=1, progress=False,
        )  # fmt: skip
    on_nodes, alone = (list(RecordStore(path).records()) for path in (there, here))
    rows = Counter(RecordStore(there).table(["key"])["key"].to_pylist())
    assert rows.total() == len(rows) == GRAPHS  # nothing doubled, superseded rows included
    by_key = {record.key: facts(record) for record in alone}
    assert {record.key for record in on_nodes} == by_key.keys()
    differing = [set(map(str, facts(one))) ^ set(map(str, by_key[one.key])) for one in on_nodes]
    assert [difference for difference in differing if difference] == []
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
