"""A walk makes each call once; what it finds is what a walk that makes them all finds."""

from __future__ import annotations

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from graph_net.graph import Graph
from graph_net.graph.execute import call_node, interpret, make_inputs
from graph_net.rewrite.lower import to_aten
from graph_net.testing.models import case_graph
from graph_net.validate import fake_run as module
from graph_net.validate.fake_run import walk

CASES = ("residual", "decoder", "unet", "recurrent", "experts")


def a_graph(name: str) -> Graph:
    return to_aten(case_graph(name))


@pytest.mark.parametrize("name", CASES)
def test_a_walk_counts_what_a_run_counts(name: str) -> None:
    graph = a_graph(name)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        interpret(graph, make_inputs(graph), torch.device("cpu"))
    assert walk(graph).flops == counter.get_total_flops()


@pytest.mark.parametrize("name", CASES)
def test_looking_calls_up_changes_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = a_graph(name)
    quick = walk(graph)
    monkeypatch.setattr(module._Calls, "_key", lambda self, node, values: "")
    slow = walk(graph)
    assert (quick.graph, quick.flops) == (slow.graph, slow.flops)
    assert quick.disagreements == slow.disagreements == ()


def test_repeated_layers_are_called_once(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = a_graph("decoder")
    made = 0
    call = call_node

    def counted(*words: object) -> object:
        nonlocal made
        made += 1
        return call(*words)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "call_node", counted)
    walk(graph)
    assert 0 < made < len(graph.nodes) / 1.5


def test_a_wrong_result_in_a_repeated_layer_is_still_found() -> None:
    """What is stored of a node is compared at every node, not at the first of its kind."""
    from dataclasses import replace

    graph = a_graph("decoder")
    last = len(graph.nodes) - 1
    spec = graph.nodes[last].result
    wrong = replace(graph.nodes[last], result=replace(spec, dtype="float16"))  # type: ignore[type-var]
    broken = replace(graph, nodes=(*graph.nodes[:last], wrong))
    assert wrong.name in walk(broken).disagreements[0]
