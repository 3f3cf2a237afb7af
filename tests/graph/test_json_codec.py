"""JSON: one text for one graph, read back exactly, refused with the place named."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from hypothesis import given

from graph_net.graph import (
    Graph,
    GraphError,
    GraphLimits,
    Input,
    LimitExceeded,
    Literal,
    Node,
    Ref,
    Symbol,
    TensorSpec,
    from_bytes,
    from_json,
    to_bytes,
    to_json,
)
from graph_net.graph.allow_list import allowed_overloads
from strategies import graphs

SMALL = Graph(
    inputs=(Input("x", TensorSpec((2, 3), "float32"), Literal((1, 2.5, True))),),
    nodes=(
        Node("relu", "torch.relu", (Ref("x"), ((1,),)), (("inplace", False),)),
        Node("add", "operator.add", (Ref("relu"), 1), (), TensorSpec((2, 3), "float32")),
    ),
    output=(Ref("add"),),
    symbols=(Symbol("S0", 4, low=2),),
)
Change = Callable[[dict[str, Any]], object]


def changed(change: Change) -> str:
    tree = json.loads(to_json(SMALL))
    change(tree)
    return json.dumps(tree)


@given(graphs())
def test_a_graph_comes_back_exactly(graph: Graph) -> None:
    text = to_json(graph)
    again = from_json(text)
    assert again == graph
    assert to_json(again) == text  # equal numbers of different types would show here


@given(graphs())
def test_equal_graphs_give_equal_text(graph: Graph) -> None:
    twin = from_bytes(to_bytes(graph))
    assert twin is not graph
    assert to_json(twin) == to_json(graph)


@given(graphs())
def test_text_for_people_says_the_same(graph: Graph) -> None:
    assert from_json(to_json(graph, indent=2)) == graph
    assert from_json(to_json(graph).encode()) == graph


@given(graphs())
def test_it_is_json_that_any_program_reads(graph: Graph) -> None:
    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    tree = json.loads(to_json(graph), parse_constant=refuse)
    assert (tree["format"], tree["version"]) == ("graph_net.graph", 1)


@pytest.mark.parametrize(
    ("change", "node", "field"),
    [
        (lambda t: t["nodes"][1].update(target="torch.load"), "add", "target"),
        (lambda t: t["nodes"][1].update(target=7), "add", "target"),
        (lambda t: t["nodes"][1].update(args=[{"ref": "nowhere"}]), "add", "args"),
        (lambda t: t["nodes"][1].update(args={"ref": "x"}), "add", "args"),
        (lambda t: t["nodes"][1].update(args=[{"python": "os"}]), "add", "args"),
        (lambda t: t["nodes"][1].update(args=[{"dtype": "float33"}]), "add", "args"),
        (lambda t: t["nodes"][1].update(args=[{"slice": [1, 2]}]), "add", "args"),
        (lambda t: t["nodes"][1].update(args=[{"dict": [["key"]]}]), "add", "args"),
        (lambda t: t["nodes"][1].update(args=[{"complex": ["a", 1]}]), "add", "args"),
        (lambda t: t["nodes"][1].update(args=[{"float": "1.0"}]), "add", "args"),
        (lambda t: t["nodes"][1].update(args=[{"ref": 1, "dtype": 2}]), "add", "args"),
        (lambda t: t["nodes"][1].update(args=[1 << 70]), "add", "args"),
        (lambda t: t["nodes"][1].update(kwargs=[["dim"]]), "add", "kwargs"),
        (lambda t: t["nodes"][1].update(kwargs=[["a b", 1]]), "add", "kwargs"),
        (lambda t: t["nodes"][1].update(result={"dtype": "int8"}), "add", "shape"),
        (lambda t: t["nodes"][1].update(result={"scalar": "word"}), "add", "spec"),
        (lambda t: t["nodes"][1].update(result=3), "add", "result"),
        (lambda t: t["nodes"][1].update(extra=1), "add", "nodes"),
        (lambda t: t["nodes"][1].pop("name"), "number 1", "name"),
        (lambda t: t["nodes"].insert(0, 3), "number 0", "nodes"),
        (lambda t: t["inputs"][0].pop("spec"), "x", "spec"),
        (lambda t: t["inputs"][0]["spec"].update(shape=[-1, 3]), "x", "shape"),
        (lambda t: t["inputs"][0]["spec"].update(shape=["S9", 3]), "x", "spec"),
        (lambda t: t["inputs"][0]["spec"].update(shape=["S0 +", 3]), "x", "shape"),
        (lambda t: t["inputs"][0]["spec"].update(dtype="float33"), "x", "dtype"),
        (lambda t: t["inputs"][0].update(role="weight"), "x", "role"),
        (lambda t: t["inputs"][0].update(role=[]), "x", "role"),
        (lambda t: t["inputs"][0].update(recipe={"kind": []}), "x", "recipe"),
        (lambda t: t["inputs"][0].update(recipe={"kind": "uniform", "low": 1}), "x", "recipe"),
        (lambda t: t["inputs"][0]["recipe"].update(values=["a"]), "x", "recipe"),
        (lambda t: t["symbols"][0].pop("example"), "S0", "symbols"),
        (lambda t: t["symbols"][0].update(low="2"), "S0", "low"),
        (lambda t: t.update(constraints=["exec('x')"]), None, "constraints"),
        (lambda t: t.update(level="onnx"), None, "level"),
        (lambda t: t.update(level=[[]]), None, "level"),
        (lambda t: t.update(nodes={}), None, "nodes"),
        (lambda t: t.update(output={"ref": "nowhere"}), None, "output"),
        (lambda t: t.update(version=2), None, "format"),
        (lambda t: t.update(pickle="gASV"), None, "graph"),
        (lambda t: t.update(provenance={"author": ""}), None, "provenance"),
        (lambda t: t.update(provenance={"options": [["k", {"ref": "x"}]]}), None, "options"),
        (lambda t: t.update(provenance={"tags": [1]}), None, "tags"),
    ],
)
def test_a_wrong_field_is_named(change: Change, node: str | None, field: str) -> None:
    with pytest.raises(GraphError) as caught:
        from_json(changed(change))
    assert (caught.value.node, caught.value.field) == (node, field)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "null",
        "[]",
        "1e999",
        '"graph"',
        b"\xff\xfe\x00",
        "9" * 5000,
        "[" * 100_000,
        '{"a":' * 100_000,
        to_json(SMALL)[:-1],
        to_json(SMALL) + "}",
    ],
    ids=lambda text: repr(text[:8]),
)
def test_what_is_no_graph_is_refused(text: str | bytes) -> None:
    with pytest.raises(GraphError):
        from_json(text)


@pytest.mark.parametrize(
    "limits",
    [
        GraphLimits(bytes=100),
        GraphLimits(nodes=1),
        GraphLimits(inputs=0),
        GraphLimits(depth=1),
        GraphLimits(atoms=8),
        GraphLimits(literal=2),
        GraphLimits(tensor_elements=5),
    ],
    ids=str,
)
def test_limits_hold(limits: GraphLimits) -> None:
    assert from_json(to_json(SMALL)) == SMALL
    with pytest.raises(LimitExceeded):
        from_json(to_json(SMALL), limits)


def test_texts_have_a_limit() -> None:
    with pytest.raises(GraphError, match="at most 4 characters"):
        from_json(to_json(SMALL), GraphLimits(text=4))


@pytest.mark.parametrize(
    "wrap", [lambda v: [v], lambda v: {"tuple": [v]}, lambda v: {"dict": [["k", v]]}]
)
def test_deep_values_are_refused(wrap: Callable[[Any], Any]) -> None:
    value: Any = 1
    for _ in range(100):
        value = wrap(value)
    with pytest.raises(LimitExceeded, match=r"deeply.*node relu, field args"):
        from_json(changed(lambda tree: tree["nodes"][0].update(args=[value])))


def test_deep_results_are_refused() -> None:
    result: Any = None
    for _ in range(100):
        result = [result]
    with pytest.raises(LimitExceeded, match=r"deeply.*node relu, field result"):
        from_json(changed(lambda tree: tree["nodes"][0].update(result=result)))


WATCHED = ("import", "exec", "open", "os.system", "subprocess.Popen", "pickle.find_class")
LISTENERS: dict[int, list[str]] = {}


def _hear(event: str, args: tuple[object, ...]) -> None:
    if LISTENERS and event in WATCHED and threading.get_ident() in LISTENERS:
        LISTENERS[threading.get_ident()].append(f"{event} {args!r}"[:80])


@pytest.fixture(scope="module")
def _ears() -> None:
    sys.addaudithook(_hear)  # a hook stays for the life of the process: this one mostly sleeps


@pytest.mark.usefixtures("_ears")
@pytest.mark.parametrize(
    "word",
    [
        "antigravity.fly",
        "builtins.eval",
        "builtins.__import__",
        "torch.hub.load",
        "os.system",
        "__main__",
        "torch._C._functorch.x",
    ],
)
def test_reading_runs_and_imports_nothing_that_the_bytes_name(word: str) -> None:
    reads: list[Callable[[], Graph]] = [
        partial(from_json, changed(change))
        for change in (
            lambda tree: tree["nodes"][0].update(target=word),
            lambda tree: tree["nodes"][0].update(args=[{word: word}]),
            lambda tree: tree["inputs"][0]["spec"].update(shape=[f"{word}(1)"]),
            lambda tree: tree["provenance"].update(library=word),
        )
    ]
    allowed_overloads(
        "some_namespace"
    )  # which plug-ins are installed is looked up once, and is no word's doing
    short = word.encode()[:10].ljust(10, b"x")
    reads.append(partial(from_bytes, to_bytes(SMALL).replace(b"torch.relu", short)))
    heard = LISTENERS[threading.get_ident()] = []
    try:
        for read in reads:
            with suppress(GraphError):
                read()
    finally:
        LISTENERS.clear()
    assert heard == []


@pytest.mark.usefixtures("_ears")
def test_the_audit_would_hear_an_import() -> None:
    heard = LISTENERS[threading.get_ident()] = []
    with suppress(ImportError):
        __import__("no_such_module_anywhere")
    LISTENERS.clear()
    assert any("no_such_module_anywhere" in event for event in heard)
