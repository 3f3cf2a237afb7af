"""TensorRT, BladeDISC and CINN, with stand-ins for the vendors' own packages.

What is tested is everything up to the vendor's call: which arguments it gets, that what comes
back has the graph's form, that missing converters are all named. Nothing here says that the
vendor's binary works.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

from graph_net.compilers import Job, Unsupported, create
from graph_net.graph.execute import make_inputs, run
from graph_net.testing.compiler_graphs import GRAPHS


@pytest.fixture
def job(tmp_path: Path) -> Job:
    graph = GRAPHS["mutation"]()
    return Job(graph, tuple(make_inputs(graph)), "cpu", tmp_path)


def install(patch: pytest.MonkeyPatch, name: str, **contents: Any) -> ModuleType:
    module = ModuleType(name)
    vars(module).update(contents)
    patch.setitem(sys.modules, name, module)
    return module


def right(job: Job, runner: Callable[[list[Any]], Any]) -> None:
    given, reference = make_inputs(job.graph), make_inputs(job.graph)
    torch.testing.assert_close(runner(given), run(job.graph, reference))
    torch.testing.assert_close(given, reference)


def torch_tensorrt(patch: pytest.MonkeyPatch, known: Callable[[Any], bool]) -> dict[str, Any]:
    calls: dict[str, Any] = {}

    def compile(program: torch.export.ExportedProgram, **options: Any) -> Any:
        calls.update(options)
        built = program.module()
        for name in ("_run_on_acc_0", "_run_on_gpu_1", "_run_on_acc_2"):
            built.add_module(name, torch.nn.Identity())
        return built

    class Converters:
        def __contains__(self, node: Any) -> bool:
            return known(node)

    install(patch, "torch_tensorrt", dynamo=SimpleNamespace(compile=compile))
    install(patch, "torch_tensorrt.dynamo")
    install(patch, "torch_tensorrt.dynamo.conversion", DYNAMO_CONVERTERS=Converters())
    install(patch, "torch_tensorrt.dynamo.lowering", get_decompositions=dict)
    return calls


def test_tensorrt_gets_the_program_its_tensors_and_our_cache(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = torch_tensorrt(monkeypatch, lambda node: True)
    runner = create("tensorrt", {"workspace_size": 1 << 20}).compile(job)
    right(job, runner)
    assert [tuple(tensor.shape) for tensor in calls["arg_inputs"]] == [(3, 4), (4,)]
    assert calls["require_full_compilation"] is False
    assert "min_block_size" not in calls, "its own default"
    assert calls["workspace_size"] == 1 << 20
    assert Path(calls["engine_cache_dir"]).parent == job.workdir
    assert "whole" not in calls


def test_tensorrt_names_every_operator_without_a_converter(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch_tensorrt(monkeypatch, lambda node: "sum" in str(node.target))
    with pytest.raises(Unsupported) as refusal:
        create("tensorrt", {"whole": True}).compile(job)
    assert {reason.split(".")[1] for reason in refusal.value.reasons} >= {"add", "mul"}


def test_tensorrt_by_default_leaves_what_it_cannot_take_to_pytorch_and_says_so(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch_tensorrt(monkeypatch, lambda node: "sum" in str(node.target))
    compiler = create("tensorrt")
    right(job, compiler.compile(job))
    assert compiler.remarks() == {"compiled_graphs": 2, "graph_breaks": 1}


def test_bladedisc_gets_a_trace_and_the_tensors(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    config = SimpleNamespace()
    calls: dict[str, Any] = {}

    class Config(SimpleNamespace):
        @staticmethod
        def get_current_context_or_new() -> Config:
            return Config()

        def __enter__(self) -> None:
            vars(config).update(vars(self))

        def __exit__(self, *_: object) -> None:
            pass

    def optimize(module: Any, allow_tracing: bool, model_inputs: Any) -> Any:
        calls.update(module=module, inputs=model_inputs)
        return module

    install(
        monkeypatch,
        "torch_blade",
        config=SimpleNamespace(Config=Config),
        mlir=SimpleNamespace(backend_name=lambda: "DISC"),
        optimize=optimize,
    )
    runner = create("bladedisc", {"fp16": True}).compile(job)
    right(job, runner)
    assert isinstance(calls["module"], torch.jit.ScriptModule)
    assert (config.optimization_pipeline, config.enable_fp16) == ("DISC", True)
    assert len(calls["inputs"]) == 2


@pytest.mark.parametrize(("built", "words"), [(False, "built without CINN"), (True, None)])
def test_cinn_looks_into_the_build(
    built: bool, words: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    paddle = install(
        monkeypatch, "paddle", is_compiled_with_cinn=lambda: built, __version__="3.3.1"
    )
    paddle.__spec__ = SimpleNamespace(name="paddle")  # type: ignore[assignment]
    missing = create("cinn").missing()
    assert missing is None if words is None else words in str(missing)
