"""Graphs that Dynamo cannot trace in one piece, whatever the compiler behind it."""

from __future__ import annotations

import operator
from collections.abc import Callable

import torch
from torch import fx

from graph_net.graph import Graph
from graph_net.graph.fx import from_fx


def _traced(build: Callable[[fx.Graph, fx.Node, fx.Node], fx.Node]) -> Graph:
    """A graph of a tensor ``x`` and a number ``n``, with what ``build`` adds as its output."""
    graph = fx.Graph()
    x, n = graph.placeholder("x"), graph.placeholder("n")
    graph.output((build(graph, x, n),))
    return from_fx(fx.GraphModule(torch.nn.Module(), graph), (torch.randn(8, 16), 3))


def number_in_the_middle() -> Graph:
    """relu, then a sum of sizes as Dynamo itself writes it into samples, then a product."""

    def build(graph: fx.Graph, x: fx.Node, n: fx.Node) -> fx.Node:
        y = graph.call_function(torch.relu, (x,))
        total = graph.call_function(torch.sym_sum, ([n, n],))
        return graph.call_function(operator.mul, (y, total))

    return _traced(build)


def value_in_the_middle() -> Graph:
    """A number that is read out of a tensor, and used."""

    def build(graph: fx.Graph, x: fx.Node, n: fx.Node) -> fx.Node:
        y = graph.call_function(torch.relu, (x,))
        most = graph.call_method("item", (graph.call_method("max", (y,)),))
        return graph.call_function(operator.truediv, (y, most))

    return _traced(build)


def size_from_values() -> Graph:
    """Rows chosen by their values, so that only a run tells how many there are."""

    def build(graph: fx.Graph, x: fx.Node, n: fx.Node) -> fx.Node:
        places = graph.call_method("nonzero", (graph.call_function(torch.relu, (x,)),))
        return graph.call_function(operator.mul, (places, n))

    return _traced(build)


def nothing_else() -> Graph:
    """One call, which Dynamo does not trace."""
    return _traced(lambda graph, x, n: graph.call_method("nonzero", (x,)))


def random_size() -> Graph:
    """As many rows as a draw decides: another number in every call."""

    def build(graph: fx.Graph, x: fx.Node, n: fx.Node) -> fx.Node:
        drawn = graph.call_function(torch.rand_like, (x,))
        kept = graph.call_function(operator.gt, (drawn, 0.5))
        places = graph.call_method("nonzero", (kept,))
        return graph.call_function(operator.mul, (places, n))

    return _traced(build)


def value_returned() -> Graph:
    """A number that is read out of a tensor, and returned."""
    return _traced(lambda graph, x, n: graph.call_method("item", (graph.call_method("max", (x,)),)))
