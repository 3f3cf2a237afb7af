"""Calls of a graph under layouts: what they do, as numbers, made once for equal strides."""

from __future__ import annotations

import numpy as np
import pytest

from configs.layouts.layout_graphs import images_graph, sequence_graph
from graph_net.configs.layouts.call_features import COLUMNS, WORK, call_row, call_rows
from graph_net.configs.layouts.call_work import (
    CallKind,
    OrderCode,
    flops_of,
    is_free,
    kind_of,
    matrices_of,
    moved_by,
    order_code,
)
from graph_net.configs.layouts.calls import LayoutCall
from graph_net.configs.layouts.draws import draw_layouts, uniform_layouts
from graph_net.configs.layouts.layout_config import default_layout
from graph_net.configs.layouts.rewrite import LayoutRewriter
from graph_net.graph import Graph, TensorSpec


def calls_by_name(rewriter: LayoutRewriter, number: int | None = None) -> dict[str, LayoutCall]:
    """Return the calls of the original, or of a uniform layout."""
    layouts = uniform_layouts(rewriter.sites)
    layout = default_layout(rewriter.sites) if number is None else layouts[number]
    return {call.node.name: call for call in rewriter.calls(layout)}


def column(call: LayoutCall, name: str) -> float:
    """Return one number of a call."""
    return call_row(call)[COLUMNS.index(name)]


@pytest.mark.parametrize("graph", [images_graph(), sequence_graph()], ids=["images", "sequence"])
def test_a_call_that_was_made_before_is_the_same_as_a_new_one(graph: Graph) -> None:
    used = LayoutRewriter(graph)
    layouts = [*uniform_layouts(used.sites), *draw_layouts(used.sites, 20, set(), [], 3)]
    for layout in layouts:
        fresh, again = LayoutRewriter(graph).apply(layout), used.apply(layout)
        assert again.graph == fresh.graph
        assert again.copies == fresh.copies
        assert np.array_equal(call_rows(used.calls(layout)), call_rows(fresh.calls))
    made = len(used.table.calls)
    for layout in layouts:
        used.apply(layout)
    assert len(used.table.calls) == made


def test_equal_calls_of_two_layouts_are_one_object() -> None:
    rewriter = LayoutRewriter(images_graph())
    assert calls_by_name(rewriter)["conv"] is calls_by_name(rewriter)["conv"]


def test_views_are_free_and_calls_in_place_are_not() -> None:
    calls = calls_by_name(LayoutRewriter(images_graph()))
    free = {name for name, call in calls.items() if is_free(call)}
    assert free == {"flat", "turned", "swapped", "last"}
    assert call_rows(calls.values()).shape == (len(calls) - len(free), len(COLUMNS) + len(WORK))


def test_work_of_convolutions_and_products() -> None:
    calls = calls_by_name(LayoutRewriter(images_graph()))
    conv, line, product = (calls[name] for name in ("conv", "line", "product"))
    assert kind_of(conv) is CallKind.CONVOLUTION
    assert matrices_of(conv) == (2 * 8 * 8, 4, 27, 1)
    assert flops_of(conv) == 2 * 2 * 8 * 8 * 4 * 27
    assert moved_by(conv) == 4 * (2 * 3 * 64 + 4 * 27 + 2 * 4 * 64)
    assert matrices_of(line) == (16, 6, 32, 1)
    assert matrices_of(product) == (6, 6, 8, 2)
    assert flops_of(calls["total"]) == 0


def test_a_layout_changes_the_orders_of_a_call() -> None:
    rewriter = LayoutRewriter(images_graph())
    usual = calls_by_name(rewriter)["mixed"]
    codes = {
        column(calls_by_name(rewriter, number)["mixed"], "order_result")
        for number in range(len(uniform_layouts(rewriter.sites)))
    }
    assert column(usual, "order_result") == OrderCode.PLAIN
    assert OrderCode.LAST in codes


@pytest.mark.parametrize(
    ("sizes", "strides", "code"),
    [
        ((4, 1, 1), (1, 1, 1), OrderCode.FLAT),
        ((2, 3, 4, 5), None, OrderCode.PLAIN),
        ((2, 3, 4, 5), (60, 1, 15, 3), OrderCode.LAST),
        ((3, 4), (1, 3), OrderCode.DENSE),
        ((3, 4), (8, 1), OrderCode.GAPPED),
        ((3, 4), (0, 1), OrderCode.GAPPED),
    ],
)
def test_order_codes(
    sizes: tuple[int, ...], strides: tuple[int, ...] | None, code: OrderCode
) -> None:
    assert order_code(TensorSpec(sizes, "float32", strides)) is code
