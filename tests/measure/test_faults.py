"""Whatever a compiler does to its process, the run goes on and says what happened."""

from __future__ import annotations

import mmap
import os
import signal
import struct
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from graph_net.graph import Graph, Input, Level, Node, Normal, Ref, TensorSpec
from graph_net.measure import MeasureLimits
from graph_net.measure.worker_handle import Child
from graph_net.results import Record, Stage, Symptom
from graph_net.testing.models import graph_of
from measure.asking import measured, mine, task

EXPECTED = {
    "Raises": (Stage.COMPILE, Symptom.EXCEPTION),
    "Refuses": (Stage.COMPILE, Symptom.UNSUPPORTED),
    "Crashes": (Stage.COMPILE, Symptom.CRASH),
    "CrashesWhenRun": (Stage.FIRST_RUN, Symptom.CRASH),
    "Exits": (Stage.COMPILE, Symptom.EXCEPTION),
    "ExitsHard": (Stage.COMPILE, Symptom.EXCEPTION),
    "LeavesAChild": (Stage.COMPILE, Symptom.CRASH),
    "Hangs": (Stage.COMPILE, Symptom.TIMEOUT),
    "HangsInAChild": (Stage.COMPILE, Symptom.TIMEOUT),
    "Eats": (Stage.COMPILE, Symptom.OUT_OF_MEMORY),
    "Wrong": (Stage.VERIFY, Symptom.NUMERIC),
    "NotFinite": (Stage.VERIFY, Symptom.NON_FINITE),
    "WrongShape": (Stage.VERIFY, Symptom.SHAPE),
    "WrongDtype": (Stage.VERIFY, Symptom.DTYPE),
    "TooMany": (Stage.VERIFY, Symptom.STRUCTURE),
    "WrongLater": (Stage.VERIFY, Symptom.NUMERIC),
    "ZeroLater": (Stage.VERIFY, Symptom.NUMERIC),
}


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Record]]:
    """One run over compilers with every defect, and a good one after them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOME_COMPILERS_PLACE", str(tmp_path_factory.mktemp("told")))
        yield _records()


def _records() -> dict[str, Record]:
    limits = MeasureLimits(memory_bytes=700 << 20).with_compile(6.0)
    names = [*EXPECTED, "Slightly", "Faithful"]
    found = measured(task(mine(name), limits=limits) for name in names)
    return {record.config.name.rpartition(":")[2]: record for record in found}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_failure_has_its_stage_and_symptom(name: str, records: dict[str, Record]) -> None:
    failure = records[name].failure
    assert failure is not None
    assert (failure.stage, failure.symptom) == EXPECTED[name], failure.message


def test_what_cannot_fit_is_not_tried() -> None:
    spec = TensorSpec((1 << 28,), "float32")
    node = Node("y", "aten.relu.default", (Ref("x"),), result=spec)
    large = Graph((Input("x", spec, Normal(0.0, 1.0)),), (node,), (Ref("y"),), Level.ATEN)
    (record,) = measured([task("eager", large, limits=MeasureLimits(memory_bytes=(1 << 30) - 1))])
    assert record.failure is not None
    assert (record.failure.stage, record.failure.symptom) == (Stage.LOAD, Symptom.OUT_OF_MEMORY)
    assert "for its inputs alone" in record.failure.message
    assert record.cost.eager_peak_bytes is None


def test_a_crash_has_its_signal(records: dict[str, Record]) -> None:
    first, second = records["Crashes"].failure, records["CrashesWhenRun"].failure
    assert first is not None
    assert second is not None
    assert (first.signal, second.signal) == (signal.SIGSEGV, signal.SIGILL)


def test_all_unsupported_operators_are_named(records: dict[str, Record]) -> None:
    failure = records["Refuses"].failure
    assert failure is not None
    assert failure.message == "aten.fft, aten.sort"


def test_signatures_are_masked(records: dict[str, Record]) -> None:
    failure = records["Raises"].failure
    assert failure is not None
    assert failure.signature == "RuntimeError: cannot lower node # at 0x…"


def test_a_good_compiler_beside_them_succeeds(records: dict[str, Record]) -> None:
    assert records["Faithful"].failure is None
    assert records["Faithful"].t == -64.0


def test_a_small_error_has_its_level(records: dict[str, Record]) -> None:
    level = records["Slightly"].t
    assert level is not None
    assert -3.2 < level < -2.9


def test_what_is_timed_is_verified_too(records: dict[str, Record]) -> None:
    failure = records["ZeroLater"].failure
    assert failure is not None
    assert failure.message.startswith("a timed call with other inputs: output 0 is ")
    assert records["ZeroLater"].timing is not None


class Counts(torch.nn.Module):
    total: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.total.add_(x)
        return x * 2


def test_what_a_graph_changes_is_compared() -> None:
    counts = graph_of(Counts(), (torch.ones(2),))
    (record,) = measured([task(mine("ForgetsToWrite"), counts)])
    assert record.t is not None
    assert record.t > -1


def test_the_time_a_worker_is_stopped_for_is_not_its_own(tmp_path: Path) -> None:
    sleeper = subprocess.Popen(["sleep", "60"], process_group=0)  # noqa: S607
    try:
        paused = mmap.mmap(-1, 8)
        child = Child(sleeper.pid, 0, paused, task("eager"), 0, 0, tmp_path, 0)
        began = child.began
        child.stop()
        os.waitid(os.P_PID, sleeper.pid, os.WSTOPPED | os.WNOWAIT)
        time.sleep(0.2)
        child.resume()
        (stopped,) = struct.unpack_from("d", paused)
        assert stopped >= 0.2
        assert child.stage_seconds() < time.monotonic() - began
        os.waitid(os.P_PID, sleeper.pid, os.WCONTINUED | os.WNOWAIT)
    finally:
        sleeper.kill()
        sleeper.wait()


def test_eagers_outputs_are_known_even_of_a_crash(records: dict[str, Record]) -> None:
    assert records["Crashes"].environment["eager_outputs"] == [["float32", [2, 4]]]


def test_what_a_killed_worker_started_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_COMPILERS_PLACE", str(tmp_path))
    measured([task(mine("HangsInAChild"), limits=MeasureLimits().with_compile(2.0))])
    assert not _alive(int((tmp_path / "child").read_text()))


def _alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def test_the_workspace_is_removed(tmp_path: Path) -> None:
    from graph_net.measure import measure

    list(measure([task("eager")], jobs=1, compilers=["eager"], work=tmp_path / "work"))
    assert os.listdir(tmp_path) == []
