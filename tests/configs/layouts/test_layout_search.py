"""The best layout of a graph: ranked, measured, proved, or found to be none."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import graph_net as gn
from configs.layouts.layout_graphs import images_graph, sequence_graph
from graph_net.api.layout import LayoutResult
from graph_net.configs.layouts.call_features import call_rows
from graph_net.configs.layouts.layout_arms import relative_error
from graph_net.configs.layouts.layout_config import read_layout
from graph_net.configs.layouts.layout_examples import GraphLayouts, merge_rows
from graph_net.configs.layouts.layout_search import (
    LayoutSearch,
    ProvenLayout,
    SearchOutcome,
    SearchSettings,
)
from graph_net.configs.layouts.layout_workers import TurnItem, WorkerSettings
from graph_net.configs.layouts.rewrite import LayoutRewriter
from graph_net.configs.layouts.search_processes import ProveItem, SearchProcesses
from graph_net.configs.layouts.sites import LayoutError, find_sites
from graph_net.graph import Graph, Node, Ref, from_json, to_bytes
from graph_net.graph.execute import run
from graph_net.graph.outputs import flat_outputs
from graph_net.isolate import Sandbox
from graph_net.isolate.descendants import children_of
from graph_net.results import Interval, Samples, Timing, Verdict

QUICK = SearchSettings(pool=6, top=2, generations=1, repeats=3, seconds=0.1)


def _timing(verdict: Verdict, speedup: Interval) -> Timing:
    one = Samples((1e-3,) * 4)
    return Timing(one, one, one, speedup, Interval(1.0, 0.99, 1.01), verdict)


def _result(verdict: Verdict, speedup: Interval) -> LayoutResult:
    proven = ProvenLayout("[]", images_graph(), {"explicit": [1, 64]}, _timing(verdict, speedup))
    return LayoutResult("test", 8, "bytes moved", SearchOutcome((proven,), 40, {"[]": 0.9}))


def test_a_search_measures_and_proves_and_the_graph_computes_the_same(tmp_path: Path) -> None:
    graph = images_graph()
    found = gn.layout(graph, settings=QUICK, threads=1, jobs=1, progress=False)
    assert len(found.outcome.measured) >= QUICK.top
    assert found.outcome.proven
    for proven in found.outcome.proven:
        for output, expected in zip(
            flat_outputs(run(proven.graph)), flat_outputs(run(graph)), strict=True
        ):
            assert relative_error(output, expected) < 1e-5
    assert "layouts ranked by bytes moved" in str(found)


class _Recorder:
    """Ranks by bytes, and keeps what it was given."""

    name = "recorder"
    needs_calls = True

    def __init__(self) -> None:
        self.given: list[GraphLayouts] = []

    def scores(self, layouts: GraphLayouts) -> list[float]:
        """Return the bytes of each layout."""
        self.given.append(layouts)
        return [float(size) for size in layouts.moved]


def test_a_predictor_gets_the_calls_of_each_layout(tmp_path: Path) -> None:
    graph, predictor = images_graph(), _Recorder()
    sites = find_sites(graph)
    workers = WorkerSettings((to_bytes(graph),), "cpu", "eager", 1, tmp_path)
    LayoutSearch(sites, workers, Sandbox(tmp_path), 1, QUICK, predictor).run()
    (layouts,) = predictor.given
    rewriter = LayoutRewriter(graph)
    expected = merge_rows(
        call_rows(rewriter.original.calls),
        [call_rows(rewriter.calls(read_layout(one, sites))) for one in layouts.schedules],
    )
    assert np.array_equal(layouts.calls.rows, expected.rows)
    assert np.array_equal(layouts.calls.count, expected.count)
    assert len(layouts.calls.count)


def test_a_search_needs_enough_layouts_to_learn_from(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="has 0 layouts; 100 are learned from"):
        gn.layout(images_graph(), learn_from=_empty(tmp_path / "layouts.jsonl"), threads=1)


def _empty(path: Path) -> Path:
    path.touch()
    return path


def test_a_proven_gain_is_told_with_its_interval() -> None:
    found = _result(Verdict.FASTER, Interval(1.2, 1.15, 1.25))
    assert found.graph is not None
    assert found.speedup == 1.2
    assert "1.200 times as fast (1.150 to 1.250" in str(found)


@pytest.mark.parametrize("verdict", [Verdict.SAME, Verdict.SLOWER, Verdict.AMBIGUOUS])
def test_what_is_not_faster_for_sure_is_no_gain(verdict: Verdict) -> None:
    found = _result(verdict, Interval(1.01, 0.9, 1.1))
    assert found.graph is None
    assert found.speedup == 1.0
    assert "No proven gain" in str(found)


def test_the_written_graph_names_its_layout_and_gain(tmp_path: Path) -> None:
    from graph_net.api.layout import write_layout

    path = tmp_path / "graph.json"
    write_layout(path, _result(Verdict.FASTER, Interval(1.2, 1.15, 1.25)))
    graph = from_json(path.read_text("utf-8"))
    assert graph.provenance.option("layout") == "[]"
    assert graph.provenance.option("layout_speedup") == (1.2, 1.15, 1.25)
    with pytest.raises(ValueError, match="written as"):
        write_layout(tmp_path / "graph.py", _result(Verdict.FASTER, Interval(1.2, 1.1, 1.3)))


def test_a_graph_without_layouts_says_so() -> None:
    graph = sequence_graph()
    plain = Graph(
        graph.inputs[:1], (Node("y", "aten.relu.default", (Ref("x"),)),), Ref("y"), graph.level
    )
    with pytest.raises(LayoutError, match="no convolution"):
        gn.layout(plain, progress=False)


def _processes(tmp_path: Path) -> SearchProcesses:
    workers = WorkerSettings((to_bytes(images_graph()),), "cpu", "eager", 1, tmp_path)
    return SearchProcesses(workers, Sandbox(tmp_path), 1)


def test_one_process_measures_and_proves_until_the_search_ends(tmp_path: Path) -> None:
    before = set(children_of(os.getpid()))
    with _processes(tmp_path) as processes:
        processes.warm()
        (first,) = set(children_of(os.getpid())) - before
        done = processes.time(TurnItem(0, (), (), 3))
        assert done.answer["control"]
        proven = processes.time(ProveItem(to_bytes(images_graph()), 0.1))
        assert proven.answer["verdict"]
        assert set(children_of(os.getpid())) == {*before, first}
    assert set(children_of(os.getpid())) == before


class _Breaks:
    name = "breaks"
    needs_calls = False

    def __init__(self) -> None:
        self.before = set(children_of(os.getpid()))

    def scores(self, layouts: GraphLayouts) -> list[float]:
        """Kill every process of the search."""
        for child in set(children_of(os.getpid())) - self.before:
            os.kill(child, signal.SIGKILL)
        return [0.0] * len(layouts)


def test_the_death_of_the_process_that_measures_ends_the_search(tmp_path: Path) -> None:
    graph = images_graph()
    workers = WorkerSettings((to_bytes(graph),), "cpu", "eager", 1, tmp_path)
    breaks = _Breaks()
    search = LayoutSearch(find_sites(graph), workers, Sandbox(tmp_path), 1, QUICK, breaks)
    with pytest.raises(LayoutError, match="cannot be measured: "):
        search.run()
    assert set(children_of(os.getpid())) == breaks.before


def test_the_device_is_timed_alone(tmp_path: Path) -> None:
    entered = []

    @contextmanager
    def alone() -> Iterator[None]:
        entered.append("timed")
        yield

    graph = images_graph()
    workers = WorkerSettings((to_bytes(graph),), "cpu", "eager", 1, tmp_path)
    search = LayoutSearch(find_sites(graph), workers, Sandbox(tmp_path), 1, QUICK, alone=alone)
    outcome = search.run()
    assert len(entered) == 2 + len(outcome.proven)
