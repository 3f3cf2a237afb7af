"""The least work of a graph: bytes that must move, operations that must be performed.

Both are lower bounds, so uncertain parts are left out: an input counts only if an operator
certainly reads all of it (an embedding reads some rows of its table, a strided convolution some of
its image), and dead calls do not count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from graph_net.graph.effects import mutated_arguments
from graph_net.graph.graph import Graph, Level, Node
from graph_net.graph.operators import Trait, base_name, names
from graph_net.graph.outputs import flat_outputs
from graph_net.graph.spec import TensorSpec
from graph_net.graph.values import Dtype, Ref, Value, refs
from graph_net.printable import error_line

_READS_ALL = names(Trait.READS_ALL)
_CONVOLUTIONS = names(Trait.CONVOLUTION)
_SAME_ELEMENTS = names(Trait.SAME_ELEMENTS)
_UNCOUNTED = names(Trait.FLOPS_UNKNOWN)
_UNCOUNTED_KINDS = ("fft", "linalg")


@dataclass(frozen=True, slots=True)
class Work:
    """Bytes and operations; None if they are unknown.

    ``convolutions`` is the part of ``flops`` that algorithms other than the direct one can reduce;
    ``dtypes`` are the floating-point types that occur. If there is a ``reason``, operations are
    missing: ``flops`` is None, or less than the graph computes.
    """

    bytes: int
    flops: int | None = None
    convolutions: int = 0
    dtypes: tuple[str, ...] = ()
    reason: str = ""


def work_of(graph: Graph) -> Work:
    """Return the least work of a graph, without computing anything."""
    if graph.level in (Level.PADDLE, Level.HLO):
        return Work(0, reason="work is counted for torch graphs only")
    from graph_net.graph.flops import count_run

    live = replace(graph, nodes=tuple(live_nodes(graph)))
    read, dtypes = _read_bytes(live), tuple(sorted(_float_dtypes(live)))
    try:  # fails on sizes that depend on values
        result = count_run(live)
        convolutions = int(sum(n for name, n in result.operations.items() if "conv" in name))
        written = _written_bytes(flat_outputs(result.outputs), result.inputs)
        total = int(sum(result.operations.values()))
    except Exception as error:
        return Work(read, dtypes=dtypes, reason=error_line(error, 120))
    return Work(read + written, total, convolutions, dtypes, _missing_operations(live))


def _missing_operations(graph: Graph) -> str:
    """Return why the count of operations is incomplete; empty if it is complete."""
    names = {base_name(node.target) for node in graph.nodes if _is_uncounted(node)}
    return f"the operations of {', '.join(sorted(names))} are not counted" if names else ""


def _is_uncounted(node: Node) -> bool:
    parts = node.target.replace(".", "_").split("_")
    return base_name(node.target) in _UNCOUNTED or any(kind in parts for kind in _UNCOUNTED_KINDS)


def live_nodes(graph: Graph) -> Iterator[Node]:
    """Yield the nodes that outputs depend on, and those that change something in place."""
    wanted = {ref.name for ref in refs(graph.output)}
    live: list[Node] = []
    for node in reversed(graph.nodes):
        if node.name in wanted or mutated_arguments(node) or "autocast" in node.target:
            wanted.update(ref.name for ref in node.refs)
            live.append(node)
    yield from reversed(live)


def _read_bytes(graph: Graph) -> int:
    """Return the bytes of the inputs that are certainly read whole."""
    same = {entry.name: entry.name for entry in graph.inputs}
    whole: set[str] = set()
    for node in graph.nodes:
        base = base_name(node.target)
        first = node.args[0] if node.args else None
        if base in _SAME_ELEMENTS and isinstance(first, Ref) and first.name in same:
            same[node.name] = same[first.name]
        elif base in _READS_ALL:
            whole.update(same[ref.name] for ref in node.refs if ref.name in same)
        elif base in _CONVOLUTIONS:
            weights = [*node.args[1:], *(value for key, value in node.kwargs if key != "input")]
            whole.update(same[ref.name] for ref in refs(tuple(weights)) if ref.name in same)
    return sum(
        entry.spec.bytes(graph.bindings)
        for entry in graph.inputs
        if entry.name in whole and isinstance(entry.spec, TensorSpec)
    )


def _written_bytes(outputs: list[object], inputs: list[object]) -> int:
    """Return the bytes of the outputs' memory, each once, without memory of inputs."""
    import torch

    tensors = [leaf for leaf in inputs if isinstance(leaf, torch.Tensor)]
    counted = {tensor.untyped_storage()._cdata for tensor in tensors}
    total = 0
    for leaf in outputs:
        if not isinstance(leaf, torch.Tensor) or leaf.untyped_storage()._cdata in counted:
            continue
        storage = leaf.untyped_storage()
        counted.add(storage._cdata)
        total += min(int(leaf.numel()) * leaf.element_size(), int(storage.nbytes()))
    return total


def _float_dtypes(graph: Graph) -> set[str]:
    """Return the floating-point types of inputs, and those that calls convert to."""
    specs = [entry.spec for entry in graph.inputs if isinstance(entry.spec, TensorSpec)]
    dtypes = {spec.dtype for spec in specs}
    for node in graph.nodes:
        base = base_name(node.target)
        if base in ("half", "bfloat16", "float", "double"):
            dtypes.add({"half": "float16", "float": "float32", "double": "float64"}.get(base, base))
        if "autocast" in node.target:
            dtypes |= {"bfloat16", "float16"}
        dtypes |= {value.name for value in _dtypes((node.args, tuple(v for _, v in node.kwargs)))}
    return {name for name in dtypes if "float" in name}


def _dtypes(value: Value) -> Iterator[Dtype]:
    if isinstance(value, Dtype):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _dtypes(item)
