"""Layouts collected in processes of their own: results, failures, what a kill costs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from configs.layouts.layout_graphs import images_graph, sequence_graph
from graph_net.api.collect_layouts import (
    GraphChoice,
    choose_layout_graphs,
    read_given_layouts,
)
from graph_net.configs.layouts import layout_collection
from graph_net.configs.layouts.layout_arms import GraphArms, WrongResult, failure_of
from graph_net.configs.layouts.layout_bundle import read_layout_plan, write_layout_bundle
from graph_net.configs.layouts.layout_collection import open_layout_bench, sort_graphs
from graph_net.configs.layouts.layout_config import FORMAT
from graph_net.configs.layouts.layout_journal import LayoutJournal
from graph_net.configs.layouts.plan import LayoutsWanted, LayoutTask
from graph_net.configs.layouts.rewrite import LayoutRewriter
from graph_net.corpus.subjects import subject_of
from graph_net.graph import Graph, to_bytes
from graph_net.programs.formats import Damage
from graph_net.programs.formats.collected import read_collected
from graph_net.results import ConfigKind, Program, Stage, Symptom

ROOT = Path(__file__).parents[3]
PROGRAMS = ROOT / "dataset/programs/h200_spaces"
WANTED = LayoutsWanted(per_graph=4, turn=2, repeated=2, repeats=3)
ONE = LayoutsWanted(per_graph=1, turn=1, repeats=3)


@pytest.fixture(autouse=True)
def _any_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    """No graph is too slow, however busy this machine is."""
    monkeypatch.setattr(layout_collection, "MOST_SECONDS", {})


def _task(graph: Graph) -> LayoutTask:
    return LayoutTask(subject_of(f"test/{graph.provenance.model}", graph), to_bytes(graph))


def _programs(path: Path) -> list[Program]:
    found = [program for _, program in read_collected(path)]
    assert not [one for one in found if isinstance(one, Damage)]
    return [one for one in found if isinstance(one, Program)]


def test_every_repeat_is_kept_beside_those_of_the_original(tmp_path: Path) -> None:
    journal = tmp_path / "layouts.jsonl"
    graphs = sort_graphs([_task(images_graph()), _task(sequence_graph())])
    with open_layout_bench(graphs, WANTED, journal, jobs=1) as bench:
        measured = list(bench.run())
    assert not bench.lost
    assert _programs(journal) == measured
    for program in measured:
        extra = json.loads(program.extra)
        assert program.failure is None
        assert program.config.kind is ConfigKind.LAYOUT
        assert program.task.format == FORMAT
        assert [len(times) for times in (program.costs, extra["control"], extra["second"])] == [
            WANTED.repeats
        ] * 3
        assert extra["error"] < 1e-5
        assert extra["copies"]["explicit"][0] >= 0
    counts = Counter((program.task.workload, program.schedule) for program in measured)
    assert len(counts) == 8
    assert {workload for workload, _ in counts} == {
        f"{task.subject.id}-eager" for task in graphs.tasks
    }
    again = [program for program in measured if json.loads(program.extra).get("again")]
    assert len(again) == sum(count == 2 for count in counts.values())
    with open_layout_bench(graphs, WANTED, journal, jobs=1) as bench:
        assert list(bench.run()) == []


def test_a_bundle_that_is_killed_continues_where_it_was(tmp_path: Path) -> None:
    bundle, journal = tmp_path / "layouts.zip", tmp_path / "layouts.jsonl"
    write_layout_bundle(bundle, [_task(sequence_graph())], WANTED, "cpu")
    assert read_layout_plan(bundle)[0].wanted == WANTED
    program = f"""
