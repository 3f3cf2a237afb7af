"""Other sizes carried through a graph whose own are numbers: call by call, mended where it fails.

Each call is made on tensors without values. One that fails, or that reshapes, gets the sizes that
fit (``literals.py``); where none fits the cause lies earlier (an ``expand``, an ``arange``), and
the nearest calls before it that hold sizes are tried.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import torch

from graph_net.graph.errors import GraphError
from graph_net.graph.graph import Graph, Node
from graph_net.graph.outputs import flat_outputs
from graph_net.graph.values import Ref
from graph_net.rewrite.variant.dims import Place, with_places
from graph_net.rewrite.variant.literals import (
    Grown,
    Path,
    Shape,
    choices,
    size_literals,
    substitute,
)
from graph_net.rewrite.variant.propagate import call, fakes, with_results

NEAR = 40
"""How many calls before a failing one are looked at."""
PATIENCE = 2_000
"""Calls made again over a whole graph before it is given up."""
Sites = dict[tuple[str, Path], int]


class Solver:
    """Carries new sizes through one graph; ``before`` are its values at the old ones."""

    def __init__(self, graph: Graph, before: Mapping[str, Any], sizes: Mapping[Place, int]) -> None:
        self.source, self.before = graph, before
        self.graph = with_places(graph, sizes)
        self.place = {node.name: number for number, node in enumerate(graph.nodes)}
        self.chosen: list[dict[Path, int]] = [{} for _ in graph.nodes]
        self.grown: dict[int, dict[int, None]] = {}
        self.asked = {int(before[name].shape[dim]) for name, dim in sizes}
        self.values: dict[str, Any] = {}
        self.left = PATIENCE

    def solve(self) -> tuple[Graph, Sites]:
        """The graph at the new sizes, and the numbers in its calls that had to follow."""
        with fakes(self.graph) as values:
            self.values = values
            for entry in self.graph.inputs:
                self._learn(entry.name)
            for number, node in enumerate(self.graph.nodes):
                if not self._settle(number) and not self._mend(number):
                    self._refuse(node)
                self._learn(node.name)
        nodes = zip(self.graph.nodes, self.chosen, strict=True)
        made = replace(self.graph, nodes=tuple(substitute(n, c) for n, c in nodes))
        sites = {
            (node.name, path): new
            for node, changes in zip(self.graph.nodes, self.chosen, strict=True)
            for path, new in changes.items()
        }
        return with_results(made, self.values), sites

    def _refuse(self, node: Node) -> None:
        try:
            call(node, self.values)
            why = "gives another kind of result"
        except GraphError as error:
            why = error.reason
        raise GraphError(f"cannot be resized: {why}", node=node.name)

    def _learn(self, name: str) -> None:
        old, new = _shape(self.before[name]), _shape(self.values[name])
        if old is not None and new is not None:
            for a, b in zip(old, new, strict=False):
                if a != b:
                    self.grown.setdefault(a, {})[b] = None

    def _options(self, number: int) -> Iterator[dict[Path, int]]:
        node = self.graph.nodes[number]
        first = node.args[0] if node.args else None
        name = first.name if isinstance(first, Ref) else ""
        return choices(
            node,
            _shape(self.before.get(name)),
            _shape(self.before[node.name]),
            _shape(self.values.get(name)),
            Grown(self.grown, self.asked),
        )

    def _settle(self, number: int) -> bool:
        """Make a call with the first choice of sizes that it takes."""
        return any(self._takes(number, choice) for choice in self._options(number))

    def _takes(self, number: int, choice: dict[Path, int]) -> bool:
        self.left -= 1
        if self.left < -len(self.graph.nodes):
            raise GraphError("cannot be resized: too many sizes depend on each other")
        node = self.graph.nodes[number]
        try:
            found = call(substitute(node, choice), self.values)
        except GraphError:
            return False
        if _kinds(found) != _kinds(self.before[node.name]):
            return False
        self.values[node.name], self.chosen[number] = found, choice
        return True

    def _mend(self, number: int) -> bool:
        """Change sizes in calls before a failing one until this one can be made.

        One call is changed, then all that look like it: two states of a recurrent layer.
        """
        near = list(self._near(number))
        alike: dict[Any, list[int]] = {}
        for earlier in near:
            node = self.graph.nodes[earlier]
            alike.setdefault((node.target, tuple(size_literals(node).items())), []).append(earlier)
        groups = [[earlier] for earlier in near] + [g for g in alike.values() if len(g) > 1]
        return any(self._change(group, number) for group in groups)

    def _change(self, group: list[int], number: int) -> bool:
        kept, values = list(self.chosen), dict(self.values)
        for choice in list(self._options(group[0])):
            if choice == kept[group[0]]:
                continue
            if all(self._takes(k, choice) for k in group) and self._again(group, number):
                return True
            self.chosen, self.values = list(kept), dict(values)
        return False

    def _near(self, number: int) -> Iterator[int]:
        """The calls that a call depends on and that hold sizes, nearest first."""
        waiting, seen, looked = deque([number]), {number}, 0
        while waiting and looked < NEAR:
            for ref in self.graph.nodes[waiting.popleft()].refs:
                earlier = self.place.get(ref.name)
                if earlier is None or earlier in seen:
                    continue
                seen.add(earlier)
                waiting.append(earlier)
                looked += 1
                if size_literals(self.graph.nodes[earlier]):
                    yield earlier

    def _again(self, group: list[int], number: int) -> bool:
        """Make once more the calls that depend on changed ones, up to the failing one."""
        touched = {self.graph.nodes[k].name for k in group}
        for later in range(min(group) + 1, number + 1):
            node = self.graph.nodes[later]
            if later not in group and any(ref.name in touched for ref in node.refs):
                touched.add(node.name)
                if not self._settle(later):
                    return False
        return True


def _shape(value: Any) -> Shape | None:
    if not isinstance(value, torch.Tensor) or any(isinstance(s, torch.SymInt) for s in value.shape):
        return None  # or a size that only values decide
    return tuple(value.shape)


def _kinds(value: Any) -> list[Any]:
    """What must stay: how many results, their dtypes and ranks."""
    return [
        (leaf.dtype, leaf.dim()) if isinstance(leaf, torch.Tensor) else type(leaf)
        for leaf in flat_outputs(value)
    ]
