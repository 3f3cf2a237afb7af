"""A graph under a layout computes the same, with the strides and copies that were foretold."""

from __future__ import annotations

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from configs.layouts.layout_graphs import images_graph, real_values, sequence_graph
from graph_net.configs.layouts.copies import COPYING, CopyKind
from graph_net.configs.layouts.draws import uniform_layouts
from graph_net.configs.layouts.layout_arms import relative_error
from graph_net.configs.layouts.layout_config import (
    Layout,
    codes_of,
    default_layout,
    layout_config,
    layout_of_codes,
    layout_text,
    read_layout,
)
from graph_net.configs.layouts.orders import same_layout
from graph_net.configs.layouts.rewrite import LayoutRewriter, RewrittenGraph
from graph_net.configs.layouts.sites import LayoutError, Setting, SiteKind, find_sites
from graph_net.graph import Graph, Node, Ref, TensorSpec, from_bytes, to_bytes
from graph_net.graph.execute import run
from graph_net.graph.outputs import flat_outputs
from graph_net.results import ConfigKind

REWRITERS = [LayoutRewriter(images_graph()), LayoutRewriter(sequence_graph())]
IMAGES, SEQUENCE = REWRITERS
OUTPUTS = [flat_outputs(run(rewriter.graph)) for rewriter in REWRITERS]


def layouts(rewriter: LayoutRewriter, every_order: bool) -> st.SearchStrategy[Layout]:
    """Layouts of a graph: as a search draws them, or of any orders at all."""
    if not every_order:
        return st.tuples(*(st.sampled_from(site.choices) for site in rewriter.sites))

    def order(rank: int) -> st.SearchStrategy[tuple[int, ...] | None]:
        if not rank:
            return st.none()
        return st.none() | st.permutations(range(rank)).map(tuple)

    return st.tuples(
        *(
            st.builds(Setting, order(s.output_rank), order(s.input_rank), order(s.kernel_rank))
            for s in rewriter.sites
        )
    )


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("every_order", [False, True])
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_every_layout_computes_the_same_with_the_strides_foretold(
    which: int, every_order: bool, data: st.DataObject
) -> None:
    rewriter = REWRITERS[which]
    made = rewriter.apply(data.draw(layouts(rewriter, every_order)))
    values = real_values(made.graph)
    for node in made.graph.nodes:
        assert isinstance(node.result, TensorSpec)
        tensor = values[node.name]
        wanted = node.result.strides({}) or torch.empty(tensor.shape).stride()
        assert same_layout(tensor.shape, tensor.stride(), wanted), node
    for output, expected in zip(flat_outputs(run(made.graph)), OUTPUTS[which], strict=True):
        assert relative_error(output, expected) < 1e-5
        assert same_layout(output.shape, output.stride(), expected.stride())
    assert from_bytes(to_bytes(made.graph)) == made.graph


def test_the_default_layout_leaves_the_graph_unchanged() -> None:
    for rewriter in REWRITERS:
        assert rewriter.apply(default_layout(rewriter.sites)).graph is rewriter.graph


def test_a_parameter_is_given_in_its_order_and_not_copied() -> None:
    made = _apply(IMAGES, "mixed", Setting(kernel=(1, 3, 2, 0)))
    spec = made.graph.index["w2"].spec  # type: ignore[union-attr]
    assert isinstance(spec, TensorSpec)
    assert spec.stride == (4, 1, 4, 4)
    assert [n.name for n in made.graph.nodes] == [n.name for n in IMAGES.graph.nodes]


def test_an_activation_is_copied_into_the_order_asked_for() -> None:
    made = _apply(IMAGES, "conv", Setting(input=(1, 3, 2, 0)))
    copies = [copy for copy in made.copies.copies if copy.kind is CopyKind.EXPLICIT]
    assert copies[0].bytes == 2 * 3 * 8 * 8 * 4
    names = [node.target for node in made.graph.nodes][:2]
    assert names == ["aten.clone.default", "aten.conv2d.default"]


