"""Graphs of Paddle's operators, measured like any other."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cli.calling import Cli
from cli.conftest import cli  # noqa: F401
from front_paddle import samples
from graph_net.compilers import create
from graph_net.formats.graphnet import read_sample
from graph_net.graph import Graph, Input, Level, Node, Normal, Ref, TensorSpec
from graph_net.measure.tolerance import LOWEST
from graph_net.measure.worker import Worker
from graph_net.results import Record, Stage, Symptom
from graph_net.store.records import RecordStore
from measure.asking import QUICK, small_graph, task

paddle = pytest.importorskip("paddle")
X = Input("x", TensorSpec((2, 4), "float32"), Normal(0.0, 1.0))
CHANGING = Graph((X,), (Node("y", "paddle._C_ops.relu_", (Ref("x"),)),), Ref("y"), Level.PADDLE)


@pytest.fixture
def norm(tmp_path: Path) -> Graph:
    return read_sample(samples.write(tmp_path / "zoo" / "norm"))


@pytest.fixture
def with_cinn(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """A Paddle that says it has CINN, and leaves the program to its own executor."""
    options: list[dict[str, Any]] = []
    to_static = paddle.jit.to_static

    def stand_in(function: Any, **given: Any) -> Any:
        options.append(dict(given))
        return to_static(function, full_graph=given["full_graph"])

    monkeypatch.setattr(paddle, "is_compiled_with_cinn", lambda: True)
    monkeypatch.setattr(paddle.jit, "to_static", stand_in)
    return options


def measured(compiler: str, graph: Graph, where: Path, **changes: Any) -> Record:
    return Worker(task(compiler, graph, **changes), where).run()


def test_bench_runs_eager_and_says_why_cinn_is_left_out(
    tmp_path: Path,
    cli: Cli,  # noqa: F811
    norm: Graph,
) -> None:
    cli("import", tmp_path / "zoo", "-o", tmp_path / "some.pack", "--jobs", "1")
    place = tmp_path / "records"
    answer = cli(
        *("bench", tmp_path / "some.pack", "--compilers", "eager,cinn", "-o", place),
        *("--seconds", "0.1", "--jobs", "1", "--threads", "1"),
    )
    assert answer.code == 0, answer.err
    missing = create("cinn").missing()
    assert f"left out: cinn cannot be used here: {missing}" in answer.err.replace("\n", " ")
    (record,) = RecordStore(place).records()
    assert record.config.name == "eager"
    assert record.failure is None
    assert record.environment["framework"] == f"paddle {paddle.__version__}"
    assert [output.shape for output in record.outputs] == [(6, 2), (12,)]
    assert all(output.t_exact is not None for output in record.outputs)


def test_alone_an_absent_compiler_is_an_error(
    tmp_path: Path,
    cli: Cli,  # noqa: F811
    norm: Graph,
) -> None:
    answer = cli("bench", tmp_path / "zoo", "--compilers", "cinn", "-o", tmp_path / "records")
    assert answer.code == 1
    assert "cinn cannot be used here" in answer.err


def test_cinn_gets_the_whole_program(
    norm: Graph, tmp_path: Path, with_cinn: list[dict[str, Any]]
) -> None:
    record = measured("cinn", norm, tmp_path)
    assert record.failure is None
    assert record.timing is not None
    assert {"full_graph": True, "backend": "CINN"} in with_cinn
    assert all(output.t == LOWEST for output in record.outputs)


def test_a_program_that_changes_its_input_is_none_for_cinn(
    tmp_path: Path, with_cinn: list[dict[str, Any]]
) -> None:
    record = measured("cinn", CHANGING, tmp_path)
    assert record.failure is not None
    assert record.failure.symptom is Symptom.UNSUPPORTED
    assert "cannot change an input, here x" in record.failure.message


def test_what_eager_changes_is_compared_and_put_back(tmp_path: Path) -> None:
    record = measured("eager", CHANGING, tmp_path, protocol=replace(QUICK, exact=True))
    assert record.failure is None
    assert len(record.outputs) == 2  # what is returned, and the input behind it


@pytest.mark.parametrize("compiler", ["inductor", "onnxruntime", "tvm"])
def test_compilers_of_torch_graphs_say_so(compiler: str, norm: Graph, tmp_path: Path) -> None:
    if create(compiler).missing():
        pytest.skip("not installed")
    record = measured(compiler, norm, tmp_path)
    assert record.failure is not None
    assert (record.failure.stage, record.failure.symptom) == (Stage.COMPILE, Symptom.UNSUPPORTED)
    assert record.failure.message == (
        f"a graph of level paddle; {compiler} takes level torch or aten"
    )


def test_cinn_takes_no_graph_of_torch_operators(
    tmp_path: Path, with_cinn: list[dict[str, Any]]
) -> None:
    record = measured("cinn", small_graph(), tmp_path)
    assert record.failure is not None
    assert record.failure.symptom is Symptom.UNSUPPORTED
    assert "cinn takes level paddle" in record.failure.message


def test_without_paddle_its_graphs_are_unsupported(
    norm: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "paddle", None)
    record = measured("eager", norm, tmp_path)
    assert record.failure is not None
    assert record.failure.symptom is Symptom.UNSUPPORTED
    assert 'pip install "graph-net[paddle]"' in record.failure.message


def test_on_a_gpu_they_are_not_measured_yet(norm: Graph, tmp_path: Path) -> None:
    elsewhere = replace(task("eager", norm).device, kind="cuda")
    record = measured("eager", norm, tmp_path, device=elsewhere)
    assert record.failure is not None
    assert "measured on the cpu, not cuda" in record.failure.message


def test_a_run_without_float64_says_why(tmp_path: Path) -> None:
    random = Graph(
        (X,), (Node("y", "paddle._C_ops.exponential_", (Ref("x"), 1.0)),), Ref("y"), Level.PADDLE
    )
    record = measured("eager", random, tmp_path, protocol=replace(QUICK, exact=True))
    assert record.environment["no_float64"] == "the graph draws random numbers"


def test_a_torch_graph_never_imports_paddle(tmp_path: Path) -> None:
    code = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from pathlib import Path
from graph_net.measure.tolerance import LOWEST
from graph_net.measure.worker import Worker
from measure.asking import task
record = Worker(task("eager"), Path({str(tmp_path)!r})).run()
assert record.failure is None, record.failure
assert "paddle" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
