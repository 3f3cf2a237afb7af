"""Collecting a zoo: one process a model, limits, resumption."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from graph_net.capture.collect import collect
from graph_net.capture.worker import Spool
from graph_net.capture.zoo import Call, ZooEntry, ZooError, available, load
from graph_net.corpus.pack import Pack
from graph_net.corpus.pack_collected import gather
from graph_net.graph import Normal, Role
from graph_net.isolate import Limits
from graph_net.results.signature import signature_of


class Hangs(nn.Module):
    """Never finishes."""

    def forward(self, x: Tensor) -> Tensor:
        while True:
            time.sleep(0.1)


class Dies(nn.Module):
    """Takes its process with it."""

    def forward(self, x: Tensor) -> Tensor:
        os.kill(os.getpid(), signal.SIGKILL)
        return x


class Grows(nn.Module):
    """Asks for more memory than it may have."""

    def forward(self, x: Tensor) -> Tensor:
        return x + float(len(bytearray(1 << 40)))


class MadeUpZoo:
    """Models good and bad."""

    library = "testing"

    def __init__(self, more: int = 0) -> None:
        self.models: dict[str, type[nn.Module] | nn.Module] = {
            "linear": nn.Linear(4, 3),
            "same_linear": nn.Linear(4, 3),
            "relu": nn.ReLU(),
            "hangs": Hangs(),
            "dies": Dies(),
            "grows": Grows(),
        }
        self.models |= {f"sized{i}": nn.Linear(4, 5 + i) for i in range(more)}

    def entries(self) -> Iterator[ZooEntry]:
        return (ZooEntry(self.library, name, "other", "made up") for name in self.models)

    def build(self, entry: ZooEntry) -> Call:
        model = self.models[entry.name]
        assert isinstance(model, nn.Module)
        return Call(model, (torch.zeros(2, 4),))


def test_good_models_are_captured_and_bad_ones_say_why(tmp_path: Path) -> None:
    zoo, spool = MadeUpZoo(), Spool(tmp_path / "spool")
    wanted = [e for e in zoo.entries() if e.name != "hangs"]
    found = {r.entry.name: r for r in collect(zoo, wanted, spool, 2, Limits.of(300, 12.0))}
    assert {name for name, result in found.items() if result.ok} == {
        "linear",
        "same_linear",
        "relu",
    }
    assert found["dies"].reason == "killed by a signal from outside (SIGKILL)"
    assert "MemoryError" in found["grows"].reason
    (graph,) = spool.graphs(found["linear"])
    assert graph.provenance.subcategory == "made up"


def test_a_model_that_hangs_is_stopped(tmp_path: Path) -> None:
    zoo = MadeUpZoo()
    hangs = [e for e in zoo.entries() if e.name == "hangs"]
    (result,) = collect(zoo, hangs, Spool(tmp_path), 1, Limits.of(2, 12.0))
    assert result.reason == "took more than 2 s"


def test_equal_graphs_are_packed_once_and_a_pack_is_only_added_to(tmp_path: Path) -> None:
    zoo, spool, pack = MadeUpZoo(), Spool(tmp_path / "spool"), tmp_path / "pack"
    good = [e for e in zoo.entries() if e.name in ("linear", "same_linear")]
    list(collect(zoo, good, spool, 2, Limits.of(300, 12.0)))
    assert gather(spool, pack) == 1
    before = {part: part.read_bytes() for part in pack.iterdir()}
    list(
        collect(zoo, [e for e in zoo.entries() if e.name == "relu"], spool, 1, Limits.of(300, 12.0))
    )
    assert gather(spool, pack) == 1
    assert len(Pack(pack)) == 2
    assert all(part.read_bytes() == data for part, data in before.items())


PROGRAM = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from test_collect import MadeUpZoo
from graph_net.capture.collect import collect
from graph_net.capture.worker import Spool
from graph_net.isolate import Limits
zoo, spool = MadeUpZoo(more=12), Spool(Path({spool!r}))
wanted = [e for e in zoo.entries() if e.name.startswith("sized") and spool.result(e) is None]
print(len(wanted), flush=True)
for result in collect(zoo, wanted, spool, 2, Limits.of(300, 12.0)):
    print(result.entry.name, flush=True)
"""


def test_a_killed_collection_goes_on_where_it_was(tmp_path: Path) -> None:
    """kill -9 in the middle, the same again: nothing that was finished is captured twice."""
    program = PROGRAM.format(tests=str(Path(__file__).parent), spool=str(tmp_path))
    finished: list[str] = []
    wanted: list[int] = []
    for turn in range(4):
        process = subprocess.Popen(
            [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, process_group=0
        )
        assert process.stdout is not None
        wanted.append(int(process.stdout.readline()))
        for line in process.stdout:
            finished.append(line.strip())
            if turn < 3 and len(finished) % 3 == 2:
                os.killpg(process.pid, signal.SIGKILL)
                break
        process.stdout.close()
        process.wait()
    assert sorted(set(finished)) == sorted(finished)
    assert wanted[0] == 12
    zoo, spool = MadeUpZoo(more=12), Spool(tmp_path)
    sized = [e for e in zoo.entries() if e.name.startswith("sized")]
    assert all((result := spool.result(e)) is not None and result.ok for e in sized)


def test_equal_failures_look_equal() -> None:
    assert signature_of("no attribute 'a12' of 3") == signature_of("no attribute 'b7' of 44")


@pytest.mark.parametrize("name", [name for name, there in available().items() if not there])
def test_a_missing_library_is_told_with_the_command_that_installs_it(name: str) -> None:
    with pytest.raises(ZooError, match="pip install"):
        load(name)


def test_an_unknown_zoo_is_told_with_those_that_are_known() -> None:
    with pytest.raises(ZooError, match="known: torchvision, timm"):
        load("nowhere")


def test_inputs_called_with_zeros_are_drawn_as_noise(tmp_path: Path) -> None:
    zoo, spool = MadeUpZoo(), Spool(tmp_path)
    (result,) = collect(zoo, [next(zoo.entries())], spool, 1, Limits.of(300, 12.0))
    (graph,) = spool.graphs(result)
    (image,) = [entry for entry in graph.inputs if entry.role is Role.INPUT]
    assert image.recipe == Normal(0.0, 1.0)
