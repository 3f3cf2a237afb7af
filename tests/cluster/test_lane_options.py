"""Where lanes belong: one per device, and none beside another on one machine."""

from __future__ import annotations

from graph_net.cluster.connection import ClusterNode
from graph_net.cluster.lane_crew import lane_options


def node(name: str, host: str, **resources: float) -> ClusterNode:
    return ClusterNode(name, host, resources)


def test_a_machine_is_one_lane_that_takes_all_its_cores() -> None:
    here = node("a", "first", CPU=8)
    assert lane_options([here], "cpu") == [(here, 0, {"num_cpus": 8})]


def test_two_nodes_of_one_machine_are_one_lane() -> None:
    nodes = [node("a", "first", CPU=4), node("b", "first", CPU=4), node("c", "second", CPU=2)]
    assert {place.id for place, _, _ in lane_options(nodes, "cpu")} == {"a", "c"}


def test_a_head_without_cores_does_not_measure() -> None:
    nodes = [node("head", "first", CPU=0), node("b", "second", CPU=4)]
    assert [place.id for place, _, _ in lane_options(nodes, "cpu")] == ["b"]


def test_where_nodes_are_named_to_measure_no_other_does() -> None:
    nodes = [node("a", "first", CPU=4), node("b", "second", CPU=4, measure=1)]
    (lane,) = lane_options(nodes, "cpu")
    assert lane == (nodes[1], 0, {"num_cpus": 4, "resources": {"measure": 1}})


def test_every_gpu_is_a_lane_with_its_share_of_the_cores() -> None:
    nodes = [node("a", "first", CPU=16, GPU=4), node("b", "second", CPU=8)]
    lanes = lane_options(nodes, "cuda")
    assert [(place.id, number) for place, number, _ in lanes] == [("a", n) for n in range(4)]
    assert {tuple(options.items()) for _, _, options in lanes} == {
        (("num_gpus", 1), ("num_cpus", 4))
    }
