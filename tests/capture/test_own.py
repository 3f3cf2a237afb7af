"""Models of the user's own, named by file."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from graph_net.capture import capture_user_model
from graph_net.capture.user_inputs import UserInput, UserSize, parse_dynamic, parse_input
from graph_net.graph import Graph, GraphError, Role, TensorSpec

SOURCE = """
import torch
from torch import nn

import beside


class Net(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.layer = nn.Linear(4, width)

    def forward(self, x, mask=None, scale=1.0):
        y = self.layer(x).relu() * scale
        return y if mask is None else y * mask


class Needs(nn.Module):
    def __init__(self, width):
        super().__init__()


class Plain:
    pass


net = Net()
number = 7


def pair():
    import beside_later

    return Net(beside.WIDTH), (torch.zeros(3, 4),)


def named():
    return Net(), {"x": torch.zeros(3, 4), "mask": torch.zeros(3, 8)}


def product(a, b):
    return torch.softmax(a @ b, -1)


def lookup(ids):
    return torch.zeros(100, 4)[ids]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file with models of many kinds, and two modules beside it."""
    (tmp_path / "beside.py").write_text("WIDTH = 16\n")
    (tmp_path / "beside_later.py").write_text("")
    (tmp_path / "models.py").write_text(SOURCE)
    return tmp_path / "models.py"


def own(file: Path, name: str, *inputs: str, dynamic: tuple[str, ...] = ()) -> Graph:
    """The only graph of a captured model."""
    (graph,) = capture_user_model(f"{file}:{name}", inputs, dynamic).graphs
    return graph


def shapes(graph: Graph) -> dict[str, list[str]]:
    """The user's inputs and their sizes."""
    return {
        entry.name: [str(getattr(dim, "text", dim)) for dim in entry.spec.shape]
        for entry in graph.inputs
        if entry.role is Role.INPUT and isinstance(entry.spec, TensorSpec)
    }


@pytest.mark.parametrize(
    ("name", "inputs", "found"),
    [
        ("pair", (), {"x": ["3", "4"]}),
        ("named", (), {"x": ["3", "4"], "mask": ["3", "8"]}),
        ("pair", ("x=float32[5,4]",), {"x": ["5", "4"]}),
        ("net", ("float32[2,4]",), {"x": ["2", "4"]}),
        ("Net", ("float32[2,4]", "mask=float32[2,8]"), {"x": ["2", "4"], "mask": ["2", "8"]}),
        ("product", ("a=float32[2,3]", "b=float32[3,5]"), {"a": ["2", "3"], "b": ["3", "5"]}),
    ],
)
def test_modules_classes_makers_and_functions_are_captured(
    file: Path, name: str, inputs: tuple[str, ...], found: dict[str, list[str]]
) -> None:
    graph = own(file, name, *inputs)
    assert shapes(graph) == found
    assert (graph.provenance.library, graph.provenance.model) == ("models", name)


def test_a_dynamic_size_is_a_symbol_of_that_name_in_every_place(file: Path) -> None:
    inputs = ("x=float32[6,4]", "mask=float32[6,8]")
    graph = own(file, "Net", *inputs, dynamic=("batch:2..64=x.0,mask.0",))
    assert shapes(graph) == {"x": ["batch", "4"], "mask": ["batch", "8"]}
    (symbol,) = graph.symbols
    assert (symbol.name, symbol.example, symbol.low, symbol.high) == ("batch", 6, 2, 64)


def test_a_number_becomes_part_of_the_graph(file: Path) -> None:
    graph = own(file, "Net", "x=float32[2,4]", "scale=0.5")
    assert shapes(graph) == {"x": ["2", "4"]}
    assert any(0.5 in node.args for node in graph.nodes)


def test_the_path_of_imports_is_as_it_was(file: Path) -> None:
    import sys

    before = list(sys.path)
    own(file, "pair")
    assert sys.path == before


def test_without_weights_parameters_have_only_shapes(file: Path) -> None:
    real = own(file, "pair")
    (empty,) = capture_user_model(f"{file}:pair", weights=False).graphs
    assert empty.structure == real.structure


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("absent", "does not define 'absent'; it defines .*Net"),
        ("number", "is of type int, neither a module nor a function"),
        ("Plain", "is the class Plain, which is not an nn.Module"),
        ("Needs", "missing a required argument: 'width'; name a function that makes it"),
        ("product", "it takes a, b: give each as --input"),
    ],
)
def test_what_is_no_model_is_named(file: Path, name: str, words: str) -> None:
    with pytest.raises(GraphError, match=words):
        capture_user_model(f"{file}:{name}")


@pytest.mark.parametrize("place", ["models", "models.py", "models.py:", "models.txt:make"])
def test_a_place_is_a_file_and_a_name(place: str) -> None:
    with pytest.raises(GraphError, match=r"write path/to/file\.py:name"):
        capture_user_model(place)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(GraphError, match=r"none\.py does not exist"):
        capture_user_model(f"{tmp_path / 'none.py'}:make")


def test_inputs_are_written_by_dtype_and_sizes() -> None:
    assert parse_input("x=float32[2, 3]") == UserInput("x", "float32", (2, 3))
    assert parse_input("bool[]") == UserInput("", "bool", ())
    assert parse_input("ids=int64[4]:9") == UserInput("ids", "int64", (4,), 9)
    assert parse_input("on=true") == UserInput("on", scalar=True)
    for wrong in ("x", "x=float32", "x=float32[-1]", "x=float32[a]"):
        with pytest.raises(GraphError, match="is not an input"):
            parse_input(wrong)
    with pytest.raises(GraphError, match="no dtype 'float33'"):
        parse_input("x=float33[2]")


def test_whole_numbers_stay_below_their_bound(file: Path) -> None:
    values = parse_input("ids=int64[1000]:9").value()
    assert (int(values.min()), int(values.max())) == (0, 8)
    assert parse_input("x=bfloat16[2]").value().dtype == torch.bfloat16


def test_dynamic_sizes_are_written_by_place() -> None:
    assert parse_dynamic("b=x.0,y.1") == UserSize("b", (("x", 0), ("y", 1)))
    assert parse_dynamic("b:2..8=x.0") == UserSize("b", (("x", 0),), 2, 8)
    for wrong in ("b", "b=x", "b=x.y", "b:2=x.0"):
        with pytest.raises(GraphError, match="is not a dynamic size"):
            parse_dynamic(wrong)


@pytest.mark.parametrize(
    ("dynamic", "words"),
    [("b=y.0", "no input 'y'; it has x"), ("b=x.2", "input 'x' has no dimension 2")],
)
def test_a_place_that_no_input_has_is_named(file: Path, dynamic: str, words: str) -> None:
    with pytest.raises(GraphError, match=words):
        own(file, "Net", "x=float32[2,4]", dynamic=(dynamic,))


def test_a_size_that_the_model_fixes_is_refused_and_says_why(file: Path) -> None:
    with pytest.raises(GraphError, match=r"Constraints violated \(columns\).* - .*columns"):
        own(file, "Net", "x=float32[2,4]", dynamic=("columns=x.1",))
