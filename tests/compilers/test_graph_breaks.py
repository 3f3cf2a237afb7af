"""Inductor on graphs that Dynamo breaks: they run in pieces, and the record says so."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch

from compilers import some_breaks
from compilers.some_breaks import number_in_the_middle
from graph_net.compilers import Compiler, Job, Unsupported, create
from graph_net.compilers.dynamo import MOST_REASONS, MOST_TEXT, DynamoPieces, compilations
from graph_net.compilers.export import copy_inputs
from graph_net.graph import Graph
from graph_net.graph.execute import make_inputs, run

BREAKING = {
    "a sum of sizes": (number_in_the_middle, 2, "sym_sum"),
    "a number out of a tensor": (some_breaks.value_in_the_middle, 2, "item"),
    "a size that values decide": (some_breaks.size_from_values, 2, "nonzero"),
    "nothing but a break": (some_breaks.nothing_else, 0, "nonzero"),
}


def _compiled(graph: Graph, place: Path, options: dict[str, Any]) -> tuple[Compiler, Any]:
    torch._dynamo.reset()
    job = Job(graph, tuple(make_inputs(graph)), "cpu", place)
    compiler = create("inductor", options)
    compiler.prepare("cpu")
    runner = compiler.compile(job)
    before = compilations()
    with torch.inference_mode():
        for _ in range(3):
            torch.testing.assert_close(runner(copy_inputs(job.inputs)), run(graph))
    assert compilations() == before, "a call after compiling compiled again"
    return compiler, runner


@pytest.mark.parametrize("kind", BREAKING)
def test_a_graph_that_breaks_runs_and_says_where(tmp_path: Path, kind: str) -> None:
    build, graphs, word = BREAKING[kind]
    compiler, _ = _compiled(build(), tmp_path, {})
    remarks = compiler.remarks()
    assert (remarks["compiled_graphs"], remarks["graph_breaks"]) == (graphs, 1)
    assert word in str(remarks["graph_break_reasons"])
    assert " at 0x" not in str(remarks)
    assert ("not_compiled" in remarks) == (graphs == 0)


def test_a_graph_that_is_taken_whole_has_no_reasons(tmp_path: Path) -> None:
    from graph_net.testing.compiler_graphs import GRAPHS

    compiler, _ = _compiled(GRAPHS["number"](), tmp_path, {})
    assert compiler.remarks() == {"compiled_graphs": 1, "graph_breaks": 0}


def test_fullgraph_refuses_what_breaks_and_names_dynamo(tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match=r"refused by Dynamo: .*non-Tensor"):
        _compiled(number_in_the_middle(), tmp_path, {"fullgraph": True})


def test_fullgraph_traces_numbers_out_of_tensors(tmp_path: Path) -> None:
    graph = some_breaks.value_in_the_middle()
    compiler, _ = _compiled(graph, tmp_path, {"fullgraph": True})
    assert compiler.remarks() == {"compiled_graphs": 1, "graph_breaks": 0}


def test_a_frame_that_a_random_size_compiles_again_is_compiled_before_the_runner_is_there(
    tmp_path: Path,
) -> None:
    torch._dynamo.reset()
    graph = some_breaks.random_size()
    job = Job(graph, tuple(make_inputs(graph)), "cpu", tmp_path)
    compiler = create("inductor")
    compiler.prepare("cpu")
    runner = compiler.compile(job)
    before = compilations()
    with torch.inference_mode():
        sizes = {len(runner(copy_inputs(job.inputs))[0]) for _ in range(8)}
    assert len(sizes) > 1
    assert compilations() == before


def test_reasons_are_bounded_in_number_and_in_length() -> None:
    breaks = Counter({f"{'x' * 500}{n}\n  Explanation: y": 1 for n in range(3)})
    breaks.update({f"kind {n}\n Developer debug context: op {n} at 0xff": 1 for n in range(20)})
    reasons = DynamoPieces(1, breaks).remarks["graph_break_reasons"]
    assert isinstance(reasons, list)
    assert len(reasons) == MOST_REASONS + 1
    assert all(len(str(reason)) <= MOST_TEXT + 8 for reason in reasons)
    assert reasons[-1] == "13 more reasons"
    assert "1 × kind 0 (op 0)" in reasons
