"""A graph of level ``hlo`` as text, in the style of XLA."""

from __future__ import annotations

from collections.abc import Iterator

from graph_net.graph.graph import Graph, Input, Node
from graph_net.graph.hlo_targets import PREFIX
from graph_net.graph.spec import TensorSpec
from graph_net.graph.values import DictValue, Ref, Value

_SHORT = {
    "bool": "pred", "bfloat16": "bf16", "complex64": "c64", "complex128": "c128",
    **{f"float{bits}": f"f{bits}" for bits in (16, 32, 64)},
    **{f"uint{bits}": f"u{bits}" for bits in (8, 16, 32, 64)},
    **{f"int{bits}": f"s{bits}" for bits in (8, 16, 32, 64)},
}  # fmt: skip


def hlo_text(graph: Graph) -> str:
    """Return a line for each input and each call; outputs are marked as roots."""
    roots = {ref.name for ref in _refs(graph.output)}
    lines = [_input(entry) for entry in graph.inputs]
    lines += [("ROOT " if node.name in roots else "") + _call(node) for node in graph.nodes]
    return "\n".join(f"  {line}" for line in lines) + "\n"


def shape_text(spec: object) -> str:
    """Return ``f32[32,12,12,192]{3,0,2,1}``; empty for a value without a shape."""
    if not isinstance(spec, TensorSpec):
        return "(...)"
    sizes = ",".join(str(getattr(size, "text", size)) for size in spec.shape)
    order = ""
    if spec.stride is not None:
        strides = [size if isinstance(size, int) else 0 for size in spec.stride]
        order = ",".join(map(str, sorted(range(len(strides)), key=lambda d: (strides[d], -d))))
        order = f"{{{order}}}"
    return f"{_SHORT.get(spec.dtype, spec.dtype)}[{sizes}]{order}"


def _input(entry: Input) -> str:
    return f"%{entry.name} = {shape_text(entry.spec)} parameter()"


def _call(node: Node) -> str:
    operands = ", ".join(f"%{ref.name}" for ref in node.refs)
    attributes = "".join(
        f", {name}={value}"
        for key, pairs in node.kwargs
        if key == "attributes" and isinstance(pairs, DictValue)
        for name, value in pairs.items
    )
    name = node.target.removeprefix(PREFIX).replace("_", "-")
    return f"%{node.name} = {shape_text(node.result)} {name}({operands}){attributes}"


def _refs(value: Value) -> Iterator[Ref]:
    if isinstance(value, Ref):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _refs(item)
