"""Half precision: a graph with the casts that autocast makes, or with everything cast.

Which operators stay in float32 is torch's own knowledge: each call is made once, on tensors without
values, under ``torch.autocast``, and the casts of its arguments become separate calls. No list of
operators is kept here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from graph_net.graph.effects import changed_values
from graph_net.graph.errors import GraphError
from graph_net.graph.graph import Graph, Input, Node
from graph_net.graph.operators import Trait, base_name, names
from graph_net.graph.outputs import flat_outputs
from graph_net.graph.runtime import dtype_name, torch_dtype
from graph_net.graph.spec import TensorSpec
from graph_net.graph.values import DictValue, Dtype, ListValue, Ref, Value
from graph_net.printable import first_line
from graph_net.rewrite.lower import to_aten
from graph_net.rewrite.variant.propagate import call_fake, fake_values, propagate
from graph_net.rewrite.variant.provenance import add_notes

HALVES = ("bfloat16", "float16")
CASTS = ("autocast", "all")
_CAST = "aten.to.dtype"
_FLOATS = frozenset({"float32", "float64"})
_OF_ONE_DTYPE = names(Trait.ONE_DTYPE)


def with_dtype(graph: Graph, dtype: str, cast: str = "autocast") -> Graph:
    """Return the graph in half precision.

    ``cast="autocast"`` adds the casts that torch's autocast makes on a CPU; parameters stay as
    they are stored. ``cast="all"`` stores parameters and inputs in ``dtype`` and casts nothing.
    """
    if dtype not in HALVES:
        raise GraphError(
            f"no variant has dtype {dtype!r}; known: {', '.join(HALVES)}", field="dtype"
        )
    if cast not in CASTS:
        raise GraphError(f"unknown cast {cast!r}; known: {', '.join(CASTS)}")
    graph = to_aten(graph)
    variant = _autocast(graph, dtype) if cast == "autocast" else _cast_all(graph, dtype)
    return add_notes(variant, dtype=dtype, cast=cast)


# -- as autocast does --------------------------------------------------------------------------


def _autocast(graph: Graph, dtype: str) -> Graph:
    writer = _Writer(graph, torch_dtype(dtype))
    with fake_values(graph) as values:
        for node in graph.nodes:
            values[node.name] = writer.write(node, values)
    return propagate(replace(graph, nodes=tuple(writer.nodes)))


class _Casts(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Records which tensors are cast, and to what."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.dtypes: dict[int, torch.dtype] = {}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if func is torch.ops.aten._to_copy.default and kwargs.get("dtype") is not None:
            self.dtypes.setdefault(id(args[0]), kwargs["dtype"])
        return func(*args, **kwargs)


class _Writer:
    """Writes calls with the casts before them."""

    def __init__(self, graph: Graph, half: torch.dtype) -> None:
        self.half = half
        self.nodes: list[Node] = []
        self.names = {*graph.index}
        self.changing = changed_values(graph)
        self.casts: dict[tuple[str, torch.dtype], Ref] = {}

    def write(self, node: Node, values: Mapping[str, Any]) -> Any:
        """Add a call, cast as autocast casts it; return its result."""
        with _Casts() as observed, torch.autocast("cpu", self.half, cache_enabled=False):
            wanted = call_fake(node, values)
        arguments = {ref.name: values[ref.name] for ref in node.refs}
        own = _own_casts(node, values)
        added = {
            name: observed.dtypes[id(value)]
            for name, value in arguments.items()
            if observed.dtypes.get(id(value), own.get(id(value))) != own.get(id(value))
        }
        for choice in (added, self._cast_every(arguments)):
            if self._matches(node, values, choice, wanted):
                self.nodes.append(self._with_casts(node, choice))
                return wanted
        raise GraphError(
            f"autocast casts inside {node.target}, where no call can be added", node=node.name
        )

    def _cast_every(self, arguments: Mapping[str, Any]) -> dict[str, torch.dtype]:
        """Return every float32 argument in half precision: an inner cast may as well come first."""
        return {
            name: self.half
            for name, value in arguments.items()
            if isinstance(value, torch.Tensor) and value.dtype == torch.float32
        }

    def _matches(
        self,
        node: Node,
        values: Mapping[str, Any],
        choice: Mapping[str, torch.dtype],
        wanted: Any,
    ) -> bool:
        """Return whether the call with these casts gives the dtypes that autocast gives."""
        cast = {name: values[name].to(dtype) for name, dtype in choice.items()}
        try:
            result = call_fake(node, {**{r.name: values[r.name] for r in node.refs}, **cast})
        except GraphError:
            return False
        return _dtypes(result) == _dtypes(wanted)

    def _with_casts(self, node: Node, choice: Mapping[str, torch.dtype]) -> Node:
        def change(ref: Ref) -> Ref:
            return self._cast(ref, choice[ref.name]) if ref.name in choice else ref

        return node.with_refs(change)

    def _cast(self, ref: Ref, dtype: torch.dtype) -> Ref:
        if (ref.name, dtype) in self.casts:
            return self.casts[ref.name, dtype]
        name = f"{ref.name}_{dtype_name(dtype)}"
        while name in self.names:
            name += "_"
        self.names.add(name)
        self.nodes.append(Node(name, _CAST, (ref, Dtype(dtype_name(dtype)))))
        if ref.name not in self.changing:  # a value that changes is cast each time
            self.casts[ref.name, dtype] = Ref(name)
        return Ref(name)


def _own_casts(node: Node, values: Mapping[str, Any]) -> dict[int, torch.dtype]:
    """Return the casts that a call makes without autocast; the call may be a cast itself."""
    casts = _Casts()
    try:
        with casts:
            call_fake(node, values)
    except GraphError:
        return {}
    return casts.dtypes


def _dtypes(outcome: Any) -> list[Any]:
    return [
        leaf.dtype if isinstance(leaf, torch.Tensor) else type(leaf)
        for leaf in flat_outputs(outcome)
    ]


# -- everything --------------------------------------------------------------------------------


def _cast_all(graph: Graph, dtype: str) -> Graph:
    """Return the graph with parameters and inputs in the dtype; change inner casts if needed."""
    cast = replace(graph, inputs=tuple(_input(entry, dtype) for entry in graph.inputs))
    try:
        return _unmixed(propagate(cast))
    except GraphError as error:
        # A cast back to a value's dtype was recorded with the dtype that the value had.
        followed = replace(cast, nodes=tuple(_with_casts_to(node, dtype) for node in cast.nodes))
        try:
            return add_notes(_unmixed(propagate(followed)), casts_follow=True)
        except GraphError:
            raise GraphError(
                f"does not run in {dtype} throughout: {first_line(error)}; "
                "the cast `autocast` keeps what must stay in float32"
            ) from error


def _unmixed(graph: Graph) -> Graph:
    """Return the graph; raise if a product or norm reads two floating dtypes.

    Fake tensors accept that in some operators. A run refuses it, but for norms of half precision
    with weights in float32, which no model has whose parameters are all cast.
    """
    specs: dict[str, Any] = {entry.name: entry.spec for entry in graph.inputs}
    specs |= {node.name: node.result for node in graph.nodes}
    for node in graph.nodes:
        if base_name(node.target) not in _OF_ONE_DTYPE:
            continue
        read = [specs[ref.name] for ref in node.refs]
        dtypes = sorted({one.dtype for one in read if isinstance(one, TensorSpec)})
        if len([one for one in dtypes if torch_dtype(one).is_floating_point]) > 1:
            raise GraphError(f"{node.target} reads {' and '.join(dtypes)}", node=node.name)
    return graph


def _input(entry: Input, dtype: str) -> Input:
    if isinstance(entry.spec, TensorSpec) and entry.spec.dtype in _FLOATS:
        return replace(entry, spec=replace(entry.spec, dtype=dtype))
    return entry


def _with_casts_to(node: Node, dtype: str) -> Node:
    args = tuple(_value(value, dtype) for value in node.args)
    return replace(node, args=args, kwargs=tuple((k, _value(v, dtype)) for k, v in node.kwargs))


def _value(value: Value, dtype: str) -> Value:
    if isinstance(value, Dtype):
        return Dtype(dtype) if value.name in _FLOATS else value
    if isinstance(value, tuple):
        return tuple(_value(item, dtype) for item in value)
    if isinstance(value, ListValue):
        return ListValue(tuple(_value(item, dtype) for item in value.items))
    if isinstance(value, DictValue):
        return DictValue(tuple((key, _value(item, dtype)) for key, item in value.items))
    return value
