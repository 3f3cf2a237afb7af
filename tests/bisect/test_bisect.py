"""The smallest subgraph that shows what a compiler with a known defect does wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graph_net.bisect import (
    BisectError,
    BisectSettings,
    Problem,
    Witness,
    bisect,
    cluster_witnesses,
    trials,
    write_witness,
)
from graph_net.graph import Graph, Input, Literal, Node, Normal, Ref, TensorSpec, from_json
from graph_net.graph.graph import Level
from graph_net.measure.device import describe
from graph_net.measure.plan import config_of
from graph_net.measure.protocol import Protocol
from graph_net.measure.runner import Ask

FILE = Path(__file__).with_name("defects.py")
SPEC = TensorSpec((4, 8), "float32")
QUICK = Protocol(seconds=0.2, warm_seconds=0.0, min_blocks=8, max_blocks=8, noise_limit=1e9)


def chain(*operators: str) -> Graph:
    """Each call reads the one before it."""
    nodes, before = [], "x"
    for i, operator in enumerate(operators):
        rest: tuple[Any, ...] = (7.0,) if operator == "full_like" else ()
        nodes.append(Node(f"n{i}", f"aten.{operator}.default", (Ref(before), *rest), result=SPEC))
        before = f"n{i}"
    return Graph((Input("x", SPEC, Normal(0.0, 1.0)),), tuple(nodes), (Ref(before),), Level.ATEN)


HOW = BisectSettings(describe("cpu", 1), jobs=2, timing=QUICK)


@pytest.fixture(scope="module")
def ask() -> Iterator[Ask]:
    with trials([config_of(f"{FILE}:RightAlways")], HOW) as asked:
        yield asked


class Found:
    """Bisects with the compilers of ``defects.py``."""

    def __init__(self, ask: Ask) -> None:
        self.ask = ask

    def __call__(self, graph: Graph, compiler: str, **words: Any) -> Witness:
        config = config_of(f"{FILE}:{compiler}")
        return bisect("some", graph, config, replace(HOW, **words), self.ask)


@pytest.fixture(scope="module")
def found(ask: Ask) -> Found:
    return Found(ask)


def targets(witness: Witness) -> list[str]:
    return [node.target.split(".")[1] for node in witness.graph.nodes]


def imported(graph: Graph) -> Graph:
    """The graph as a sample tells it: torch functions, and no specification of any result."""
    nodes = (
        replace(node, target=f"torch.{node.target.split('.')[1]}", result=None)
        for node in graph.nodes
    )
    return replace(graph, nodes=tuple(nodes), level=Level.TORCH)


NOISE = ("neg", "cos", "sigmoid", "abs", "neg", "cos")
PATTERN = chain(*NOISE, "relu", "exp", *NOISE)


@pytest.mark.parametrize("compiler", ["RaisesOnExpOfRelu", "DiesOnExpOfRelu"])
def test_two_calls_of_many_are_found(compiler: str, found: Found) -> None:
    witness = found(PATTERN, compiler)
    assert targets(witness) == ["relu", "exp"]
    assert witness.shown.problem is Problem.CRASH
    assert witness.record.subject.id == witness.graph.id
    assert witness.trials < 20


def test_a_graph_that_stores_no_specifications_shrinks_as_far(found: Found) -> None:
    whole = imported(PATTERN)
    witness = found(whole, "RaisesOnExpOfRelu")
    assert targets(witness) == ["relu", "exp"]
    assert witness.graph.inputs[0].spec == SPEC
    assert witness.graph.provenance.option("graph") == whole.id
    assert not witness.held


def test_a_graph_that_is_its_own_witness_stays_as_it_is(found: Found) -> None:
    whole = imported(chain("relu", "exp"))
    witness = found(whole, "RaisesOnExpOfRelu")
    assert witness.graph == whole
    assert witness.record.subject.id == whole.id


def test_a_number_that_is_read_back_does_not_stop_a_cut(found: Found) -> None:
    """The size that ``item`` gives decides the shape of what comes behind it."""
    nodes = (
        Node("size", "method:item", (Ref("three"),)),
        Node("made", "torch.ones", (Ref("size"), 4)),
        Node("neg", "torch.neg", (Ref("made"),)),
        Node("relu", "torch.relu", (Ref("neg"),)),
        Node("exp", "torch.exp", (Ref("relu"),)),
        Node("cos", "torch.cos", (Ref("exp"),)),
    )
    three = Input("three", TensorSpec((), "int64"), Literal((3,)))
    graph = Graph((three,), nodes, (Ref("cos"),), Level.TORCH)
    witness = found(graph, "RaisesOnExpOfRelu")
    assert targets(witness) == ["relu", "exp"]
    assert witness.graph.inputs[0].spec == TensorSpec((3, 4), "float32")


def test_a_convex_set_keeps_what_lies_between_and_says_why(found: Found) -> None:
    witness = found(chain("neg", "sin", "cos", "tanh", "neg"), "RaisesOnTwoAtOnce")
    assert targets(witness) == ["sin", "cos", "tanh"]
    assert witness.held == (("n2", "lies between nodes of a piece and not in it"),)


def test_what_cannot_be_cut_is_told_apart_from_what_does_not_show(ask: Ask) -> None:
    lines: list[str] = []
    config = config_of(f"{FILE}:RaisesOnTwoAtOnce")
    bisect("some", chain("sin", "cos", "tanh"), config, HOW, ask, lines.append)
    assert "1 candidates could not be cut out and were not tried: lies between" in lines[-1]


def test_branches_that_do_not_matter_go(found: Found) -> None:
    nodes = [
        Node("a", "aten.sin.default", (Ref("x"),), result=SPEC),
        Node("b", "aten.cos.default", (Ref("x"),), result=SPEC),
        Node("c", "aten.tanh.default", (Ref("x"),), result=SPEC),
        Node("d", "aten.add.Tensor", (Ref("a"), Ref("b")), result=SPEC),
    ]
    x = Input("x", SPEC, Normal(0.0, 1.0))
    graph = Graph((x,), tuple(nodes), (Ref("c"), Ref("d")), Level.ATEN)
    assert targets(found(graph, "RaisesOnTwoAtOnce")) == ["sin", "tanh"]


def test_a_list_of_refused_operators_may_get_shorter(found: Found) -> None:
    assert targets(found(chain("exp", "cos", "sin", "exp"), "RefusesSin")) == ["sin"]


def test_a_mismatch_is_found(found: Found) -> None:
    witness = found(chain(*NOISE, "exp", "sin", *NOISE), "WrongOnSinOfExp")
    assert targets(witness) == ["exp", "sin"]
    assert witness.shown.problem is Problem.MISMATCH


def test_inputs_of_a_piece_look_like_what_the_whole_graph_computes(found: Found) -> None:
    """The defect shows on sevens only, which the call before the witness makes."""
    witness = found(chain("neg", "full_like", "sin", "neg"), "WrongOnSinOfSevens")
    assert targets(witness) == ["sin"]
    (entry,) = witness.graph.inputs
    assert entry.recipe == Literal((7.0,) * 32)
    assert witness.imitated


def test_a_slow_call_is_found(found: Found) -> None:
    witness = found(chain("neg", "tanh", "neg"), "SlowOnTanh", problem=Problem.SLOWER)
    assert targets(witness) == ["tanh"]


def test_a_compiler_that_is_right_has_no_witness(found: Found) -> None:
    with pytest.raises(BisectError, match="some does not show crash: its outputs pass"):
        found(chain("neg"), "RightAlways", problem=Problem.CRASH)


def test_another_problem_than_the_one_asked_for_is_told(found: Found) -> None:
    with pytest.raises(BisectError, match="does not show mismatch: compile exception"):
        found(PATTERN, "RaisesOnExpOfRelu", problem=Problem.MISMATCH)


OPERATORS = ("relu", "exp", "sin", "tanh", "neg")


@settings(max_examples=4, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.lists(st.sampled_from(OPERATORS), max_size=8))
def test_no_call_can_be_left_out_of_a_witness(found: Found, operators: list[str]) -> None:
    graph = chain(*operators, "relu", "exp", *operators)
    witness = found(graph, "RaisesOnExpOfRelu")
    assert targets(witness) == ["relu", "exp"]


def test_equal_witnesses_of_several_graphs_are_one_cluster(found: Found) -> None:
    first, second = (found(chain(*words), "RaisesOnExpOfRelu") for words in (
        ("neg", "relu", "exp"), ("relu", "exp", "cos"),
    ))  # fmt: skip
    other = found(chain("exp", "sin"), "WrongOnSinOfExp")
    clusters = cluster_witnesses([other, first, second])
    assert [len(cluster.witnesses) for cluster in clusters] == [2, 1]
    assert clusters[0].example is first


def test_a_witness_is_stored_as_a_graph(tmp_path: Path, found: Found) -> None:
    witness = found(PATTERN, "RaisesOnExpOfRelu")
    place = write_witness(witness, tmp_path / "new")
    assert from_json(place.graph.read_text("utf-8")) == witness.graph
    assert place.script is None
    assert "not possible yet" in place.reason


def test_the_script_of_a_witness_compares_at_the_level_it_was_found_at(
    tmp_path: Path, found: Found
) -> None:
    witness = replace(found(PATTERN, "RaisesOnExpOfRelu"), config=config_of("eager"))
    texts = []
    for level in (-3.0, -7.0):
        script = write_witness(witness, tmp_path, level).script
        assert script is not None
        texts.append(script.read_text("utf-8"))
    levels = [re.search(r"torch.float64: (.*),", text) for text in texts]
    assert None not in levels
    assert str(levels[0]) != str(levels[1])