import sys
sys.path.insert(0, {str(bundle)!r})
from graph_net.configs.layouts import layout_collection
from graph_net.configs.layouts.layout_bundle import main
layout_collection.MOST_SECONDS.clear()
sys.exit(main({str(bundle)!r}, ["-o", {str(journal)!r}, "-j", "1"]))
"""
    command = [sys.executable, "-c", program]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    started: Any = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    while started.poll() is None and not (journal.exists() and journal.read_bytes()):
        time.sleep(0.02)
    started.kill()
    started.wait()
    before = {(p.schedule, p.measured) for p in _whole(journal)}
    assert before
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    after = _programs(journal)
    assert before <= {(p.schedule, p.measured) for p in after}
    assert len({p.schedule for p in after}) == WANTED.per_graph


def test_layouts_of_another_compiler_are_measured_as_they_are(tmp_path: Path) -> None:
    """In their order, through a bundle; the second call has nothing to do."""
    graph = sequence_graph()
    first, journal = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    with open_layout_bench(sort_graphs([_task(graph)]), WANTED, first, jobs=1) as bench:
        measured = list(bench.run())
    assert read_given_layouts(first, "eager") == {}
    (layouts,) = read_given_layouts(first, "inductor").values()
    assert {one.schedule for one in layouts} == {program.schedule for program in measured}
    task = replace(_task(graph), to_measure=layouts)
    wanted = replace(WANTED, per_graph=3, repeated=0)
    bundle = tmp_path / "layouts.zip"
    write_layout_bundle(bundle, [task], wanted, "cpu")
    plan, tasks = read_layout_plan(bundle)
    assert tasks == [task]
    with open_layout_bench(sort_graphs(tasks), plan.wanted, journal, jobs=1) as bench:
        found = list(bench.run())
    assert [one.schedule for one in found] == [one.schedule for one in layouts[:3]]
    with open_layout_bench(sort_graphs(tasks), plan.wanted, journal, jobs=1) as bench:
        assert list(bench.run()) == []


def test_programs_of_kernels_are_no_layouts_to_measure() -> None:
    with pytest.raises(ValueError, match="programs: give measured layouts"):
        read_given_layouts(PROGRAMS, "eager")


def test_layouts_that_do_not_say_who_ran_them_are_refused_by_name(tmp_path: Path) -> None:
    journal = tmp_path / "layouts.jsonl"
    with open_layout_bench(sort_graphs([_task(sequence_graph())]), ONE, journal, jobs=1) as bench:
        assert list(bench.run())
    journal.write_text(journal.read_text().replace('compiler\\":', 'compilers\\":'))
    with pytest.raises(ValueError, match=r"layouts\.jsonl: a layout without its compiler"):
        read_given_layouts(journal, "inductor")


def test_a_few_graphs_of_measured_layouts_are_of_all_categories() -> None:
    choice = GraphChoice(count=6, layouts_of=ROOT / "dataset/layouts/cpu")
    tasks = choose_layout_graphs(choice, "inductor")
    assert len(tasks) == 6
    assert all(task.to_measure for task in tasks)
    assert len({task.subject.category for task in tasks}) >= 4


def test_layouts_of_the_journal_that_is_written_stay_in_their_places(tmp_path: Path) -> None:
    """A run that goes on counts what it has measured itself as measured."""
    measured, journal = ROOT / "dataset/layouts/cpu", tmp_path / "layouts.jsonl"
    choice = GraphChoice(count=1, layouts_of=measured)
    assert choose_layout_graphs(choice, "inductor", journal)[0].to_measure
    with pytest.raises(ValueError, match="this compiler has not run"):
        choose_layout_graphs(choice, "eager", journal)
    assert choose_layout_graphs(choice, "eager", measured)[0].to_measure


def _whole(journal: Path) -> list[Program]:
    """Return the programs of a journal whose writer was killed."""
    LayoutJournal(journal).close()
    return _programs(journal)


def test_a_wrong_result_is_a_failure() -> None:
    arms = GraphArms(images_graph(), "cpu")
    outputs = [output.clone() for output in arms.expected]
    assert arms.check(lambda: outputs) == 0.0
    outputs[1][0, 0, 0, 0] += 100 * outputs[1].abs().max()
    with pytest.raises(WrongResult, match="output 1 differs") as caught:
        arms.check(lambda: outputs)
    failure = failure_of(caught.value)
    assert (failure.stage, failure.symptom) == (Stage.VERIFY, Symptom.NUMERIC)
    outputs[1] = torch.full_like(outputs[1], float("nan"))
    with pytest.raises(WrongResult):
        arms.check(lambda: outputs)


def test_a_parameter_has_the_original_values_in_its_own_order() -> None:
    graph = images_graph()
    rewriter = LayoutRewriter(graph)
    layout = tuple(site.choices[-1] for site in rewriter.sites)
    arms = GraphArms(graph, "cpu")
    assert arms.check(arms.function(rewriter.apply(layout).graph)) < 1e-5


def test_a_graph_without_layouts_is_left_out_and_says_why() -> None:
    graph = images_graph()
    nodes = tuple(node for node in graph.nodes if node.name in ("conv",))
    from dataclasses import replace

    from graph_net.graph import Node, Ref

    plain = replace(graph, nodes=(Node("y", "aten.relu.default", (Ref("x"),)),), output=Ref("y"))
    changing = replace(
        graph,
        nodes=(*nodes, Node("y", "aten.relu_.default", (Ref("x"),), (), nodes[0].result)),
        output=Ref("y"),
    )
    found = sort_graphs([_task(plain), _task(changing), _task(graph)])
    assert len(found.tasks) == 1
    assert "no convolution" in found.refused[0]
    assert "changes its input x" in found.refused[1]


def test_a_journal_of_another_device_is_not_added_to(tmp_path: Path) -> None:
    journal = tmp_path / "layouts.jsonl"
    graphs = sort_graphs([_task(sequence_graph())])
    one = LayoutsWanted(per_graph=1, turn=1, repeated=0, repeats=3)
    with open_layout_bench(graphs, one, journal, jobs=1) as bench:
        assert len(list(bench.run())) == 1
    journal.write_bytes(journal.read_bytes().replace(b'"target":"cpu', b'"target":"cuda'))
    with (
        pytest.raises(ValueError, match="name another file"),
        open_layout_bench(graphs, one, journal, jobs=1),
    ):
        pass
