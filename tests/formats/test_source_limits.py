"""A sample's source takes bounded memory to read, however many megabytes one call of it has."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from graph_net.formats.graphnet import read_sample
from graph_net.formats.graphnet.meta_source import read_meta
from graph_net.formats.graphnet.parsing import PIECE, class_pieces, excerpt, parse
from graph_net.formats.graphnet.write import write_sample
from graph_net.graph import Graph, GraphError, Input, Literal, Node, Ref, TensorSpec
from graph_net.graph.errors import LimitExceeded
from graph_net.graph.limits import DEFAULT_LIMITS, GraphLimits

CALL = 4 << 20
ROOM = 128 << 10  # KiB
MODEL = """import torch


class GraphModule(torch.nn.Module):
    def forward(
        self,
        x: torch.Tensor,
    ):
        y = {}
        return y
"""
READ = """
import resource, sys
from graph_net.formats.graphnet import read_sample
from graph_net.graph import GraphError
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    read_sample(sys.argv[1])
except GraphError as error:
    print(error)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    entry = Input("x", TensorSpec((2,), "float32"), Literal((1.0, 2.0)))
    node = Node("y", "torch.relu", (Ref("x"),))
    write_sample(Graph((entry,), (node,), Ref("y")), tmp_path / "sample")
    return tmp_path / "sample"


def read_in_child(sample: Path) -> tuple[str, int]:
    """What reading says, and the KiB it added to the largest size of a process of its own."""
    words = [sys.executable, "-c", READ, str(sample)]
    *said, grown = subprocess.run(
        words, check=True, capture_output=True, text=True
    ).stdout.splitlines()
    return " ".join(said), int(grown)


@pytest.mark.parametrize("unit", ["1,", "x,", "-1,", "[],", "x.x,", "a=1,", "{},", "x or ", "x;"])
def test_a_call_of_four_megabytes_is_refused_in_little_memory(sample: Path, unit: str) -> None:
    call = f"torch.cat({unit * (CALL // len(unit))})"
    (sample / "model.py").write_text(MODEL.format(call))
    said, grown = read_in_child(sample)
    assert said == "model.py has more than 1500000 tokens in one piece"
    assert grown < ROOM


@pytest.mark.parametrize("name", ["weight_meta.py", "input_tensor_constraints.py"])
def test_a_list_of_four_megabytes_is_refused_in_little_memory(sample: Path, name: str) -> None:
    (sample / name).write_text(f"class A:\n    name = [{'1,' * (CALL // 2)}]\n")
    said, grown = read_in_child(sample)
    assert said == f"{name} has more than 1500000 tokens in one piece"
    assert grown < ROOM


def test_many_metadata_classes_are_read_in_pieces() -> None:
    one = 'class A_{0}:\n    name = "{0}"\n    data = [{1}]\n'
    source = "".join(one.format(i, "1," * 40_000) for i in range(42))
    pieces = list(class_pieces(source))
    assert len(pieces) > 3
    assert "".join(text for _, text in pieces) == source
    assert all(len(text) <= PIECE for _, text in pieces)
    assert [source.count("\n", 0, source.index(text)) for _, text in pieces] == [
        lines for lines, _ in pieces
    ]
    few = GraphLimits(tokens=PIECE)
    assert list(read_meta(source, "weight_meta.py", few)) == [str(i) for i in range(42)]


def test_an_error_in_a_later_piece_has_its_line() -> None:
    source = "".join(f'class A_{i}:\n    name = "{"n" * 60_000}{i}"\n' for i in range(40))
    source += "class B:\n    name = print(1)\n"
    with pytest.raises(GraphError, match=r"not a literal: print\(1\) \(line 82\)"):
        read_meta(source, "weight_meta.py", DEFAULT_LIMITS)


def test_a_file_of_many_letters_and_few_words_is_read(sample: Path) -> None:
    text = (sample / "model.py").read_text()
    (sample / "model.py").write_text(text + f"# {'x' * CALL}\n")
    assert len(read_sample(sample).nodes) == 1


def test_a_limit_counts_words_and_lines() -> None:
    assert parse("a = 1\n", "some.py", GraphLimits(tokens=5)).body
    with pytest.raises(LimitExceeded, match=r"some\.py has more than 4 tokens"):
        parse("a = 1\n", "some.py", GraphLimits(tokens=4))


def test_what_is_quoted_in_an_error_is_short() -> None:
    assert excerpt(ast.parse("print( 1 )").body[0]) == "print(1)"
    assert excerpt(ast.parse("[" + "1," * 500 + "]").body[0]) == "a long Expr"
