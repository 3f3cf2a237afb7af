"""Initial values by role: what a parameter is to the operator that reads it says what it may hold.

The second best, for parameters whose initialiser was not heard: scales of norms are ones, matrices
and kernels keep the size of what passes through them, biases and positions are small.

A batch norm that saw no data does not normalise. What ends a residual branch is therefore drawn
smaller, or a sum of a hundred branches would grow beyond all bounds; and batch norms shift, or what
passes through fifty gates and activations would vanish.
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
"""The deviation of the shifts of batch norms."""
SMALL = 0.02
"""The deviation of biases, positions and embeddings, as most models have it."""
NAMED = {"running_var": 1.0, "running_mean": 0.0}
_MOST_STEPS = 8
"""Reshapings between a parameter and its reader that are looked through."""


@dataclass(frozen=True, slots=True)
class _Use:
    """One place that reads a parameter, perhaps reshaped on the way: ``shape`` as it is read."""

    node: Node
    position: int
    shape: tuple[int, ...]
    gain: float = 1.0
    """By how much smaller than others: what it computes is added to something."""


Rule: TypeAlias = Callable[[_Use, tuple[int, ...]], Recipe | None]


class Roles:
    """What the parameters of a graph are to the operators that read them."""

    def __init__(self, graph: Graph) -> None:
        self._bindings = graph.bindings
        self._reads: defaultdict[str, list[tuple[Node, int]]] = defaultdict(list)
        self._made = {node.name: node for node in graph.nodes}
        sums = sum(base_name(node.target) in _SUMS for node in graph.nodes)
        self._branch = min(_BRANCH, 1 / math.sqrt(max(1, sums)))
        self._unbounded = any(base_name(node.target) in _BATCH_NORMS for node in graph.nodes)
        for node in graph.nodes:
            for position, value in enumerate(node.args):
                for ref in refs(value):
                    self._reads[ref.name].append((node, position))

    def recipe(self, entry: Input) -> Recipe | None:
        """What a parameter or buffer may hold, from its name or the first reader that says."""
        name = (entry.original or entry.name).rpartition(".")[2]
        known = next((value for end, value in NAMED.items() if name.endswith(end)), None)
        if known is not None:
            return constant(known)
        if entry.role is not Role.PARAMETER or not isinstance(entry.spec, TensorSpec):
            return None
        return self._rule(entry)[1] or normal(0.0, SMALL)

    def carries(self, entry: Input) -> bool:
        """Whether zeros would silence a graph: in a scale, a matrix or a kernel, not in a bias."""
        return entry.role is Role.PARAMETER and self._rule(entry)[0] not in _BESIDE

    def ends_branch(self, entry: Input) -> bool:
        """Whether it ends a residual branch of a model whose norms do not normalise yet."""
        if not self._unbounded or not isinstance(entry.spec, TensorSpec):
            return False
        uses = self._uses(entry.name, entry.spec.sizes(self._bindings))
        return any(use.position == 1 and use.gain <= _BRANCH for use in uses)

    def _rule(self, entry: Input) -> tuple[Rule | None, Recipe | None]:
        assert isinstance(entry.spec, TensorSpec)
        shape = entry.spec.sizes(self._bindings)
        for use in self._uses(entry.name, shape):
            mixed = self._kernel_shape(use.node)
            if mixed is not None:
                return _kernel, _kernel(use, mixed)
            rule = _RULES.get((base_name(use.node.target), use.position))
            found = None if rule is None else rule(use, shape)
            if found is not None:
                return rule, found
        return None, None

    def _uses(self, name: str, shape: tuple[int, ...], steps: int = _MOST_STEPS) -> list[_Use]:
        """The places that read a value, looking through reshapings."""
        found: list[_Use] = []
        for node, position in self._reads[name]:
            if base_name(node.target) in _THROUGH and position == 0 and steps:
                found += self._uses(node.name, self._shape(node, shape), steps - 1)
            else:
                found.append(_Use(node, position, shape, self._gain(node) * self._before(node)))
        return found

    def _kernel_shape(self, node: Node) -> tuple[int, ...] | None:
        """The shape of the kernel that a product is, where kernels are mixed of several."""
        if base_name(node.target) not in ("matmul", "mm"):
            return None
        for use in self._uses(node.name, ()):
            if base_name(use.node.target) in _KERNELS and use.position == 1:
                return use.shape
        return None

    def _before(self, node: Node) -> float:
        """What no activation takes away need not be made up for: a kernel that reads a layer."""
        if base_name(node.target) not in _KERNELS:
            return 1.0
        made = self._source(node)
        while made is not None and base_name(made.target) in _UNCHANGING:
            made = self._source(made)
        return _STRAIGHT if made is not None and base_name(made.target) in _LAYERS else 1.0

    def _source(self, node: Node) -> Node | None:
        """The call that made what a call reads first."""
        source: Value = node.args[0] if node.args else None
        return self._made.get(source.name) if isinstance(source, Ref) else None

    def _gain(self, node: Node, steps: int = 3) -> float:
        """How large what a call gives may be beside what it is added to."""
        for reader, position in self._reads[node.name]:
            name = base_name(reader.target)
            if name in _SUMS and all(isinstance(arg, Ref) for arg in reader.args[:2]):
                other: Value = reader.args[1 - position] if position < 2 else None
                made = self._made.get(other.name) if isinstance(other, Ref) else None
                if made is not None:
                    return _EQUAL if base_name(made.target) in _LAYERS else self._branch
            elif name in _PASSING and steps and (gain := self._gain(reader, steps - 1)) < 1:
                return gain
        return 1.0

    def _shape(self, node: Node, shape: tuple[int, ...]) -> tuple[int, ...]:
        known = isinstance(node.result, TensorSpec)
        return node.result.sizes(self._bindings) if known else shape  # type: ignore[union-attr]


def _kernel(use: _Use, shape: tuple[int, ...]) -> Recipe | None:
    """A convolution's weight, as He et al. draw it."""
    if len(shape) < 2:
        return None
    return normal(0.0, use.gain * math.sqrt(2 / max(1, math.prod(shape[1:]))))


