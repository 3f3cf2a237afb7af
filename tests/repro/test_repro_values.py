"""A script makes the very inputs that were measured, with plain torch."""

from __future__ import annotations

import ast
import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_net.graph import Graph, Input, Literal, Ref, TensorSpec
from graph_net.graph.execute import make_inputs
from graph_net.graph.recipe import Bernoulli, Constant, Integers, Normal, Recipe, Uniform
from graph_net.repro.inputs import INLINE, inputs_source, number
from graph_net.repro.templates import values
from graph_net.testing.compiler_graphs import GRAPHS

FLOATS = st.floats(-1e3, 1e3, width=32)
RECIPES = st.one_of(
    st.builds(Normal, st.none() | FLOATS, st.none() | st.floats(0, 50)),
    st.builds(Normal, FLOATS, st.floats(0.1, 5), st.just(-0.5), st.just(2.0)),
    st.tuples(FLOATS, FLOATS).map(lambda pair: Uniform(min(pair), max(pair))),
    st.tuples(st.integers(-100, 100), st.integers(0, 1 << 40)).map(
        lambda pair: Integers(pair[0], pair[0] + pair[1])
    ),
    st.builds(Bernoulli, st.floats(0, 1)),
    st.just(Constant(3)),
)
DTYPES = st.sampled_from("float32 float64 bfloat16 float16 int64 int8 uint8 bool complex64".split())
SHAPES = st.sampled_from([(), (0,), (5,), (3, 7), (4100,), (2, 5000)])


def remade(graph: Graph, seed: int = 0) -> list[Any]:
    """What the source of the inputs makes; it is our own source of harmless graphs."""
    space: dict[str, Any] = {**vars(values), "math": math, "Any": Any}
    exec(inputs_source(graph, "cpu", seed), space)
    return list(space["make_inputs"]())


def same(one: Any, other: Any) -> bool:
    if not isinstance(one, torch.Tensor):
        return bool(one == other)
    raw = [v.contiguous().reshape(-1).view(torch.uint8) for v in (one, other)]
    return one.dtype == other.dtype and one.stride() == other.stride() and torch.equal(*raw)


def with_input(recipe: Recipe, shape: tuple[int, ...], dtype: str, **more: Any) -> Graph:
    return Graph((Input("x", TensorSpec(shape, dtype, **more), recipe),), (), Ref("x"))


@given(RECIPES, SHAPES, DTYPES, st.integers(0, 3))
@settings(max_examples=150)
def test_drawn_values_are_the_same_bits(
    recipe: Recipe, shape: tuple[int, ...], dtype: str, seed: int
) -> None:
    graph = with_input(recipe, shape, dtype)
    (one,), (other,) = make_inputs(graph, seed=seed), remade(graph, seed)
    assert same(one, other)


def test_more_values_than_are_drawn_at_a_time() -> None:
    graph = with_input(Normal(0.0, 1.0), (values.CHUNK * values.BLOCK * 4 + 17,), "float32")
    assert same(make_inputs(graph)[0], remade(graph)[0])


@pytest.mark.parametrize("count", [3, INLINE + 1])
@pytest.mark.parametrize(
    ("dtype", "numbers"),
    [("float32", [0.1, math.inf, -math.inf]), ("int64", [1, -2, 3]), ("bool", [True, False, True]),
     ("complex64", [1 + 2j, 0j, -1j]), ("bfloat16", [0.1, 0.2, math.nan])],
)  # fmt: skip
def test_literals_keep_their_values(count: int, dtype: str, numbers: list[Any]) -> None:
    chosen = tuple((numbers * count)[:count])
    graph = with_input(Literal(chosen), (count,), dtype)
    assert same(make_inputs(graph)[0], remade(graph)[0])


@pytest.mark.parametrize("strides", [(1, 3), (0, 1), (10, 2)])
def test_strides_are_kept(strides: tuple[int, ...]) -> None:
    graph = with_input(Normal(0.0, 1.0), (3, 4), "float32", stride=strides)
    assert same(make_inputs(graph)[0], remade(graph)[0])


@pytest.mark.parametrize("name", sorted(GRAPHS))
def test_inputs_of_every_kind_of_graph(name: str) -> None:
    graph = GRAPHS[name]()
    found = zip(make_inputs(graph), remade(graph), strict=True)
    assert all(same(one, other) for one, other in found)


@given(
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text()),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner),
        max_leaves=8,
    )
)
def test_plain_values_are_written_as_plain_values(value: Any) -> None:
    text = number(value)
    for node in ast.walk(ast.parse(text, mode="eval")):
        allowed = (ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.Expression, ast.UnaryOp,
                   ast.USub, ast.Load, ast.Attribute, ast.Name)  # fmt: skip
        assert isinstance(node, allowed)
        assert not isinstance(node, ast.Name) or node.id == "math"
    assert eval(text, {"math": math}) == value  # noqa: S307 - only what was just allowed
