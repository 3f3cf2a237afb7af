"""Differences between two graphs: calls that only one has, and calls that differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from graph_net.graph import Graph, Node
from graph_net.graph.values import Ref, Value, map_refs
from graph_net.report.page_drawing import short_target, spec_text
from graph_net.serve.align import align

ONLY, CHANGED = "only", "changed"


@dataclass(frozen=True, slots=True)
class CallDifference:
    """A call number in each graph, None if it is missing there, and what differs."""

    first: int | None
    second: int | None
    what: str


@dataclass(frozen=True)
class GraphDiff:
    """Two graphs, and how their calls correspond."""

    first: Graph
    second: Graph
    pairs: tuple[tuple[int, int], ...]

    @staticmethod
    def of(first: Graph, second: Graph) -> GraphDiff:
        """Return two graphs with their calls aligned by operator, in order."""
        one, other = ([node.target for node in graph.nodes] for graph in (first, second))
        return GraphDiff(first, second, tuple(align(one, other)))

    @cached_property
    def differences(self) -> tuple[CallDifference, ...]:
        """All differences, in the order of the calls."""
        names = _names(self)
        found: list[CallDifference] = []
        a = b = 0
        for x, y in [*self.pairs, (len(self.first.nodes), len(self.second.nodes))]:
            found += [CallDifference(place, None, "only in the first") for place in range(a, x)]
            found += [CallDifference(None, place, "only in the second") for place in range(b, y)]
            if x < len(self.first.nodes):
                what = _compare(self.first.nodes[x], self.second.nodes[y], names)
                found += [CallDifference(x, y, what)] if what else []
            a, b = x + 1, y + 1
        return tuple(found)

    def marks(self, side: int) -> dict[int, str]:
        """Return the calls of one side (0 or 1) that differ, and how."""
        found = {}
        for one in self.differences:
            mine, other = (one.first, one.second) if side == 0 else (one.second, one.first)
            if mine is not None:
                found[mine] = ONLY if other is None else CHANGED
        return found

    @cached_property
    def operators(self) -> list[tuple[str, int, int]]:
        """The operators whose counts differ, with both counts."""
        one, other = (
            Counter(short_target(node.target) for node in graph.nodes)
            for graph in (self.first, self.second)
        )
        rows = [(name, one[name], other[name]) for name in {*one, *other}]
        changed = [row for row in rows if row[1] != row[2]]
        return sorted(changed, key=lambda row: (-abs(row[1] - row[2]), row[0]))

    @cached_property
    def kinds(self) -> dict[str, int]:
        """How many calls differ in which way, the most frequent first."""
        return dict(Counter(one.what for one in self.differences).most_common())

    @cached_property
    def is_equal(self) -> bool:
        """Whether the graphs have the same id."""
        return self.first.id == self.second.id


def _names(diff: GraphDiff) -> Mapping[str, str]:
    """Return the first graph's names for the second graph's values."""
    names = {diff.second.nodes[y].name: diff.first.nodes[x].name for x, y in diff.pairs}
    mine = {entry.name for entry in diff.first.inputs}
    spare = [entry.name for entry in diff.first.inputs]
    for place, entry in enumerate(diff.second.inputs):
        by_place = spare[place] if place < len(spare) else ""
        names[entry.name] = entry.name if entry.name in mine else by_place
    return names


def _compare(first: Node, second: Node, names: Mapping[str, str]) -> str:
    """Return what differs between two calls of one operator; empty if nothing does."""
    said = []
    if first.result != second.result:
        said.append("of another shape or dtype")
    renamed = second.with_refs(lambda ref: Ref(names.get(ref.name, f"?{ref.name}")))
    mine, other = _arguments(first), _arguments(renamed)
    if _without_refs(mine) != _without_refs(other):
        said.append("with other arguments")
    elif mine != other:
        said.append("reading other values")
    return ", ".join(said)


def _arguments(node: Node) -> tuple[Value, ...]:
    return (node.args, *((key, value) for key, value in node.kwargs))


def _without_refs(value: tuple[Value, ...]) -> Value:
    return map_refs(value, lambda _: Ref("value"))


def describe(graph: Graph, number: int | None) -> str:
    """Return a call in one line: its name, operator and result."""
    if number is None:
        return ""
    node = graph.nodes[number]
    return f"{number}: {node.name} = {short_target(node.target)} → {spec_text(node.result)}"
