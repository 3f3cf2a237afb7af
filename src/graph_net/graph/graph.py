"""Graph: a computation as data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property

from graph_net.graph.checks import check_graph
from graph_net.graph.expr import Expr
from graph_net.graph.recipe import Recipe
from graph_net.graph.spec import Result, Spec, TensorSpec
from graph_net.graph.values import Ref, Value, map_refs, refs


class Level(Enum):
    """The operator set that a graph is written in."""

    TORCH = "torch"
    ATEN = "aten"
    PADDLE = "paddle"
    HLO = "hlo"


class Role(Enum):
    """The role of an input in the model it came from."""

    INPUT = "input"
    PARAMETER = "parameter"
    BUFFER = "buffer"
    CONSTANT = "constant"


def default_local(name: str) -> str:
    """Return the name that FX gives an argument's placeholder unless it is taken."""
    return name.lower() if name.startswith("L_") else name


def role_by_name(name: str, is_parameter: bool = False) -> Role:
    """Return the role of an argument in its model, from the name Dynamo gave it."""
    if is_parameter or "_parameters_" in name:
        return Role.PARAMETER
    return Role.BUFFER if "_buffers_" in name else Role.INPUT


@dataclass(frozen=True, slots=True)
class Input:
    """One argument of the graph: its specification and the recipe of its values.

    ``local`` is the name of the FX placeholder if it is not the default; ``original`` the name
    that the value had in the model.
    """

    name: str
    spec: Spec
    recipe: Recipe
    role: Role = Role.INPUT
    local: str | None = None
    original: str | None = None


@dataclass(frozen=True, slots=True)
class Node:
    """One call: a target from the allow-list, its arguments, and the spec of its result."""

    name: str
    target: str
    args: tuple[Value, ...] = ()
    kwargs: tuple[tuple[str, Value], ...] = ()
    result: Result = None

    @property
    def refs(self) -> Iterator[Ref]:
        """The values it reads, left to right, repeats included."""
        yield from refs(self.args)
        for _, value in self.kwargs:
            yield from refs(value)

    def with_refs(self, change: Callable[[Ref], Value], name: str | None = None) -> Node:
        """Return this call with every reference replaced by ``change`` of it, perhaps renamed."""
        args = tuple([map_refs(value, change) for value in self.args])
        kwargs = tuple([(key, map_refs(value, change)) for key, value in self.kwargs])
        return Node(name or self.name, self.target, args, kwargs, self.result)


@dataclass(frozen=True, slots=True)
class Symbol:
    """A size that may vary, with the value it had when the graph was captured."""

    name: str
    example: int
    low: int | None = None
    high: int | None = None


@dataclass(frozen=True, slots=True)
class Provenance:
    """The origin of a graph; ``options`` holds whatever else the source recorded."""

    library: str = ""
    model: str = ""
    category: str = ""
    subcategory: str = ""
    tags: tuple[str, ...] = ()
    framework: str = "torch"
    framework_version: str = ""
    options: tuple[tuple[str, Value], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", tuple(sorted(self.options, key=lambda o: o[0])))

    def option(self, key: str, default: Value = None) -> Value:
        """Return one recorded option."""
        return dict(self.options).get(key, default)


@dataclass(frozen=True)
class Graph:
    """A computation: inputs, calls in executable order, and a nested output.

    The constructor checks that names are unique identifiers, targets are on the allow-list, every
    reference points backwards and sizes use declared symbols: a Graph that exists is well formed.
    """

    inputs: tuple[Input, ...]
    nodes: tuple[Node, ...]
    output: Value
    level: Level = Level.TORCH
    symbols: tuple[Symbol, ...] = ()
    constraints: tuple[Expr, ...] = ()
    provenance: Provenance = field(default_factory=Provenance)

    def __post_init__(self) -> None:
        check_graph(self)

    def __repr__(self) -> str:
        from graph_net.graph.summary import title_of

        return f"<Graph {title_of(self)}>"

    def _repr_html_(self) -> str:
        from graph_net.graph.summary import html_of

        return html_of(self)

    @cached_property
    def bindings(self) -> dict[str, int]:
        """The example value of every symbol."""
        return {symbol.name: symbol.example for symbol in self.symbols}

    @cached_property
    def index(self) -> Mapping[str, Input | Node]:
        """Inputs and nodes by name."""
        entries: tuple[Input | Node, ...] = (*self.inputs, *self.nodes)
        return {entry.name: entry for entry in entries}

    @cached_property
    def structure(self) -> str:
        """Hash that ignores names, sizes, dtypes and the order of independent nodes."""
        from graph_net.graph.hashing import structure_hash

        return structure_hash(self)

    @cached_property
    def id(self) -> str:
        """Hash that adds sizes and dtypes to ``structure``."""
        from graph_net.graph.hashing import id_hash

        return id_hash(self)

    @property
    def parameters(self) -> int:
        """Number of elements of all parameters."""
        return sum(
            entry.spec.elements(self.bindings)
            for entry in self.inputs
            if entry.role is Role.PARAMETER and isinstance(entry.spec, TensorSpec)
        )

    @property
    def tensor_bytes(self) -> int:
        """Size of all inputs in bytes."""
        return sum(
            entry.spec.bytes(self.bindings)
            for entry in self.inputs
            if isinstance(entry.spec, TensorSpec)
        )

    def with_provenance(self, **changes: object) -> Graph:
        """Return the same computation with these fields of its provenance replaced."""
        return replace(self, provenance=replace(self.provenance, **changes))  # type: ignore[arg-type]
