"""Compilers by name, by GraphNet's names, and from a user's own file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from graph_net.compilers import CompilerError, Job, Unsupported, available, compiler_names, create
from graph_net.compilers.registry import parse_options
from graph_net.graph.execute import make_inputs, run
from graph_net.testing.compiler import check_compiler
from graph_net.testing.compiler_graphs import GRAPHS

OWN = '''
"""A compiler in about 30 lines: TorchScript's tracer."""
import torch

from graph_net.compilers import Compiler, Unsupported
from graph_net.compilers.export import export_program, pure_function_of


class Traced(Compiler):
    """``torch.jit.trace``; ``freeze`` lets it fold constants."""

    name = "traced"
    packages = ("torch",)
    defaults = {"freeze": True}

    def compile(self, job):
        program = pure_function_of(job)
        module = export_program(job, program).module()
        try:
            traced = torch.jit.trace(module, program.examples(job), check_trace=False)
        except RuntimeError as error:
            raise Unsupported([str(error)]) from error
        if self.options["freeze"]:
            traced = torch.jit.freeze(traced.eval())
        return program.runner(job, lambda tensors: traced(*tensors))
'''


@pytest.mark.filterwarnings("ignore")
def test_a_users_compiler_takes_thirty_lines_and_passes_the_kit(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(OWN)
    assert len(OWN.strip().splitlines()) <= 32
    compiler = create(f"{file}:Traced", {"freeze": False})
    assert compiler.name == "traced"
    report = check_compiler(compiler, graphs=("matmul", "conv", "mutation", "nested", "number"))
    assert len(report.taken) == 5


def test_the_only_compiler_of_a_file_needs_no_name(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(OWN)
    assert create(str(file)).name == "traced"


def test_a_users_compiler_may_import_what_lies_beside_it_and_have_dataclasses(
    tmp_path: Path,
) -> None:
    (tmp_path / "beside_the_compiler.py").write_text("NAME = 'beside'")
    words = "from __future__ import annotations\nfrom dataclasses import dataclass\n"
    table = "\n\n@dataclass\nclass Table:\n    rows: int = 0\n"
    own = OWN.replace("import torch", "import torch\nfrom beside_the_compiler import NAME", 1)
    file = tmp_path / "with_helper.py"
    file.write_text(words + own + table)
    before = list(sys.path)
    assert create(f"{file}:Traced").name == "traced"
    assert sys.path == before


@pytest.mark.parametrize(
    "name", ["nope", "inductor", "tvm", "xla", "tensorrt", "bladedisc", "cinn", "onnxruntime"]
)
def test_graphnets_names_all_lead_to_a_compiler(name: str) -> None:
    compiler = create(name)
    assert compiler.name == ("eager" if name == "nope" else name)
    assert compiler.devices


def test_an_absent_compiler_says_how_to_get_it() -> None:
    reasons = available()
    assert list(reasons) == compiler_names()
    assert reasons["eager"] is None
    assert "torch-tensorrt" in (reasons["tensorrt"] or "torch-tensorrt")


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(CompilerError, match="unknown compiler 'gcc'; known: eager, inductor"):
        create("gcc")


@pytest.mark.parametrize("name", compiler_names())
def test_an_unknown_option_is_refused_by_name(name: str) -> None:
    if name == "tensorrt":
        pytest.skip("hands its options on")
    with pytest.raises(CompilerError, match="no_such_option"):
        create(name, {"no_such_option": 1})


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("inductor", {"mode": "fastest"}, "it has: default, reduce-overhead, max-autotune"),
        ("inductor", {"max_autotun": True}, "did you mean max_autotune"),
        ("onnxruntime", {"level": 3}, "it has: disable, basic"),
        ("tvm", {"trials": -1}, "a whole number from 0"),
        ("iree", {"level": "O9"}, "it has: O0"),
        ("openvino", {"precision": "f8"}, "it has: f32"),
        ("tensorrt", {"optimization_level": 9}, "0 to 5"),
    ],
)
def test_a_wrong_value_is_answered_with_the_right_ones(
    name: str, options: dict[str, object], words: str
) -> None:
    with pytest.raises(CompilerError, match=words):
        create(name, options)  # type: ignore[arg-type]


def test_options_are_json_or_pairs() -> None:
    assert parse_options('{"mode": "max-autotune"}') == {"mode": "max-autotune"}
    assert parse_options("mode=max-autotune,epilogue_fusion=false") == {
        "mode": "max-autotune",
        "epilogue_fusion": False,
    }


def test_the_package_imports_with_torch_and_numpy_alone() -> None:
    """A bare machine has none of the compilers' libraries; listing them must work there."""
    code = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"onnx", "onnxruntime", "onnxscript", "tvm", "jax", "jaxlib",
                                  "torch_mlir", "iree", "openvino", "typer", "rich", "pyarrow"}:
            raise ModuleNotFoundError(name)
        return None
sys.meta_path.insert(0, Absent())
from graph_net.compilers import create, compiler_names
for name in compiler_names():
    assert create(name).missing() or name in ("eager", "inductor"), name
import graph_net.testing.compiler
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_cinn_takes_no_graph_of_torch() -> None:
    graph = GRAPHS["matmul"]()
    job = Job(graph, tuple(make_inputs(graph)), "cpu", Path())
    with pytest.raises(Unsupported, match="cinn takes level paddle"):
        create("cinn").compile(job)


def test_eager_is_the_reference_itself() -> None:
    graph = GRAPHS["matmul"]()
    inputs = make_inputs(graph)
    runner = create("eager").compile(Job(graph, tuple(inputs), "cpu", Path()))
    assert torch.equal(runner(inputs), run(graph, inputs))
