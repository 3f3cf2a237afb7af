"""A refusal names who refuses, blames no operator wrongly, and is not made where none is due."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from compilers import some_breaks
from graph_net.compilers import Job, Unsupported, create
from graph_net.compilers.export import copy_inputs
from graph_net.compilers.unsupported import find_unsupported
from graph_net.graph import Graph
from graph_net.graph.execute import make_inputs, run


def job_of(graph: Graph, place: Path) -> Job:
    return Job(graph, tuple(make_inputs(graph)), "cpu", place)


def test_a_refusal_says_who_refuses() -> None:
    error = Unsupported(["aten.a", "aten.b"], "torch.onnx")
    assert error.reasons == ("aten.a", "aten.b")
    assert str(error) == "refused by torch.onnx: aten.a, aten.b"
    assert str(Unsupported(["aten.a"])) == "aten.a"


def test_onnxruntime_gives_outputs_whose_size_only_a_run_tells(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    job = job_of(some_breaks.size_from_values(), tmp_path)
    runner = create("onnxruntime").compile(job)
    with torch.inference_mode():
        torch.testing.assert_close(runner(copy_inputs(job.inputs)), run(job.graph))


@pytest.mark.parametrize("compiler", ["onnxruntime", "tvm", "xla"])
def test_a_number_read_out_of_a_tensor_is_returned_by_every_compiler(
    compiler: str, tmp_path: Path
) -> None:
    if create(compiler).missing():
        pytest.skip(f"{compiler} is not here")
    job = job_of(some_breaks.value_returned(), tmp_path)
    runner = create(compiler).compile(job)
    with torch.inference_mode():
        found = runner(copy_inputs(job.inputs))
    assert found == run(job.graph)
    assert isinstance(found[0], float)


def test_an_operator_that_cannot_be_tried_alone_is_not_blamed() -> None:
    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.nonzero() * 2

    source = torch.export.export(Model(), (torch.randn(4, 4),))

    def attempt(program: torch.export.ExportedProgram) -> None:
        if any("nonzero" in str(node.target) for node in program.graph.nodes):
            raise ValueError("no such operator here")

    assert find_unsupported(source, attempt) == ["aten.nonzero.default(float32)"]


@pytest.mark.parametrize(
    ("compiler", "module", "who"),
    [("tvm", "tvm", "TVM's importer"), ("xla", "torch_mlir", "torch-mlir")],
)
def test_a_converter_that_does_not_know_an_operator_is_named_with_it(
    compiler: str, module: str, who: str, tmp_path: Path
) -> None:
    pytest.importorskip(module)
    with pytest.raises(Unsupported) as refusal:
        create(compiler).compile(job_of(some_breaks.size_from_values(), tmp_path))
    assert str(refusal.value) == f"refused by {who}: aten.nonzero.default(float32)"


def test_xla_declines_as_xla(tmp_path: Path) -> None:
    pytest.importorskip("jaxlib")
    pytest.importorskip("torch_mlir")
    with pytest.raises(Unsupported, match=r"refused by XLA: .*unsupported op"):
        create("xla").compile(job_of(some_breaks.value_in_the_middle(), tmp_path))
