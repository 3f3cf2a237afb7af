"""Two hashes: ``structure`` is blind to names, sizes and order; ``id`` adds sizes and dtypes."""

from __future__ import annotations

import re
from dataclasses import replace
from hashlib import blake2b
from itertools import count
from random import Random

import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st

from graph_net.graph import (
    Constant,
    Expr,
    Graph,
    Input,
    Node,
    Normal,
    Provenance,
    Ref,
    Role,
    ScalarSpec,
    TensorSpec,
    Uniform,
    from_bytes,
    from_json,
    to_bytes,
    to_json,
)
from graph_net.graph import hashing as module
from graph_net.graph.effects import effect_edges
from graph_net.graph.values import map_refs
from strategies import graphs

SINK = Input("sink", TensorSpec((), "float32"), Constant(0.0))


def differing(a: Graph, b: Graph) -> set[str]:
    """Which of the two hashes tell these graphs apart."""
    return {name for name in ("structure", "id") if getattr(a, name) != getattr(b, name)}


BOTH, ID_ONLY, NEITHER = {"structure", "id"}, {"id"}, set[str]()


def renamed(graph: Graph, random: Random) -> Graph:
    """The same graph with another name for everything that has one."""
    numbers = list(range(1000, 1000 + len(graph.index) + len(graph.symbols)))
    random.shuffle(numbers)
    fresh = (f"name_{number}" for number in numbers)
    names = {name: next(fresh) for name in graph.index}
    symbols = {symbol.name: next(fresh) for symbol in graph.symbols}

    def expr(old: Expr) -> Expr:
        return Expr(re.sub(r"\bS\d\b", lambda match: symbols[match[0]], old.text))

    def spec(old: TensorSpec | ScalarSpec) -> TensorSpec | ScalarSpec:
        if isinstance(old, ScalarSpec):
            return replace(old, expr=old.expr and expr(old.expr))
        shape = tuple(expr(dim) if isinstance(dim, Expr) else dim for dim in old.shape)
        stride = old.stride and tuple(expr(d) if isinstance(d, Expr) else d for d in old.stride)
        return TensorSpec(shape, old.dtype, stride)

    def change(ref: Ref) -> Ref:
        return Ref(names[ref.name])

    return Graph(
        tuple(
            replace(entry, name=names[entry.name], spec=spec(entry.spec), local=None, original="o")
            for entry in graph.inputs
        ),
        tuple(
            Node(
                names[node.name],
                node.target,
                tuple(map_refs(value, change) for value in node.args),
                tuple((key, map_refs(value, change)) for key, value in node.kwargs),
            )
            for node in graph.nodes
        ),
        map_refs(graph.output, change),
        graph.level,
        tuple(replace(symbol, name=symbols[symbol.name]) for symbol in graph.symbols),
        tuple(expr(constraint) for constraint in graph.constraints),
    )


def reordered(graph: Graph, random: Random) -> Graph:
    """The same nodes in another order that respects data and effects."""
    places = {node.name: i for i, node in enumerate(graph.nodes)}
    effects = effect_edges(graph)
    before = [
        {places[ref.name] for ref in node.refs if ref.name in places} | set(effects.get(i, ()))
        for i, node in enumerate(graph.nodes)
    ]
    order: list[int] = []
    left = set(range(len(graph.nodes)))
    while left:
        ready = sorted(i for i in left if before[i].isdisjoint(left))
        order.append(random.choice(ready))
        left.remove(order[-1])
    return replace(graph, nodes=tuple(graph.nodes[i] for i in order))


randoms = st.integers(0, 2**32).map(Random)


@given(graphs(), randoms)
def test_renaming_keeps_both(graph: Graph, random: Random) -> None:
    assert differing(graph, renamed(graph, random)) == NEITHER


@given(graphs(), randoms)
def test_any_topological_order_keeps_both(graph: Graph, random: Random) -> None:
    assert differing(graph, reordered(graph, random)) == NEITHER


@given(graphs())
def test_both_survive_storage(graph: Graph) -> None:
    assert differing(graph, from_json(to_json(graph))) == NEITHER
    assert differing(graph, from_bytes(to_bytes(graph))) == NEITHER


@given(graphs(), randoms)
def test_another_operator_changes_both(graph: Graph, random: Random) -> None:
    assume(graph.nodes)
    place = random.randrange(len(graph.nodes))
    node = replace(graph.nodes[place], target="aten.sinh.default")
    nodes = (*graph.nodes[:place], node, *graph.nodes[place + 1 :])
    assert differing(graph, replace(graph, nodes=nodes)) == BOTH


