"""Carry other sizes through a graph whose sizes are numbers: call by call, with repairs.

Each call is made on fake tensors. A call that fails, or that reshapes, gets the sizes that fit
(``literals.py``). If none fits, the cause lies earlier (an ``expand``, an ``arange``), and the
nearest calls before it that hold sizes are tried.
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
from graph_net.rewrite.variant.dims import Dimension, with_dimensions
from graph_net.rewrite.variant.literals import (
    Path,
    Shape,
    SizeChanges,
    candidate_changes,
    size_literals,
    substitute,
)
from graph_net.rewrite.variant.propagate import call_fake, fake_values, with_results

NEAR = 40
"""The most calls before a failing one that are considered."""
PATIENCE = 2_000
"""Repeated calls over a whole graph before giving up on it."""
Sites = dict[tuple[str, Path], int]


class Solver:
    """Carries new sizes through one graph; ``before`` holds its values at the old ones."""

    def __init__(
        self, graph: Graph, before: Mapping[str, Any], sizes: Mapping[Dimension, int]
    ) -> None:
        self.source, self.before = graph, before
        self.graph = with_dimensions(graph, sizes)
        self.position = {node.name: number for number, node in enumerate(graph.nodes)}
        self.chosen: list[dict[Path, int]] = [{} for _ in graph.nodes]
        self.new_sizes: dict[int, dict[int, None]] = {}
        self.asked = {int(before[name].shape[dim]) for name, dim in sizes}
        self.values: dict[str, Any] = {}
        self.left = PATIENCE

    def solve(self) -> tuple[Graph, Sites]:
        """Return the graph at the new sizes, and the numbers in its calls that had to change."""
        with fake_values(self.graph) as values:
            self.values = values
            for entry in self.graph.inputs:
                self._record_sizes(entry.name)
            for number, node in enumerate(self.graph.nodes):
                if not self._make_call(number) and not self._repair(number):
                    self._refuse(node)
                self._record_sizes(node.name)
        pairs = list(zip(self.graph.nodes, self.chosen, strict=True))
        resized = replace(self.graph, nodes=tuple(substitute(n, c) for n, c in pairs))
        sites = {(node.name, path): new for node, c in pairs for path, new in c.items()}
        return with_results(resized, self.values), sites

    def _refuse(self, node: Node) -> None:
        try:
            call_fake(node, self.values)
            why = "its result has another dtype or rank"
        except GraphError as error:
            why = error.reason
        raise GraphError(f"cannot be resized: {why}", node=node.name)

    def _record_sizes(self, name: str) -> None:
        old, new = _shape(self.before[name]), _shape(self.values[name])
        if old is not None and new is not None:
            for a, b in zip(old, new, strict=False):
                if a != b:
                    self.new_sizes.setdefault(a, {})[b] = None

    def _options(self, number: int) -> Iterator[dict[Path, int]]:
        node = self.graph.nodes[number]
        first = node.args[0] if node.args else None
        name = first.name if isinstance(first, Ref) else ""
        return candidate_changes(
            node,
            _shape(self.before.get(name)),
            _shape(self.before[node.name]),
            _shape(self.values.get(name)),
            SizeChanges(self.new_sizes, self.asked),
        )

    def _make_call(self, number: int) -> bool:
        """Make a call with the first choice of sizes it accepts; return whether there is one."""
        return any(self._try_choice(number, choice) for choice in self._options(number))

    def _try_choice(self, number: int, choice: dict[Path, int]) -> bool:
        self.left -= 1
        if self.left < -len(self.graph.nodes):
            raise GraphError("cannot be resized: too many sizes depend on each other")
        node = self.graph.nodes[number]
        try:
            result = call_fake(substitute(node, choice), self.values)
        except GraphError:
            return False
        if _kinds(result) != _kinds(self.before[node.name]):
            return False
        self.values[node.name], self.chosen[number] = result, choice
        return True

    def _repair(self, number: int) -> bool:
        """Change sizes in calls before a failing one until this one can be made.

        One call is changed, then all similar ones (such as two states of a recurrent layer).
        """
        nearest = list(self._nearest(number))
        alike: dict[Any, list[int]] = {}
        for earlier in nearest:
            node = self.graph.nodes[earlier]
            alike.setdefault((node.target, tuple(size_literals(node).items())), []).append(earlier)
        groups = [[earlier] for earlier in nearest] + [g for g in alike.values() if len(g) > 1]
        return any(self._change(group, number) for group in groups)

    def _change(self, group: list[int], number: int) -> bool:
        chosen, values = list(self.chosen), dict(self.values)
        for choice in list(self._options(group[0])):
            if choice == chosen[group[0]]:
                continue
            if all(self._try_choice(k, choice) for k in group) and self._repeat_calls(
                group, number
            ):
                return True
            self.chosen, self.values = list(chosen), dict(values)
        return False

    def _nearest(self, number: int) -> Iterator[int]:
        """Yield the calls with sizes that a call depends on, nearest first."""
        waiting, visited, count = deque([number]), {number}, 0
        while waiting and count < NEAR:
            for ref in self.graph.nodes[waiting.popleft()].refs:
                earlier = self.position.get(ref.name)
                if earlier is None or earlier in visited:
                    continue
                visited.add(earlier)
                waiting.append(earlier)
                count += 1
                if size_literals(self.graph.nodes[earlier]):
                    yield earlier

    def _repeat_calls(self, group: list[int], number: int) -> bool:
        """Repeat the calls that depend on changed ones, up to the failing one."""
        touched = {self.graph.nodes[k].name for k in group}
        for later in range(min(group) + 1, number + 1):
            node = self.graph.nodes[later]
            if later not in group and any(ref.name in touched for ref in node.refs):
                touched.add(node.name)
                if not self._make_call(later):
                    return False
        return True


def _shape(value: Any) -> Shape | None:
    if not isinstance(value, torch.Tensor) or any(isinstance(s, torch.SymInt) for s in value.shape):
        return None  # its sizes depend on values
    return tuple(value.shape)


def _kinds(value: Any) -> list[Any]:
    """Return what must stay: the number of results, their dtypes and ranks."""
    return [
        (leaf.dtype, leaf.dim()) if isinstance(leaf, torch.Tensor) else type(leaf)
        for leaf in flat_outputs(value)
    ]
