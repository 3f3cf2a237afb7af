"""A bundle of programs runs with nothing but itself on a bare machine, and its file comes back."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import pytest

from cli.calling import Cli
from cli.conftest import cli as cli
from graph_net.programs.collection import bundle
from graph_net.programs.collection.bundle import ProgramsPlan, main, read_plan, write_bundle
from graph_net.programs.collection.plan import Wanted
from graph_net.programs.store.program_store import ProgramStore
from graph_net.programs.triton.cuda_bench import CudaBench
from graph_net.results import RecordError
from programs.triton.some_kernels import TASKS
from programs.triton.triton_collecting import bench_of, programs, stop_the_clock_at

BARE = """
import runpy, sys
class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"pyarrow", "duckdb", "typer", "rich", "tvm", "pandas"}:
            raise ImportError(name + " is not on a bare machine")
sys.meta_path.insert(0, Nothing())
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def run_bare(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    (folder / "bare.py").write_text(BARE)
    command = [sys.executable, "-I", str(folder / "bare.py"), *words]
    return subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)


def test_a_machine_without_a_gpu_says_so(tmp_path: Path, cli: Cli) -> None:
    done = cli(
        "programs", "collect", "--device", "cuda", "--plan", str(tmp_path / "programs.zip"),
        "--where", "name = 'torchvision/vgg16'", "--per-task", "7",
    )  # fmt: skip
    assert done.code == 0, done.err
    plan = read_plan(tmp_path / "programs.zip")
    assert plan.wanted == Wanted(7, turn=10)
    assert {name for task in plan.tasks for name in task.weights} == {"torchvision/vgg16@8:tf32"}
    ran = run_bare(tmp_path, "programs.zip", "-o", "out.jsonl.gz", "--seconds", "60")
    assert ran.returncode == 2
    (line,) = ran.stderr.splitlines()
    assert line.startswith("no GPU that torch and triton can use here")
    assert not (tmp_path / "out.jsonl.gz").exists()


def test_only_tasks_that_were_named_are_planned(tmp_path: Path, cli: Cli) -> None:
    bundle = tmp_path / "programs.zip"
    words = ("programs", "collect", "--device", "cuda", "--plan", str(bundle))
    vgg = ("--where", "name = 'torchvision/vgg16'")
    done = cli(*words, *vgg, "--tasks", "matmul_*, convolution_*x56x56x*")
    assert done.code == 0, done.err
    names = [task.workload.name for task in read_plan(bundle).tasks]
    assert {name.partition("_")[0] for name in names} == {"matmul", "convolution"}
    assert all("x56x56x" in name for name in names if name.startswith("convolution"))
    refused = cli(*words, *vgg, "--tasks", "matmul_*,softmax_*")
    assert refused.code != 0
    assert "have no task named softmax_*" in refused.err


def test_collecting_here_without_a_gpu_says_the_same(tmp_path: Path, cli: Cli) -> None:
    done = cli(
        "programs", "collect", "--device", "cuda", "-o", str(tmp_path / "records"),
        "--work", str(tmp_path / "work"), "--where", "name = 'torchvision/vgg16'",
    )  # fmt: skip
    assert done.code == 1
    assert "no GPU that torch and triton can use here" in done.err
    assert "Traceback" not in done.err


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU that is none, in real processes."""

    @contextmanager
    def opened(workload: object, jobs: int) -> Iterator[CudaBench]:
        yield bench_of()

    monkeypatch.setattr(bundle, "open_cuda_bench", opened)


def test_what_a_bundle_measured_is_ingested(
    tmp_path: Path, stand_in: None, cli: Cli, capsys: pytest.CaptureFixture[str]
) -> None:
    file, lines = tmp_path / "programs.zip", tmp_path / "out.jsonl.gz"
    write_bundle(file, TASKS, Wanted(3, turn=2, repeated=0))
    assert main(str(file), ["-o", str(lines), "--seconds", "60"]) == 0
    assert "18 programs, 0 failed" in capsys.readouterr().out
    assert main(str(file), ["-o", str(lines), "--seconds", "60"]) == 0  # nothing is left to do
    assert "nothing to measure" in capsys.readouterr().out
    assert len(programs(lines)) == 18
    done = cli("ingest", str(lines), "-o", str(tmp_path / "records"))
    assert done.code == 0, done.err
    stored = {program.schedule for _, program in ProgramStore(tmp_path / "records").programs()}
    assert stored == {program.schedule for program in programs(lines)}


def test_the_end_of_its_time_ends_it_and_leaves_a_whole_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def opened(workload: object, jobs: int) -> Iterator[CudaBench]:
        yield bench_of()

    monkeypatch.setattr(bundle, "open_cuda_bench", opened)
    write_bundle(tmp_path / "programs.zip", TASKS, Wanted(50))
    path = tmp_path / "out.jsonl.gz"
    stop_the_clock_at(path, monkeypatch)
    assert main(str(tmp_path / "programs.zip"), ["-o", str(path), "--seconds", "60"]) == 0
    assert 0 < len(programs(path)) < 300


@pytest.mark.parametrize("change", [{"wanted": {}}, {"tasks": [{"workload": 1}]}, {"more": 1}])
def test_what_is_no_plan_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    plan = asdict(ProgramsPlan(tuple(TASKS), Wanted(3)))
    with zipfile.ZipFile(tmp_path / "programs.zip", "w") as file:
        file.writestr("plan.json", json.dumps({**plan, **change}))
    with pytest.raises(RecordError, match="plan"):
        read_plan(tmp_path / "programs.zip")
