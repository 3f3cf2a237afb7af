"""Graphs of a single call."""

from __future__ import annotations

from graph_net.graph import (
    Graph,
    Input,
    Literal,
    Node,
    Normal,
    Ref,
    TensorSpec,
    Value,
)

X = Input("x", TensorSpec((2, 3), "float32"), Normal(0.0, 1.0))


def graph_of(target: str, *args: Value, inputs: tuple[Input, ...] = (X,), **kwargs: Value) -> Graph:
    call = Node("y", target, args, tuple(kwargs.items()))
    return Graph(inputs, (call,), Ref("y"))


def integers(name: str, *values: int) -> Input:
    return Input(name, TensorSpec((len(values),), "int64"), Literal(values))
