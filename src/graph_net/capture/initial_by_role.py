"""Initial values by role: how an operator reads a parameter decides what the parameter may hold.

This is the fallback for parameters whose initialiser was not observed: scales of norms are ones,
matrices and kernels preserve the magnitude of their input, biases and positions are small.

A batch norm without statistics does not normalise. So the end of a residual branch is drawn
smaller, or a sum of a hundred branches would overflow; and batch norms shift, or values would
vanish after fifty gates and activations.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from graph_net.capture.initial_recipes import constant, normal
from graph_net.graph.graph import Graph, Input, Node, Role
from graph_net.graph.operators import Trait, base_name, names
from graph_net.graph.recipe import Recipe
from graph_net.graph.spec import TensorSpec
from graph_net.graph.values import Ref, Value, refs

SHIFT = 0.3
"""The standard deviation of the shifts of batch norms."""
SMALL = 0.02
"""The standard deviation of biases, positions and embeddings in most models."""
NAMED = {"running_var": 1.0, "running_mean": 0.0}
_MOST_STEPS = 8
"""The most reshapings between a parameter and its reader that are followed."""


@dataclass(frozen=True, slots=True)
class _Use:
    """An operand that reads a parameter, perhaps reshaped; ``shape`` is the shape it reads."""

    node: Node
    position: int
    shape: tuple[int, ...]
    gain: float = 1.0
    """Below 1 where the result is added to something."""


Rule: TypeAlias = Callable[[_Use, tuple[int, ...]], Recipe | None]


class Roles:
    """The parameters of a graph by the operators that read them."""

    def __init__(self, graph: Graph) -> None:
        self._bindings = graph.bindings
        self._reads: defaultdict[str, list[tuple[Node, int]]] = defaultdict(list)
        self._producers = {node.name: node for node in graph.nodes}
        sums = sum(base_name(node.target) in _SUMS for node in graph.nodes)
        self._branch = min(_BRANCH, 1 / math.sqrt(max(1, sums)))
        self._unbounded = any(base_name(node.target) in _BATCH_NORMS for node in graph.nodes)
        for node in graph.nodes:
            for position, value in enumerate(node.args):
                for ref in refs(value):
                    self._reads[ref.name].append((node, position))

    def recipe(self, entry: Input) -> Recipe | None:
        """Return a recipe for a parameter or buffer, by its name or its first decisive reader."""
        name = (entry.original or entry.name).rpartition(".")[2]
        for suffix, value in NAMED.items():
            if name.endswith(suffix):
                return constant(value)
        if entry.role is not Role.PARAMETER or not isinstance(entry.spec, TensorSpec):
            return None
        return self._rule(entry)[1] or normal(0.0, SMALL)

    def carries(self, entry: Input) -> bool:
        """Return whether zeros in it would silence the graph, as in a scale, matrix or kernel."""
        return entry.role is Role.PARAMETER and self._rule(entry)[0] not in _ADDITIVE

    def ends_branch(self, entry: Input) -> bool:
        """Return whether it ends a residual branch of a model with batch norms."""
        if not self._unbounded or not isinstance(entry.spec, TensorSpec):
            return False
        uses = self._uses(entry.name, entry.spec.sizes(self._bindings))
        return any(use.position == 1 and use.gain <= _BRANCH for use in uses)

    def _rule(self, entry: Input) -> tuple[Rule | None, Recipe | None]:
        assert isinstance(entry.spec, TensorSpec)
        shape = entry.spec.sizes(self._bindings)
        for use in self._uses(entry.name, shape):
            kernel_shape = self._kernel_shape(use.node)
            if kernel_shape is not None:
                return _kernel, _kernel(use, kernel_shape)
            rule = _RULES.get((base_name(use.node.target), use.position))
            recipe = None if rule is None else rule(use, shape)
            if recipe is not None:
                return rule, recipe
        return None, None

    def _uses(self, name: str, shape: tuple[int, ...], steps: int = _MOST_STEPS) -> list[_Use]:
        """Return the operands that read a value, directly or after reshapings."""
        uses: list[_Use] = []
        for node, position in self._reads[name]:
            if base_name(node.target) in _THROUGH and position == 0 and steps:
                uses += self._uses(node.name, self._shape(node, shape), steps - 1)
            else:
                uses.append(
                    _Use(node, position, shape, self._gain(node) * self._straight_gain(node))
                )
        return uses

    def _kernel_shape(self, node: Node) -> tuple[int, ...] | None:
        """Return the shape of the kernel that a product mixes from several kernels, or None."""
        if base_name(node.target) not in ("matmul", "mm"):
            return None
        for use in self._uses(node.name, ()):
            if base_name(use.node.target) in _KERNELS and use.position == 1:
                return use.shape
        return None

    def _straight_gain(self, node: Node) -> float:
        """Return the gain of a kernel whose input is another layer, with no activation between."""
        if base_name(node.target) not in _KERNELS:
            return 1.0
        producer = self._producer(node)
        while producer is not None and base_name(producer.target) in _UNCHANGING:
            producer = self._producer(producer)
        return _STRAIGHT if producer is not None and base_name(producer.target) in _LAYERS else 1.0

    def _producer(self, node: Node) -> Node | None:
        """Return the call that computes the first argument of a call."""
        source: Value = node.args[0] if node.args else None
        return self._producers.get(source.name) if isinstance(source, Ref) else None

    def _gain(self, node: Node, steps: int = 3) -> float:
        """Return how large a call's result may be relative to the value it is added to."""
        for reader, position in self._reads[node.name]:
            name = base_name(reader.target)
            if name in _SUMS and all(isinstance(arg, Ref) for arg in reader.args[:2]):
                other: Value = reader.args[1 - position] if position < 2 else None
                producer = self._producers.get(other.name) if isinstance(other, Ref) else None
                if producer is not None:
                    return _EQUAL if base_name(producer.target) in _LAYERS else self._branch
            elif name in _PASSING and steps and (gain := self._gain(reader, steps - 1)) < 1:
                return gain
        return 1.0

    def _shape(self, node: Node, shape: tuple[int, ...]) -> tuple[int, ...]:
        spec = node.result
        return spec.sizes(self._bindings) if isinstance(spec, TensorSpec) else shape


