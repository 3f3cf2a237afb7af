"""What a drawing is made of: the blocks that repeat, and edges that lead where the graph's do."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from graph_net.report.page_drawing import SMALL, DrawnRun, blocks_of, drawing_of
from graph_net.testing.models import case_graph

LAYER = "norm linear view softmax matmul add".split()


def test_layers_are_one_block() -> None:
    assert blocks_of(["embed", *LAYER * 12, "head"]) == [DrawnRun(1, len(LAYER), 12)]


def test_a_small_graph_is_drawn_whole() -> None:
    assert blocks_of((LAYER * SMALL)[: SMALL - 1]) == []
    assert blocks_of((LAYER * SMALL)[:SMALL]) != []


def test_a_run_that_occurred_before_is_folded() -> None:
    run = [f"op{n}" for n in range(20)]
    between = [f"other{n}" for n in range(20)]
    assert blocks_of([*run, *between, *run]) == [DrawnRun(40, 20, 1)]


def test_a_block_may_hold_blocks() -> None:
    layer = ["in", *"conv relu pool".split() * 5, "out"]
    outer, inner = blocks_of(["embed", *layer * 8])
    assert outer == DrawnRun(1, len(layer), 8)
    assert inner == DrawnRun(2, 3, 5)


@given(st.lists(st.sampled_from("abcd"), min_size=SMALL, max_size=200))
def test_blocks_are_apart_or_in_a_first_run(operators: list[str]) -> None:
    found = blocks_of(operators)
    for place, first in enumerate(found):
        assert first.end <= len(operators)
        assert first.times == 1 or all(
            operators[n] == operators[n - first.period]
            for n in range(first.start + first.period, first.end)
        )
        for second in found[place + 1 :]:
            inside = second.end <= first.start + first.period and first.times > 1
            assert first.end <= second.start or inside


def test_edges_are_those_of_the_graph() -> None:
    graph = case_graph("residual")
    drawn = drawing_of(graph)
    names = [node.name for node in graph.nodes]
    for number, node in enumerate(graph.nodes):
        sources = {names[number - back] for back in drawn["from"][number]}
        given = {drawn["inputs"][place][0] for place in drawn["reads"][number]}
        read = {ref.name for ref in node.refs}
        assert sources | given <= read
        assert len(read) == len(sources) + len(given) + drawn["weights"][number]
        assert sources == read & set(names)
