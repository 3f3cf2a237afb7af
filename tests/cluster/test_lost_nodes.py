"""Nodes that die, and nodes that are slow: every item is answered, and once."""

from __future__ import annotations

import random
from collections import Counter

from cluster.echo_lane import PAUSE, EchoKind, shout
from cluster.ray_nodes import RayNodes
from graph_net.cluster.connection import Cluster
from graph_net.cluster.dispatch import dispatch
from graph_net.cluster.lane_crew import LaneCrew
from graph_net.isolate import Ending, Limits, Pool

LIMITS = Limits(600, 4 << 30)
KILLS = 10


def test_ten_nodes_killed_at_random_moments_lose_nothing_and_double_nothing(
    nodes: RayNodes, cluster: Cluster
) -> None:
    nodes.keep(2)
    chance, told = random.Random(0), list[str]()  # noqa: S311 - moments, not secrets
    items = range(60 * (KILLS + 1))
    moments = {60 * number + chance.randrange(60) for number in range(KILLS)}
    crew: LaneCrew[int] = LaneCrew(cluster, EchoKind(), told.append)
    answered, places = list[int](), set[str]()
    for item, (answer, node) in dispatch(cluster, items, crew):
        assert item == answer
        answered.append(item)
        places.add(node)
        if len(answered) in moments:
            # Its items are in flight: a lane has more than one at a time.
            nodes.kill(chance.choice(list(nodes.cluster.worker_nodes)))
            nodes.add()
    assert sorted(answered) == list(items)
    assert len(places) > 2
    assert len([line for line in told if line.startswith(("lost:", "left out:"))]) <= KILLS


def test_a_slow_node_gets_less_work_and_holds_up_nobody(nodes: RayNodes, cluster: Cluster) -> None:
    nodes.keep(1)
    slow = nodes.add({PAUSE: "1.0"})
    crew: LaneCrew[int] = LaneCrew(cluster, EchoKind(), lambda line: None)
    crew.wait_until_known(600)
    while len(crew.places()) < 3:
        cluster.ray.wait(list(crew.awaited()), timeout=1.0)
    work = Counter(node for _, (_, node) in dispatch(cluster, range(300), crew))
    nodes.kill(slow)
    assert work.total() == 300
    by_node = {node.partition(" ")[2]: count for node, count in work.items()}
    others = [count for name, count in by_node.items() if not slow.node_id.startswith(name)]
    assert by_node.get(slow.node_id[:8], 0) < min(others)


def test_a_pool_on_nodes_answers_as_one_on_this_machine(nodes: RayNodes, cluster: Cluster) -> None:
    nodes.keep(1)
    words = [f"word{number}" for number in range(20)] + ["die"]
    here = {done.item: done for done in Pool(LIMITS, 2).each(words, shout)}
    there = {done.item: done for done in cluster.pool(LIMITS).each(words, shout)}
    assert there.keys() == here.keys()
    for word in words:
        assert there[word].answers == here[word].answers
        assert (there[word].death is None) == (here[word].death is None) == (word != "die")
    assert there["die"].death is not None
    assert there["die"].death.ending is Ending.CRASH
