"""Partition a graph into tasks as TenSet does: a heavy operator with its light neighbours.

Groups grow in one pass over the nodes. Each group has a rank, and every value that goes from one
group to another goes to a higher rank, so that the groups can always be computed in order: a new
group gets the highest rank, and a node joins the group of highest rank among those it depends on,
or none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from graph_net.graph.graph import Graph, Node
from graph_net.rewrite.carve import Carver
from graph_net.rewrite.operator_weight import Weight, weight_of
from graph_net.rewrite.piece_inputs import can_cross

LONGEST = 64
"""The most nodes of a task; a longer chain of light operators is several tasks."""


@dataclass
class _Group:
    rank: int
    anchored: bool
    nodes: list[int] = field(default_factory=list)
    waits: int = 0  # reads of its values by nodes that are in no group yet
    shared: bool = False  # another group, or the graph's output, reads its values
    highest: int = -1  # rank of the highest group it depends on


def task(graph: Graph) -> Iterable[list[str]]:
    """Return a partition of the nodes: each task is an anchor with the calls computed with it.

    Pointwise operators after an anchor belong to it, and so does everything light before it that no
    other group reads. Light operators near no anchor form separate groups.
    """
    carver = Carver(graph)
    groups = [sorted(group.nodes) for group in _Partition(carver).groups()]
    return [[graph.nodes[i].name for i in group] for group in _merge_tied(carver, groups)]


def _merge_tied(carver: Carver, groups: Iterable[list[int]]) -> list[list[int]]:
    """Merge the groups that cannot be separate graphs.

    If a group writes through one name to a tensor that another group made under another name, the
    two are merged, with all groups between them, so that the order of computation stays.
    """
    merged: list[list[int]] = []
    owner: dict[int, int] = {}
    for group in groups:
        while tied := [owner[i] for i in _ties(carver, group)]:
            group = sorted(i for part in [*merged[min(tied) :], group] for i in part)
            del merged[min(tied) :]
        owner.update(dict.fromkeys(group, len(merged)))
        merged.append(group)
    return merged


def _ties(carver: Carver, group: list[int]) -> list[int]:
    """Return nodes outside a group that must be in it."""
    inputs = carver.inputs(group)
    names = carver.aliased_inputs(group, inputs)
    names += [name for name in inputs if not can_cross(carver.graph.index[name])]
    return [carver.position[name] for name in names if name in carver.position]


class _Partition:
    def __init__(self, carver: Carver) -> None:
        self.carver = carver
        self.graph = carver.graph
        self.group_of: dict[int, _Group] = {}
        self.count = 0

    def groups(self) -> list[_Group]:
        for position, node in enumerate(self.graph.nodes):
            before = self._before(position)
            group = self._home(position, node, before)
            self._absorb(group, position, before)
            self._add(group, position, node)
        distinct = {id(group): group for group in self.group_of.values()}
        return sorted(distinct.values(), key=lambda group: group.rank)

    def _before(self, position: int) -> dict[int, _Group]:
        """Return the groups a node depends on, by rank."""
        groups = (self.group_of[i] for i in self.carver.before[position])
        return {group.rank: group for group in groups}

    def _home(self, position: int, node: Node, before: dict[int, _Group]) -> _Group:
        """Return the group a node joins, perhaps a new one."""
        weight = weight_of(node)
        if before:
            group = before[max(before)]
            if self._picks_result(position, node):
                return group
            fits = weight is Weight.POINTWISE or (weight is Weight.LAYOUT and not group.anchored)
            if fits and len(group.nodes) < LONGEST:
                return group
        self.count += 1
        return _Group(self.count, weight is Weight.ANCHOR)

    def _picks_result(self, position: int, node: Node) -> bool:
        """Return whether a node picks one of several results: it must stay with their call."""
        return any(
            isinstance(self.graph.nodes[i].result, tuple) for i in self.carver.before[position]
        ) and node.target.endswith("getitem")

    def _absorb(self, group: _Group, position: int, before: dict[int, _Group]) -> None:
        """Move light groups that only this node reads into the group it joins."""
        reads = [self.group_of[i] for i in self.carver.before[position]]
        for other in before.values():
            alone = (
                other.waits == sum(group_read is other for group_read in reads) and not other.shared
            )
            low = other.highest < group.rank
            size = len(group.nodes) + len(other.nodes) < LONGEST
            if other is not group and not other.anchored and alone and low and size:
                group.nodes += other.nodes
                group.highest = max(group.highest, other.highest)
                for i in other.nodes:
                    self.group_of[i] = group
                group.waits += other.waits

    def _add(self, group: _Group, position: int, node: Node) -> None:
        for i in self.carver.before[position]:
            before = self.group_of[i]
            before.waits -= 1
            if before is not group:
                before.shared = True
                group.highest = max(group.highest, before.rank)
        group.nodes.append(position)
        group.waits += len(self.carver.after[position])
        group.shared = group.shared or node.name in self.carver.returned
        self.group_of[position] = group
