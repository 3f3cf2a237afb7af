"""``graph-net programs collect`` on a small model, with TVM, from a pack to answers in SQL."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

pytest.importorskip("tvm", reason="needs apache-tvm")

from cli.calling import Cli
from cli.conftest import cli as cli
from graph_net.api.query import query
from graph_net.capture import capture
from graph_net.corpus.pack import Pack, PackWriter
from graph_net.graph import Graph, Input, Level, Node, Normal, Ref, TensorSpec
from graph_net.store.records import RecordStore


class Small(torch.nn.Module):
    """A convolution and a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(4, 4, 3)
        self.linear = torch.nn.Linear(16, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        made: torch.Tensor = self.linear(self.conv(x).relu().flatten(1))
        return made


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("packs") / "small.pack"
    (graph,) = capture(Small().eval(), (torch.zeros(1, 4, 4, 4),)).graphs
    spec = TensorSpec((4, 4), "float32")
    node = Node("y", "aten.linalg_det.default", (Ref("x"),), result=TensorSpec((), "float32"))
    refused = Graph((Input("x", spec, Normal(0.0, 1.0)),), (node,), (Ref("y"),), Level.ATEN)
    with PackWriter(path) as writer:
        writer.add("testing/small", graph)
        writer.add("testing/refused", refused)
    return path


def test_from_a_pack_to_answers(pack: Path, tmp_path: Path, cli: Cli) -> None:
    words = ("programs", "collect", "--networks", str(pack), "--per-task", "3")
    places = ("-o", str(tmp_path / "records"), "--work", str(tmp_path / "work"))
    done = cli(*words, *places)
    assert done.code == 0, done.err
    assert "testing/refused: Unsupported" in done.err
    assert "programs per hour\n" in done.out
    question = (
        "SELECT kernel, weight, count(*), count(*) FILTER (status = 'success') AS ran, "
        "min(len(costs)) FROM programs JOIN tasks USING (workload, kernel) "
        "WHERE flops > 0 GROUP BY ALL ORDER BY kernel"
    )
    rows = query(RecordStore(tmp_path / "records"), question)[1]
    kernels = [row[0] for row in rows]
    assert any("conv2d" in kernel for kernel in kernels)
    assert any("matmul" in kernel for kernel in kernels)
    assert all(row[1] == 1 and row[2] == 3 for row in rows)
    assert all(row[3] == 3 and row[4] >= 3 for row in rows), rows
    stored = Pack(tmp_path / "records" / "subgraphs")
    structures = set(stored.rows(["structure"])["structure"].to_pylist())
    told = query(RecordStore(tmp_path / "records"), "SELECT DISTINCT structure FROM tasks")[1]
    assert {row[0] for row in told} == structures
    again = cli(*words, *places)
    assert again.code == 0, again.err
    assert "measured now" not in again.out
    assert cli(*words, *places, "--quick", "1000").code == 0
    assert "have no task that quick" in cli(*words, *places, "--quick", "0.000001").err


def test_networks_of_two_commands_are_all_stored(tmp_path: Path, cli: Cli) -> None:
    places = ("-o", str(tmp_path / "records"), "--work", str(tmp_path / "work"))
    (graph,) = capture(Small().eval(), (torch.zeros(1, 4, 4, 4),)).graphs
    (other,) = capture(torch.nn.Linear(3, 5).eval(), (torch.zeros(2, 3),)).graphs
    with PackWriter(tmp_path / "pack") as writer:
        writer.add("one", graph)
        writer.add("two", other)
    words = ("programs", "collect", "--networks", str(tmp_path / "pack"), "--per-task", "1")
    done = cli(*words, *places, "--where", "name = 'one'", "--budget", "0.001s")
    assert (done.code, "0 programs of 0 tasks" in done.out) == (0, True), done.err
    for name in ("one", "two"):
        done = cli(*words, *places, "--where", f"name = '{name}'")
        assert done.code == 0, done.err
    found = query(RecordStore(tmp_path / "records"), "SELECT DISTINCT network FROM tasks")[1]
    assert sorted(found) == [("one",), ("two",)]
    assert "of 2 networks" in done.out


def test_mistakes_are_told(pack: Path, tmp_path: Path, cli: Cli) -> None:
    place = ("-o", str(tmp_path / "records"), "--work", str(tmp_path / "work"))
    for words, why in (
        (("--networks", str(tmp_path / "nothing")), "does not exist"),
        (("--networks", str(pack), "--where", "nodes <"), "Parser Error"),
        (("--networks", str(pack), "--budget", "soon"), "is not a duration"),
        (("--networks", str(pack), "--where", "nodes < 0"), "have no task"),
    ):
        done = cli("programs", "collect", *words, *place)
        assert done.code != 0
        assert why in done.err, done.err
        assert "Traceback" not in done.err
