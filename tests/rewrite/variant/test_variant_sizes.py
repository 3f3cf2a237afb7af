"""Graphs at other sizes, against the models captured at those sizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from graph_net.capture import capture
from graph_net.graph import Expr, Graph, GraphError
from graph_net.graph.execute import flat_outputs, make_inputs, run
from graph_net.rewrite.lower import to_aten
from graph_net.rewrite.variant import with_sizes
from graph_net.rewrite.variant.dims import dimensions_of, tile_values
from graph_net.rewrite.variant.literals import runs
from graph_net.testing.models import case, case_graph, graph_of


def captured(name: str, change: Callable[[list[int]], None]) -> Graph:
    """A case captured with an input of another shape."""
    chosen = case(name)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = chosen.build().train(chosen.training)
        (given_,) = chosen.inputs()
        shape = list(given_.shape)
        change(shape)
        floating = given_.is_floating_point()
        other = torch.randn(shape) if floating else torch.randint(0, 50, shape)
        return to_aten(graph_of(model, (other,), name, category=chosen.category))


def setting(size: int, *dims: int) -> Callable[[list[int]], None]:
    def change(shape: list[int]) -> None:
        for dim in dims:
            shape[dim] = size

    return change


@pytest.mark.parametrize(
    ("name", "word", "size", "dims"),
    [
        ("residual", "batch", 4, (0,)),
        ("residual", "image", 64, (-1, -2)),
        ("unet", "image", 32, (-1, -2)),
        ("decoder", "batch", 3, (0,)),
        ("decoder", "sequence", 20, (1,)),
        ("encoder", "batch", 5, (0,)),
        ("encoder", "sequence", 9, (1,)),
        ("recurrent", "batch", 3, (0,)),
        ("experts", "batch", 12, (0,)),
        ("spectrum", "batch", 3, (0,)),
    ],
)
def test_a_variant_is_the_model_captured_at_that_size(
    name: str, word: str, size: int, dims: tuple[int, ...]
) -> None:
    made = with_sizes(case_graph(name), {word: size})
    wanted = captured(name, setting(size, *dims))
    assert (made.structure, made.id) == (wanted.structure, wanted.id)
    inputs = [make_inputs(wanted) for _ in range(2)]
    pairs = zip(
        flat_outputs(run(made, inputs[0])), flat_outputs(run(wanted, inputs[1])), strict=True
    )
    assert all(torch.equal(one, other) for one, other in pairs)
    assert made.provenance.option(f"variant_size_{word}") == size


class Tokens(nn.Module):
    """Patches, a class token that is expanded to the batch, and torch's own attention."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = nn.Conv2d(3, 16, 4, 4)
        self.token = nn.Parameter(torch.randn(1, 1, 16))
        self.place = nn.Parameter(torch.randn(1, 17, 16))
        self.attend = nn.MultiheadAttention(16, 4, batch_first=False)
        self.head = nn.Linear(16, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.place
        x = x.transpose(0, 1)
        found, _ = self.attend(x, x, x, need_weights=False)
        result: torch.Tensor = self.head(found[0])
        return result


def exported(model: nn.Module, batch: int, size: int = 16) -> Graph:
    return capture(model.eval(), (torch.randn(batch, 3, size, size),)).graphs[0]


def test_a_class_token_follows_the_batch() -> None:
    model = Tokens()
    made, wanted = with_sizes(exported(model, 1), {"batch": 6}), exported(model, 6)
    assert made.structure == wanted.structure
    pairs = zip(
        flat_outputs(run(made, make_inputs(wanted))), flat_outputs(run(wanted)), strict=True
    )
    assert all(torch.equal(one, other) for one, other in pairs)
    assert made.provenance.option("variant_followed_batch")


def test_a_stored_table_refuses_another_picture() -> None:
    with pytest.raises(GraphError, match=r"cannot be resized: aten\.add\.Tensor"):
        with_sizes(exported(Tokens(), 1), {"image": 32})


def test_a_dimension_may_be_named_by_its_input() -> None:
    graph = case_graph("residual")
    ((name, dim),) = dimensions_of(graph, "batch")
    assert with_sizes(graph, {f"{name}:{dim}": 2}).id == with_sizes(graph, {"batch": 2}).id


@pytest.mark.parametrize(
    ("word", "size", "words"),
    [
        ("colour", 3, "'colour' does not name a size; write batch, sequence, image"),
        ("nobody:0", 3, "no input has a dimension"),
        ("batch", 0, "batch=0 is not a size"),
        ("sequence", 8, "no input has a size called 'sequence'"),
    ],
)
def test_what_cannot_be_set_is_said(word: str, size: int, words: str) -> None:
    with pytest.raises(GraphError, match=words):
        with_sizes(case_graph("residual"), {word: size})


def symbolic() -> Graph:
    model = nn.Sequential(nn.Linear(8, 4), nn.ReLU())
    batch = torch.export.Dim("batch", min=2, max=64)
    dims: Any = ({0: batch},)
    return capture(model, (torch.randn(4, 8),), dynamic_shapes=dims).graphs[0]


def test_a_symbol_is_set_within_its_bounds() -> None:
    graph = symbolic()
    (symbol,) = graph.symbols
    made = with_sizes(graph, {"batch": 32})
    assert made.bindings == {symbol.name: 32}
    (leaf,) = flat_outputs(run(made))
    assert leaf.shape == (32, 4)
    assert with_sizes(graph, {symbol.name: 32}).bindings == made.bindings
    with pytest.raises(GraphError, match="lies outside"):
        with_sizes(graph, {"batch": 65})


def test_a_constraint_is_kept() -> None:
    graph = symbolic()
    (symbol,) = graph.symbols
    even = replace(graph, constraints=(Expr(f"Eq(Mod({symbol.name}, 2), 0)"),))
    assert with_sizes(even, {"batch": 8}).bindings == {symbol.name: 8}
    with pytest.raises(GraphError, match="breaks the constraint"):
        with_sizes(even, {"batch": 9})


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_runs_cover_both_shapes_and_have_equal_products(data: st.DataObject) -> None:
    factors = data.draw(st.lists(st.lists(st.integers(1, 5), min_size=1, max_size=3), max_size=3))
    left = tuple(size for run_ in factors for size in run_)
    right = tuple(int(torch.tensor(run_).prod()) for run_ in factors)
    found = runs(left, right)
    assert [k for ins, _ in found for k in ins] == list(range(len(left)))
    assert [k for _, outs in found for k in outs] == list(range(len(right)))
    for ins, outs in found:
        product = [1, 1]
        for k in ins:
            product[0] *= left[k]
        for k in outs:
            product[1] *= right[k]
        assert product[0] == product[1]


def test_small_literals_are_repeated_and_cut() -> None:
    assert tile_values((1, 2, 3, 4), (2, 2), (3, 1)) == (1, 3, 1)
    assert tile_values((7,), (), ()) == (7,)
