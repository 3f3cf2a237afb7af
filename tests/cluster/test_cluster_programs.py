"""Programs collected on nodes: the schedules of a run without Ray, each measured once."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from cluster.ray_nodes import RayNodes
from graph_net.cluster.connection import Cluster, ClusterError
from graph_net.cluster.program_bench import ClusterBench, ProgramLanes, find_device
from graph_net.cluster.turn_messages import turn_from_json, turn_to_json
from graph_net.programs.collection.collect import Collection
from graph_net.programs.collection.collection_dir import JOURNAL
from graph_net.programs.collection.cpu_bench import cpu_collection
from graph_net.programs.collection.plan import Turn, Wanted
from graph_net.programs.collection.task import CollectedTask
from graph_net.programs.spaces import Workload, registry
from graph_net.results import Device

TILES, TURN = 12, 5
WANTED = Wanted(TILES, turn=TURN, repeated=0)
TASKS = [
    CollectedTask(
        Workload("sleeping", f"sleep{number}", str(number), json.dumps({"tiles": TILES}), 1e6),
        f"s{number}",
        f"g{number}",
        weights={"net": number},
    )
    for number in (1, 2, 3)
]


def test_a_turn_is_the_same_after_a_journey() -> None:
    turn = Turn(TASKS[0], 3, WANTED, Counter({1 << 63: 2}))
    there, best = turn_from_json(json.loads(json.dumps(turn_to_json(turn, {"1": 0.5, "2": 1.0}))))
    assert there == replace(turn, outcomes={1 << 63: 2})
    assert best == {"1": 0.5}


def test_programs_on_nodes_are_those_of_this_machine_and_a_second_run_has_none(
    nodes: RayNodes, cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes.keep(1)
    known = {**registry.BUILT_IN, "sleeping": "graph_net.testing.space:SleepingSpace"}
    lanes = ProgramLanes("cpu", 1)
    device = find_device(cluster, lanes, None, lambda line: None)
    bench = ClusterBench(
        cluster, replace(lanes, wanted=device), tmp_path / "there", math.inf, lambda line: None
    )
    collection = Collection(tmp_path / "there" / JOURNAL, WANTED, bench)
    found = list(collection.run(TASKS))
    monkeypatch.setattr(registry, "BUILT_IN", known)
    here = list(cpu_collection(tmp_path / "here", WANTED, 1).run(TASKS))
    assert Counter((p.task.workload, p.schedule) for p in found) == Counter(
        (p.task.workload, p.schedule) for p in here
    )
    assert all(json.loads(program.extra)["node"] for program in found)
    assert all(program.device == device for program in found)
    assert not list(bench._pending(collection.turns(TASKS)))


def test_a_directory_of_another_device_is_refused(nodes: RayNodes, cluster: Cluster) -> None:
    nodes.keep(0)
    other = Device("cpu", "another", 1, 1, 1, "Linux", "3")
    with pytest.raises(ClusterError, match="name another --work"):
        find_device(cluster, ProgramLanes("cpu", 1), other, lambda line: None)