def test_what_already_has_the_order_is_not_copied() -> None:
    made = _apply(IMAGES, "conv", Setting(input=(3, 2, 1, 0)))
    assert made.copies.count(CopyKind.EXPLICIT) == 0


def test_any_other_order_is_a_copy_between_two_permutations() -> None:
    made = _apply(IMAGES, "conv", Setting(input=(0, 1, 2, 3)))
    targets = [node.target for node in made.graph.nodes][:4]
    permute = "aten.permute.default"
    assert targets == [permute, "aten.clone.default", permute, "aten.conv2d.default"]


def test_a_view_that_strides_do_not_allow_becomes_a_reshape_whose_copy_is_counted() -> None:
    made = _apply(IMAGES, "conv", Setting(output=(1, 3, 2, 0)))
    flat = next(node for node in made.graph.nodes if node.name == "flat")
    assert flat.target == "aten.reshape.default"
    assert [c.node for c in made.copies.copies if c.kind is CopyKind.EAGER] == ["flat"]


def test_the_calls_that_copy_are_as_many_as_a_real_run_makes() -> None:
    for rewriter in REWRITERS:
        for layout in uniform_layouts(rewriter.sites):
            made = rewriter.apply(layout)
            told = made.copies.count(CopyKind.EXPLICIT) + made.copies.count(CopyKind.EAGER)
            assert told == _copying_calls(made.graph)


def test_memory_that_a_call_overwrites_is_not_cut_from_its_views() -> None:
    graph = images_graph()
    changed = Node("late", "aten.relu_.default", (Ref("turned"),), (), graph.nodes[5].result)
    nodes = (*graph.nodes[:6], changed, *graph.nodes[6:])
    names = [nodes[site.node].name for site in find_sites(_with(graph, nodes))]
    assert "flat" not in names
    assert "turned" not in names
    assert "conv" in names


def test_a_layout_is_read_back_from_its_text_and_from_its_codes() -> None:
    for layout in uniform_layouts(IMAGES.sites):
        assert read_layout(layout_text(layout), IMAGES.sites) == layout
        assert layout_of_codes(codes_of(layout, IMAGES.sites), IMAGES.sites) == layout
        assert layout_config(layout).kind is ConfigKind.LAYOUT


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[]", "a layout of 0 nodes"),
        ("nonsense", "not a layout"),
        ("[[0,0]]", "a layout of 1 nodes"),
        ("[[0,0,-1],[0,0,0]]", "not a layout"),
        ("[[0,99,0]]", "a layout of 1 nodes"),
    ],
)
def test_a_text_that_is_no_layout_is_refused(text: str, why: str) -> None:
    with pytest.raises(LayoutError, match=why.replace("[", "\\[")):
        read_layout(text, IMAGES.sites)


def test_an_order_of_other_dimensions_is_refused() -> None:
    layout = tuple(
        Setting(input=(0, 1)) if site.kind is SiteKind.CONVOLUTION else Setting()
        for site in IMAGES.sites
    )
    with pytest.raises(LayoutError, match="not an order of the 4 dimensions of its input"):
        IMAGES.apply(layout)


def _apply(rewriter: LayoutRewriter, node: str, setting: Setting) -> RewrittenGraph:
    layout = tuple(
        setting if rewriter.graph.nodes[site.node].name == node else Setting()
        for site in rewriter.sites
    )
    return rewriter.apply(layout)


def _with(graph: Graph, nodes: tuple[Node, ...]) -> Graph:
    from dataclasses import replace

    return replace(graph, nodes=nodes)


class _Counter(TorchDispatchMode):  # type: ignore[no-untyped-call]
    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.count: int = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        self.count += str(func) in COPYING
        return func(*args, **(kwargs or {}))


def _copying_calls(graph: Graph) -> int:
    """Count the copies that torch makes in a real run."""
    from graph_net.graph.execute import make_inputs
    from graph_net.graph.fx import to_fx

    inputs, module = make_inputs(graph), to_fx(graph)
    with torch.no_grad(), _Counter() as counter:
        module(*inputs)
    return int(counter.count)
