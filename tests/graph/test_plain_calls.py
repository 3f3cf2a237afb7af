"""Python's own functions on numbers and tuples are bounded before they are called."""

from __future__ import annotations

import math

import pytest

from graph.one_call import graph_of
from graph_net.graph import (
    Constant,
    Graph,
    Input,
    Node,
    Ref,
    ScalarSpec,
    Value,
)
from graph_net.graph.errors import RefusedCall
from graph_net.graph.execute import run
from graph_net.graph.fx import to_fx


@pytest.mark.parametrize(
    ("target", "args"),
    [
        ("operator.pow", (7, 2**40)),
        ("operator.lshift", (1, 2**40)),
        ("operator.mul", ("a", 2**40)),
        ("operator.mul", ((1,), 2**40)),
        ("operator.mod", ("%99999999999d", 1)),
        ("operator.add", ("a", "b")),
        ("builtins.round", (1, -(2**40))),
        ("builtins.int", ("9" * 60_000,)),
        ("math.prod", ((2**60,) * 100,)),
        ("method:add", (3, 4)),
        ("method:numel", ("text",)),
        ("builtins.float", ("9" * 60_000,)),
    ],
)
def test_a_call_without_a_bound_is_refused_before_it_is_made(
    target: str, args: tuple[Value, ...]
) -> None:
    graph = graph_of(target, *args)
    for use in (run, to_fx):
        with pytest.raises(RefusedCall, match="node y"):
            use(graph)


def test_whole_numbers_do_not_grow_call_by_call() -> None:
    n = Input("n", ScalarSpec("int"), Constant(2**62))
    nodes = [Node("n0", "operator.mul", (Ref("n"), Ref("n")))]
    nodes += [Node(f"n{i}", "operator.mul", (Ref(f"n{i - 1}"),) * 2) for i in range(1, 40)]
    with pytest.raises(RefusedCall, match=r"an integer of \d+ bits.*node n2"):
        run(Graph((n,), tuple(nodes), Ref("n39")))


@pytest.mark.parametrize("target", ["operator.floordiv", "operator.mod", "operator.truediv"])
def test_division_of_numbers_by_zero_is_an_error(target: str) -> None:
    with pytest.raises(ZeroDivisionError):
        run(graph_of(target, 1, 0))


@pytest.mark.parametrize(
    ("target", "args", "answer"),
    [
        ("operator.pow", (2, 10), 1024),
        ("operator.floordiv", (7, 2), 3),
        ("operator.add", ((1, 2), (3,)), (1, 2, 3)),
        ("builtins.max", (3, 5), 5),
        ("operator.eq", ("cpu", "cpu"), True),
        ("builtins.float", ("-inf",), -math.inf),
    ],
)
def test_arithmetic_on_sizes_is_what_it_was(
    target: str, args: tuple[Value, ...], answer: object
) -> None:
    assert run(graph_of(target, *args)) == answer
