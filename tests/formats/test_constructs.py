"""Every statement, expression and call target of the public samples, one at a time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

import oracle
from formats.constructs import CONSTRUCTS, Construct, source_of
from graph_net.formats.graphnet import read_sample
from graph_net.formats.graphnet.model_source import Body, read_model
from graph_net.formats.graphnet.write import write_sample
from graph_net.graph import (
    DEFAULT_LIMITS,
    DictValue,
    Dtype,
    ListValue,
    Ref,
    RunDevice,
    Slice,
    TorchConstant,
    Value,
)
from graph_net.graph.execute import make_inputs, run
from graph_net.graph.resolve import resolve
from real_files import SHARED, SLICES

CENSUS = "graphnet/call_targets.json"
BINARY = {
    "Add": ("+", "add"), "Sub": ("-", "sub"), "Mult": ("*", "mul"), "Div": ("/", "truediv"),
    "FloorDiv": ("//", "floordiv"), "Mod": ("%", "mod"), "Pow": ("**", "pow"),
    "MatMult": ("@", "matmul"), "BitAnd": ("&", "and_"), "BitOr": ("|", "or_"),
    "BitXor": ("^", "xor"), "LShift": ("<<", "lshift"), "RShift": (">>", "rshift"),
}  # fmt: skip
UNARY = {
    "USub": ("-", "neg"), "UAdd": ("+", "pos"), "Invert": ("~", "invert"), "Not": ("not", "not_"),
}  # fmt: skip
COMPARE = {
    "Lt": ("<", "lt"), "LtE": ("<=", "le"), "Gt": (">", "gt"), "GtE": (">=", "ge"),
    "Eq": ("==", "eq"), "NotEq": ("!=", "ne"), "Is": ("is", "is_"), "IsNot": ("is not", "is_not"),
}  # fmt: skip


def read(body: str) -> Body:
    return read_model(source_of(body), DEFAULT_LIMITS)


def spelled(value: Value) -> str:
    """A value as one would write it by hand."""
    match value:
        case Ref(name):
            return name
        case Dtype(name) | TorchConstant(name):
            return f"torch.{name}"
        case RunDevice():
            return "<device>"
        case Slice(start, stop, step):
            return f"slice({spelled(start)}, {spelled(stop)}, {spelled(step)})"
        case ListValue(items):
            return f"[{', '.join(map(spelled, items))}]"
        case DictValue(pairs):
            return "{" + ", ".join(f"{key!r}: {spelled(item)}" for key, item in pairs) + "}"
        case tuple():
            inside = ", ".join(map(spelled, value))
            return f"({inside},)" if len(value) == 1 else f"({inside})"
    return "..." if value is ... else repr(value)


def calls_of(body: Body) -> str:
    lines = []
    for node in body.nodes:
        words = [spelled(value) for value in node.args]
        words += [f"{key}={spelled(value)}" for key, value in node.kwargs]
        lines.append(f"{node.name} = {node.target}({', '.join(words)})")
    return "\n".join(lines)


@pytest.mark.parametrize("construct", CONSTRUCTS, ids=lambda construct: construct.what)
def test_it_is_read_as_these_calls(construct: Construct) -> None:
    body = read(construct.body)
    assert calls_of(body) == construct.calls
    assert spelled(body.output) == construct.output


def values() -> dict[str, Any]:
    return {
        "x": torch.linspace(-2, 3, 12).reshape(2, 2, 3),
        "i": torch.tensor([0, 1]),
        "b": torch.tensor([[[True, False, True], [False] * 3], [[True] * 3, [False] * 3]]),
        "s": 2,
    }


@pytest.mark.parametrize("construct", CONSTRUCTS, ids=lambda construct: construct.what)
def test_it_computes_what_python_computes(construct: Construct, tmp_path: Path) -> None:
    oracle.write_files(tmp_path / "a", source_of(construct.body), values())
    graph = read_sample(tmp_path / "a")
    ours, theirs, again = (make_inputs(graph) for _ in range(3))
    expected = oracle.execute(tmp_path / "a", theirs)
    assert oracle.same(run(graph, ours), expected)
    assert oracle.same(ours, theirs)
    write_sample(graph, tmp_path / "b")
    assert read_sample(tmp_path / "b") == graph
    assert oracle.same(oracle.execute(tmp_path / "b", again), expected)
    assert oracle.same(again, theirs)


def test_arguments_that_differ_only_in_case_stay_apart(tmp_path: Path) -> None:
    source = source_of("return L_x - l_x * 2", "L_x: torch.Tensor, l_x: torch.Tensor")
    oracle.write_files(tmp_path / "a", source, {"L_x": torch.ones(2), "l_x": torch.zeros(2)})
    graph = read_sample(tmp_path / "a")
    write_sample(graph, tmp_path / "b")
    assert read_sample(tmp_path / "b") == graph
    assert oracle.same(oracle.execute(tmp_path / "b", make_inputs(graph)), torch.ones(2))


@pytest.mark.parametrize(("sign", "word"), BINARY.values(), ids=BINARY)
def test_binary_operators_and_their_in_place_forms(sign: str, word: str) -> None:
    assert calls_of(read(f"y = x {sign} i\nreturn y")) == f"y = operator.{word}(x, i)"
    changed = f"y = operator.i{word.rstrip('_')}(x, i)"
    assert calls_of(read(f"x {sign}= i;  y = x;  x = None\nreturn y")) == changed


@pytest.mark.parametrize(("sign", "word"), UNARY.values(), ids=UNARY)
def test_unary_operators(sign: str, word: str) -> None:
    assert calls_of(read(f"y = {sign} x\nreturn y")) == f"y = operator.{word}(x)"


@pytest.mark.parametrize(("sign", "word"), COMPARE.values(), ids=COMPARE)
def test_comparisons(sign: str, word: str) -> None:
    assert calls_of(read(f"y = x {sign} i\nreturn y")) == f"y = operator.{word}(x, i)"


def test_imports_give_the_names_that_python_gives() -> None:
    imports = (
        '"""A docstring."""\nimport torch.nn\nimport torch.nn.functional as F\n'
        "from torch.nn import functional as G\nfrom torch import relu as r, float16\n"
    )
    body = "return torch.abs(r(F.gelu(G.silu(x.to(float16)))))"
    assert calls_of(read_model(imports + source_of(body), DEFAULT_LIMITS)) == (
        "to_v1 = method:to(x, torch.float16)\nsilu_v2 = torch.nn.functional.silu(to_v1)\n"
        "gelu_v3 = torch.nn.functional.gelu(silu_v2)\nrelu_v4 = torch.relu(gelu_v3)\n"
        "abs_v5 = torch.abs(relu_v4)"
    )


# -- the census of the public samples -----------------------------------------------------------


def read_census() -> list[str]:
    """Return the spellings of the slice, and of the whole census where it is there."""
    files = [folder / CENSUS for folder in (SLICES, SHARED / "data")]
    return sorted(set().union(*(json.loads(path.read_text()) for path in files if path.exists())))


def statement_for(spelling: str) -> str:
    """A statement that uses one spelling of the census."""
    kind, _, word = spelling.partition(":")
    if kind == "op":
        return f"y = {UNARY[word][0]} x" if word in UNARY else f"y = x {BINARY[word][0]} i"
    if kind == "cmp":
        return f"y = x {COMPARE[word][0]} i"
    if kind == "method":
        return f"y = x.{word}(i)"
    plain: Mapping[str, str] = {
        "subscript": "y = x[0]",
        "slice": "y = x[slice(None, 1, None)]",
        "device": "y = x.to(device(type='cuda', index=0))",
    }
    return plain.get(spelling, f"y = {spelling}(x, i)")


def function_named(path: str) -> object:
    found: object = torch
    for part in path.split(".")[1:]:
        found = getattr(found, part)
    return found


@pytest.mark.parametrize("spelling", read_census())
def test_every_call_target_of_the_census(spelling: str) -> None:
    source = source_of(f"{statement_for(spelling)}\nreturn y")
    if "_functorch" in spelling:
        body = read_model(source, DEFAULT_LIMITS)
        assert body.internals == {"y": spelling.rpartition(".")[2]}
        return
    (node,) = read_model(source, DEFAULT_LIMITS).nodes
    kind, _, word = spelling.partition(":")
    signs = {**BINARY, **UNARY, **COMPARE}
    if kind in ("op", "cmp"):
        assert node.target == f"operator.{signs[word][1]}"
    elif kind == "method":
        assert node.target == spelling
    elif spelling == "device":
        assert node.args == (Ref("x"), RunDevice())
    elif spelling in ("subscript", "slice"):
        assert node.target == "operator.getitem"
    else:
        assert resolve(node.target) is function_named(spelling)
    assert callable(resolve(node.target))