def _kernel(use: _Use, shape: tuple[int, ...]) -> Recipe | None:
    """Return the recipe of a convolution's weight, drawn as in He et al."""
    if len(shape) < 2:
        return None
    return normal(0.0, use.gain * math.sqrt(2 / max(1, math.prod(shape[1:]))))


def _matrix(contracted: int) -> Rule:
    """Make the rule of a matrix whose products are as large as its operand."""

    def rule(use: _Use, shape: tuple[int, ...]) -> Recipe | None:
        if len(shape) < 2 or len(use.shape) < 2:
            return None
        return normal(0.0, use.gain / math.sqrt(max(1, use.shape[contracted])))

    return rule


def _one(use: _Use, shape: tuple[int, ...]) -> Recipe | None:
    return constant(use.gain)


def _always(recipe: Recipe | None) -> Rule:
    def rule(use: _Use, shape: tuple[int, ...]) -> Recipe | None:
        return recipe

    return rule


_length = _always(constant(math.sqrt(2)))
"""The norm of a channel of a kernel that is normalised."""
_zero = _always(constant(0.0))
_shift = _always(normal(0.0, SHIFT))
_slope = _always(constant(0.25))
_small = _always(normal(0.0, SMALL))


def _added(use: _Use, shape: tuple[int, ...]) -> Recipe | None:
    """Return zeros for the weight of a scale ``1 + weight``, small values for a bias."""
    other: Value = use.node.args[1 - use.position]
    return constant(0.0) if not isinstance(other, Ref) else normal(0.0, SMALL)


_BRANCH, _EQUAL = 0.25, 0.7
"""Gains of a branch beside a shortcut, if branches are few, and of each of two added layers."""
_STRAIGHT = math.sqrt(0.5)
_UNCHANGING = names(Trait.KEEPS_SCALE)
_SUMS = names(Trait.ADDITION)
_PASSING = names(Trait.BRANCH_THROUGH)
"""Calls between the end of a branch and its sum; a product is attention over channels."""
_ADDITIVE = (None, _zero, _small, _added)
"""Rules for parameters that are added to values."""
_THROUGH = names(Trait.WEIGHT_THROUGH)
_KERNELS = names(Trait.CONVOLUTION)
_BATCH_NORMS = names(Trait.BATCH_NORM)
_LAYERS = _KERNELS | _BATCH_NORMS | names(Trait.LAYER)
_RULES: dict[tuple[str, int], Rule] = {
    **{(name, 1): _kernel for name in _KERNELS},
    **{(name, 2): _small for name in _KERNELS},
    **{(name, 0): _kernel for name in _BATCH_NORMS},  # a kernel that is standardised
    **{(name, 1): _one for name in _BATCH_NORMS},
    **{(name, 2): _shift for name in _BATCH_NORMS},
    **{(name, 0): _matrix(-1) for name in ("mm", "matmul", "bmm")},
    **{(name, 1): _matrix(-2) for name in ("mm", "matmul", "bmm")},
    **{(name, 2): _one for name in ("layer_norm", "native_layer_norm", "group_norm", "rms_norm")},
    **{(name, 3): _zero for name in ("layer_norm", "native_layer_norm", "group_norm")},
    **{(name, at): _one for name in ("mul", "mul_", "div", "div_") for at in (0, 1)},
    **{(name, at): _added for name in ("add", "add_") for at in (0, 1)},
    ("native_group_norm", 1): _one,
    ("native_group_norm", 2): _zero,
    ("linear", 1): _matrix(-1),
    ("linear", 2): _small,
    ("addmm", 0): _small,
    ("addmm", 1): _matrix(-1),
    ("addmm", 2): _matrix(-2),
    ("baddbmm", 1): _matrix(-1),
    ("baddbmm", 2): _matrix(-2),
    ("einsum", 1): _matrix(0),
    ("lstm", 2): _matrix(-1),
    ("gru", 2): _matrix(-1),
    ("rnn_tanh", 2): _matrix(-1),
    **{(name, at): _matrix(-1) for name in ("lstm_cell", "gru_cell") for at in (2, 3)},
    ("prelu", 1): _slope,
    ("_prelu_kernel", 1): _slope,
    **{(name, 0): _kernel for name in ("_weight_norm", "_weight_norm_interface")},
    **{(name, 1): _length for name in ("_weight_norm", "_weight_norm_interface")},
}
