"""What is particular to ``inductor``: its cache, its options, no compilation while measuring."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
import torch

from graph_net.compilers import Job, create, inductor_headers
from graph_net.compilers.export import copy_inputs
from graph_net.graph.execute import make_inputs, run
from graph_net.testing.compiler_graphs import GRAPHS


@pytest.fixture
def job(tmp_path: Path) -> Job:
    graph = GRAPHS["matmul"]()
    create("inductor").prepare("cpu")
    return Job(graph, tuple(make_inputs(graph)), "cpu", tmp_path)


def test_what_it_keeps_lies_in_the_jobs_directory(job: Job) -> None:
    before = dict(os.environ)
    create("inductor").compile(job)
    assert os.environ.get("TORCHINDUCTOR_CACHE_DIR") == before.get("TORCHINDUCTOR_CACHE_DIR")
    assert any((job.workdir / "inductor").rglob("*.so"))


def test_a_warm_compilation_compiles_nothing(job: Job) -> None:
    create("inductor").compile(job)
    built = sorted((job.workdir / "inductor").rglob("*.so"))
    torch._dynamo.reset()
    create("inductor").compile(job)
    assert sorted((job.workdir / "inductor").rglob("*.so")) == built


def test_calls_after_compiling_never_compile_again(job: Job) -> None:
    runner = create("inductor").compile(job)
    with torch.inference_mode(), torch._dynamo.config.patch(error_on_recompile=True):
        for _ in range(3):
            torch.testing.assert_close(runner(copy_inputs(job.inputs)), run(job.graph))


def test_modes_and_options_go_together(job: Job) -> None:
    compiler = create("inductor", {"mode": "max-autotune", "epilogue_fusion": False})
    torch.testing.assert_close(compiler.compile(job)(copy_inputs(job.inputs)), run(job.graph))


@pytest.fixture
def headers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(inductor_headers, "shared_headers", lambda: tmp_path)
    return tmp_path


def test_headers_are_made_once(headers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def makes() -> None:
        with (headers / "times").open("a") as file:
            file.write("made\n")
        (headers / "some.gch").touch()

    monkeypatch.setattr(inductor_headers, "_compile_something", makes)
    inductor_headers.make_headers()
    inductor_headers.make_headers()
    assert (headers / "times").read_text() == "made\n"
    monkeypatch.setattr(torch, "__file__", "another copy of torch, which cannot use them")
    inductor_headers.make_headers()
    assert (headers / "times").read_text() == "made\n" * 2


def test_a_compiler_that_crashes_at_the_headers_leaves_them_unmade(
    headers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        inductor_headers, "_compile_something", lambda: os.kill(os.getpid(), signal.SIGUSR2)
    )
    inductor_headers.make_headers()
    assert not inductor_headers._exist(headers)