@given(graphs(), randoms)
def test_another_attribute_changes_both(graph: Graph, random: Random) -> None:
    assume(graph.nodes)
    place = random.randrange(len(graph.nodes))
    node = graph.nodes[place]
    assume(node.target != "builtins.getattr")
    node = replace(node, kwargs=(*node.kwargs, ("eps", 1e-5)))
    nodes = (*graph.nodes[:place], node, *graph.nodes[place + 1 :])
    assert differing(graph, replace(graph, nodes=nodes)) == BOTH


@given(graphs(), randoms)
def test_another_edge_changes_both(graph: Graph, random: Random) -> None:
    graph = replace(graph, inputs=(*graph.inputs, SINK))
    edges = [(i, j) for i, node in enumerate(graph.nodes) for j, _ in enumerate(node.refs)]
    assume(edges)
    place, position = random.choice(edges)
    numbers = count()

    def rewire(ref: Ref) -> Ref:
        return Ref("sink") if next(numbers) == position else ref

    node = graph.nodes[place]
    args = tuple(map_refs(value, rewire) for value in node.args)
    kwargs = tuple((key, map_refs(value, rewire)) for key, value in node.kwargs)
    nodes = [*graph.nodes]
    nodes[place] = replace(node, args=args, kwargs=kwargs)
    assert differing(graph, replace(graph, nodes=tuple(nodes))) == BOTH


@given(graphs(), st.sampled_from(("int64", "float16")))
def test_another_dtype_of_an_input_changes_the_id_only(graph: Graph, dtype: str) -> None:
    first = graph.inputs[0]
    if not isinstance(first.spec, TensorSpec) or first.spec.dtype == dtype:
        reject()
    changed = replace(first, spec=replace(first.spec, dtype=dtype))
    assert differing(graph, replace(graph, inputs=(changed, *graph.inputs[1:]))) == ID_ONLY


@given(graphs())
def test_where_a_graph_came_from_and_what_fills_it_do_not_count(graph: Graph) -> None:
    inputs = tuple(
        replace(e, role=Role.BUFFER, recipe=Uniform(0, 1)) if isinstance(e.spec, TensorSpec) else e
        for e in graph.inputs
    )
    other = replace(graph, inputs=inputs, provenance=Provenance("timm"), constraints=())
    assert differing(graph, other) == NEITHER


class Work:
    """A blake2b that counts how much is done with it."""

    digests = written = 0

    def __init__(self, digest_size: int) -> None:
        self.state = blake2b(digest_size=digest_size)

    def update(self, part: bytes) -> None:
        Work.written += len(part)
        self.state.update(part)

    def digest(self) -> bytes:
        Work.digests += 1
        return self.state.digest()


def chain(length: int, mutating: bool) -> Graph:
    """Layers that read one mask, a value far back and the last one, and write in place."""
    nodes = [Node("n0", "torch.relu", (Ref("x"),))]
    for i in range(1, length):
        target = "method:add_" if mutating and i % 3 == 0 else "torch.add"
        nodes.append(Node(f"n{i}", target, (Ref(f"n{i - 1}"), Ref(f"n{i // 2}"), Ref("x"))))
    x = Input("x", TensorSpec((4,), "float32"), Normal(0.0, 1.0))
    return Graph((x,), tuple(nodes), Ref(f"n{length - 1}"))


def work(graph: Graph) -> tuple[int, int]:
    Work.digests = Work.written = 0
    module.id_hash(graph)
    return Work.digests, Work.written


@pytest.mark.parametrize("mutating", [False, True])
def test_the_work_is_linear(mutating: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "blake2b", Work)
    half, whole = work(chain(1_000, mutating)), work(chain(2_000, mutating))
    assert whole[0] <= 2 * half[0] + 10
    assert whole[1] <= 2.1 * half[1]


def test_ten_thousand_nodes_hash() -> None:
    large = chain(10_000, True)
    assert len({large.structure, large.id, chain(9_999, True).structure}) == 3


def test_a_hash_is_text_of_fixed_length() -> None:
    small = chain(2, False)
    assert re.fullmatch("[0-9a-f]{32}", small.structure)
    assert re.fullmatch("[0-9a-f]{32}", small.id)
