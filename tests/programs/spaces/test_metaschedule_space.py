"""MetaSchedule's space of a small function, and the tasks of a small graph."""

from __future__ import annotations

import json

import pytest
import torch

pytest.importorskip("tvm", reason="needs apache-tvm")

from graph_net.capture import capture
from graph_net.compilers.tvm_ready import load_intrinsics
from graph_net.graph import Graph
from graph_net.programs.spaces import SpaceError, Workload, space_of
from graph_net.programs.spaces.metaschedule import MetaScheduleSpace
from graph_net.programs.spaces.relax import FoundTask, tasks_of
from graph_net.programs.spaces.traces import before_postproc, parse_trace
from graph_net.programs.spaces.tvm_program import TvmProgram
from graph_net.rewrite.carve import carve
from graph_net.testing.space import check_space


class Net(torch.nn.Module):
    """Two equal convolutions, a third, a linear layer, attention and what needs no kernel."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Conv2d(8, 8, 3, padding=1)
        self.second = torch.nn.Conv2d(8, 8, 3, padding=1)
        self.third = torch.nn.Conv2d(8, 16, 1)
        self.last = torch.nn.Linear(16, 32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.first(x).relu()
        y = self.second(y).relu()
        y = self.third(y).flatten(2).transpose(1, 2)
        y = torch.nn.functional.scaled_dot_product_attention(y, y, y)
        return torch.softmax(self.last(y), -1)


@pytest.fixture(scope="module")
def graph() -> Graph:
    (found,) = capture(Net().eval(), (torch.zeros(1, 8, 8, 8),)).graphs
    return found


@pytest.fixture(scope="module")
def tasks(graph: Graph) -> list[FoundTask]:
    return tasks_of(graph, 2)


def operators(task: FoundTask) -> list[str]:
    return [node.target.split(".")[1] for node in task.subgraph.nodes] if task.subgraph else []


def test_tasks_carry_the_subgraph_they_compute(tasks: list[FoundTask]) -> None:
    found = {task.workload.name: task for task in tasks}
    (same,) = [task for task in tasks if task.weight == 2 and "conv2d" in task.workload.name]
    assert operators(same) == ["conv2d", "relu"]
    assert same.workload.flops > 2 * 9 * 8 * 8 * 64
    (linear,) = [task for task in tasks if operators(task) == ["linear"]]
    assert "matmul" in linear.workload.name
    assert any(operators(task) == ["softmax"] for task in tasks)
    assert len(found) == len(tasks)


def test_a_part_of_a_call_has_no_subgraph(tasks: list[FoundTask]) -> None:
    """Attention is several functions: the cost of none of them is the cost of attention."""
    claimed = [name for task in tasks for name in operators(task)]
    assert "scaled_dot_product_attention" not in claimed
    assert any(task.subgraph is None and "matmul" in task.workload.name for task in tasks)


def test_no_call_is_claimed_twice(tasks: list[FoundTask], graph: Graph) -> None:
    nodes = [node.name for task in tasks if task.subgraph for node in task.subgraph.nodes]
    assert len(nodes) == len(set(nodes))
    assert set(nodes) <= {node.name for node in graph.nodes}


def test_subgraphs_have_the_structure_of_the_same_model_elsewhere(tasks: list[FoundTask]) -> None:
    class Other(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = torch.nn.Conv2d(8, 8, 3, padding=1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(self.conv(x))

    (whole,) = capture(Other().eval(), (torch.zeros(1, 8, 8, 8),)).graphs
    other = carve(whole, [node.name for node in whole.nodes])
    structures = {task.subgraph.structure for task in tasks if task.subgraph}
    assert other.structure in structures


@pytest.fixture(scope="module")
def workload(tasks: list[FoundTask]) -> Workload:
    return next(t.workload for t in tasks if t.weight == 2 and t.workload.flops)


def test_it_conforms(workload: Workload) -> None:
    space = space_of(workload)
    schedules = check_space(space)
    assert space.count() > 1000
    assert json.loads(space.target)["kind"] == "llvm"
    trace = parse_trace(schedules[0])
    assert len(before_postproc(trace)[0]) < len(trace[0])


def test_another_process_makes_the_same_space(workload: Workload) -> None:
    first, again = MetaScheduleSpace(workload), MetaScheduleSpace(workload)
    assert list(first.sample(3, 7)) == list(again.sample(3, 7))
    assert list(first.sample(3, 7)) != list(again.sample(3, 8))


def test_a_stored_trace_gives_the_same_program(workload: Workload) -> None:
    import tvm_ffi

    space = MetaScheduleSpace(workload)
    (schedule,) = space.sample(1, 3)
    again = space.schedule(schedule)
    assert tvm_ffi.structural_equal(again.mod, MetaScheduleSpace(workload).schedule(schedule).mod)
    assert "conv2d" in space.code(schedule)
    assert "sample_perfect_tile" in space.steps(schedule)


def test_machine_code_is_made_while_building() -> None:
    """Asked for first by a run, it would be made in the lane that one program has to itself."""
    asked: list[str] = []

    class Library:
        def get_function(self, name: str) -> None:
            asked.append(name)

    TvmProgram(Library(), [])
    assert asked == ["main"]


def test_mistakes_are_told(workload: Workload, tasks: list[FoundTask]) -> None:
    space = MetaScheduleSpace(workload)
    other = next(task for task in tasks if task.workload.hash != workload.hash and task.subgraph)
    (foreign,) = MetaScheduleSpace(other.workload).sample(1, 1)
    assert "no schedule of" in (space.wrong(foreign) or "")
    with pytest.raises(SpaceError, match="no module"):
        MetaScheduleSpace(Workload("metaschedule", "w", "1", "AAAA")).draw(1)
    with pytest.raises(SpaceError, match="not a target"):
        MetaScheduleSpace(workload, "nonsense")


def test_loading_intrinsics_leaves_inspect_as_it_was() -> None:
    import inspect

    before = inspect.stack
    load_intrinsics()
    assert inspect.stack is before
    assert inspect.stack()[0].function == "test_loading_intrinsics_leaves_inspect_as_it_was"