def _matrix(contracted: int) -> Rule:
    """A matrix whose products are as large as what it multiplies."""

    def rule(use: _Use, shape: tuple[int, ...]) -> Recipe | None:
        if len(shape) < 2 or len(use.shape) < 2:
            return None
        return normal(0.0, use.gain / math.sqrt(max(1, use.shape[contracted])))

    return rule


def _length(use: _Use, shape: tuple[int, ...]) -> Recipe | None:
    """The length of a channel of a kernel that is normalised."""
    return constant(math.sqrt(2))


def _one(use: _Use, shape: tuple[int, ...]) -> Recipe | None:
    return constant(use.gain)


def _zero(use: _Use, shape: tuple[int, ...]) -> Recipe | None:
    return constant(0.0)


def _shift(use: _Use, shape: tuple[int, ...]) -> Recipe | None:
    return normal(0.0, SHIFT)


def _slope(use: _Use, shape: tuple[int, ...]) -> Recipe | None:
    return constant(0.25)


def _small(use: _Use, shape: tuple[int, ...]) -> Recipe | None:
    return normal(0.0, SMALL)


def _added(use: _Use, shape: tuple[int, ...]) -> Recipe | None:
    """``1 + weight`` is a scale; what is added to values is a bias."""
    other: Value = use.node.args[1 - use.position]
    return constant(0.0) if not isinstance(other, Ref) else normal(0.0, SMALL)


_BRANCH, _EQUAL = 0.25, 0.7
"""The gain of a branch beside a shortcut, where there are few, and of each of two layers that
are added."""
_STRAIGHT = math.sqrt(0.5)
_UNCHANGING = names(Trait.KEEPS_SCALE)
_SUMS = names(Trait.ADDITION)
_PASSING = names(Trait.BRANCH_THROUGH)
"""Calls between the end of a branch and its sum; a product is an attention over channels."""
_BESIDE = (None, _zero, _small, _added)
"""Rules of what is added to values."""
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
