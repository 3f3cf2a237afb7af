"""Tasks: a heavy operator with its light neighbours, as TenSet partitions a network.

Groups grow in one pass over the nodes. Each group has a rank, and every value that goes from one
group to another goes to a higher rank, so that the groups can always be computed one after
another: a group that begins gets the highest rank, and a node joins the group of highest rank
among those it depends on, or none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from graph_net.graph.graph import Graph, Node
from graph_net.rewrite.carve import Carver
from graph_net.rewrite.operator_weight import Weight, weight_of
from graph_net.rewrite.piece_inputs import can_cross

LONGEST = 64
"""Nodes of a task; a longer chain of light operators is several tasks."""


@dataclass
class _Group:
    rank: int
    anchored: bool
    nodes: list[int] = field(default_factory=list)
    waits: int = 0  # reads of its values by nodes that belong to no group yet
    shared: bool = False  # a group of its own, or the graph's output, reads its values
    highest: int = -1  # rank of the highest group it depends on


def task(graph: Graph) -> Iterable[list[str]]:
    """A partition of the nodes: each task is an anchor with what is computed along with it.

    Pointwise operators behind an anchor belong to it, and so does everything light in front of it
    that nobody else reads. What is light and near no anchor is a group of its own.
    """
    carver = Carver(graph)
    groups = [sorted(group.nodes) for group in _Partition(carver).groups()]
    return [[graph.nodes[i].name for i in group] for group in _mended(carver, groups)]


def _mended(carver: Carver, groups: Iterable[list[int]]) -> list[list[int]]:
    """The groups, those together that cannot be graphs of their own.

    A group that writes through one name what another group made under another name is one with it,
    and with all that lies between: what is computed one after another stays so.
    """
    made: list[list[int]] = []
    owner: dict[int, int] = {}
    for group in groups:
        while apart := [owner[i] for i in _ties(carver, group)]:
            group = sorted(i for part in [*made[min(apart) :], group] for i in part)
            del made[min(apart) :]
        owner.update(dict.fromkeys(group, len(made)))
        made.append(group)
    return made


def _ties(carver: Carver, group: list[int]) -> list[int]:
    """Nodes outside a group that it cannot be without."""
    inputs = carver.inputs(group)
    names = carver.tangled(group, inputs)
    names += [name for name in inputs if not can_cross(carver.graph.index[name])]
    return [carver.position[name] for name in names if name in carver.position]


class _Partition:
    def __init__(self, carver: Carver) -> None:
        self.carver = carver
        self.graph = carver.graph
        self.of: dict[int, _Group] = {}
        self.made = 0

    def groups(self) -> list[_Group]:
        for place, node in enumerate(self.graph.nodes):
            before = self._before(place)
            group = self._home(place, node, before)
            self._absorb(group, place, before)
            self._add(group, place, node)
        found = {id(group): group for group in self.of.values()}
        return sorted(found.values(), key=lambda group: group.rank)

    def _before(self, place: int) -> dict[int, _Group]:
        """The groups a node depends on, by rank."""
        found = (self.of[i] for i in self.carver.before[place])
        return {group.rank: group for group in found}

    def _home(self, place: int, node: Node, before: dict[int, _Group]) -> _Group:
        """The group a node joins, perhaps a new one."""
        weight = weight_of(node)
        if before:
            group = before[max(before)]
            if self._takes_apart(place, node):
                return group
            fits = weight is Weight.POINTWISE or (weight is Weight.LAYOUT and not group.anchored)
            if fits and len(group.nodes) < LONGEST:
                return group
        self.made += 1
        return _Group(self.made, weight is Weight.ANCHOR)

    def _takes_apart(self, place: int, node: Node) -> bool:
        """Whether a node gives one of several values: it cannot be anywhere but with them."""
        return any(
            isinstance(self.graph.nodes[i].result, tuple) for i in self.carver.before[place]
        ) and node.target.endswith("getitem")

    def _absorb(self, group: _Group, place: int, before: dict[int, _Group]) -> None:
        """Take light groups that only this node reads into the group it joins."""
        reads = [self.of[i] for i in self.carver.before[place]]
        for other in before.values():
            alone = other.waits == sum(found is other for found in reads) and not other.shared
            low = other.highest < group.rank
            size = len(group.nodes) + len(other.nodes) < LONGEST
            if other is not group and not other.anchored and alone and low and size:
                group.nodes += other.nodes
                group.highest = max(group.highest, other.highest)
                for i in other.nodes:
                    self.of[i] = group
                group.waits += other.waits

    def _add(self, group: _Group, place: int, node: Node) -> None:
        for i in self.carver.before[place]:
            before = self.of[i]
            before.waits -= 1
            if before is not group:
                before.shared = True
                group.highest = max(group.highest, before.rank)
        group.nodes.append(place)
        group.waits += len(self.carver.after[place])
        group.shared = group.shared or node.name in self.carver.returned
        self.of[place] = group
