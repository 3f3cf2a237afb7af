"""A graph beside the model it came from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor, nn

from graph_net.capture import capture
from graph_net.capture.weights import without_weights
from graph_net.capture.worker import with_lively_inputs
from graph_net.capture.zoo.zoo import Call, ZooEntry
from graph_net.graph import Graph, Provenance
from graph_net.validate.against_model import compare_with_model
from graph_net.validate.pool import ValidationItem, validate_all


class Tied(nn.Module):
    """Tied weights, a buffer that a call changes, and a batch norm."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(20, 16)
        self.norm = nn.BatchNorm1d(16)
        self.head = nn.Linear(16, 20, bias=False)
        self.head.weight = self.words.weight
        self.register_buffer("table", torch.arange(80.0).reshape(5, 16))

    def forward(self, ids: Tensor, scale: Tensor) -> dict[str, Tensor]:
        x = self.norm(self.words(ids) + self.table) * scale
        return {"logits": self.head(x), "hidden": x}


class Zoo:
    library = "toys"

    def entries(self) -> Iterator[ZooEntry]:
        yield ZooEntry(self.library, "tied", "nlp")

    def build(self, entry: ZooEntry) -> Call:
        return Call(Tied().eval(), (torch.arange(5),), {"scale": torch.zeros(5, 16)})


def captured() -> Graph:
    zoo = Zoo()
    with without_weights():
        call = zoo.build(next(zoo.entries()))
    origin = Provenance(library="toys", model="tied", category="nlp")
    (graph,) = capture(call.model, call.args, call.kwargs, provenance=origin).graphs
    return with_lively_inputs(graph)


def test_a_captured_graph_computes_what_its_model_does() -> None:
    assert compare_with_model(captured(), Zoo()) == (0.0, "")


def test_a_graph_that_computes_something_else_is_found() -> None:
    graph = captured()
    nodes = [
        replace(node, target="aten.sub.Tensor") if node.target == "aten.add.Tensor" else node
        for node in graph.nodes
    ]
    assert nodes != list(graph.nodes)
    part, wrong = compare_with_model(replace(graph, nodes=tuple(nodes)), Zoo())
    assert part > 1e-3
    assert "differs" in wrong


def test_it_is_part_of_a_validation() -> None:
    graph = captured()
    wrong = replace(graph, output=tuple(reversed(graph.output)))  # type: ignore[arg-type]
    tasks = [ValidationItem("good", lambda: graph), ValidationItem("wrong", lambda: wrong)]
    found = {v.name: v for v in validate_all(tasks, 1, zoos=lambda library: Zoo())}
    assert found["good"].ok
    assert found["good"].model_difference == 0.0
    assert not found["wrong"].ok
    assert not found["wrong"].failures
    assert "instead of" in found["wrong"].model_reason
