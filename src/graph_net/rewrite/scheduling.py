"""Read from Inductor's own schedule which calls it puts into one kernel.

The graph goes through Inductor as it would in a compilation (decomposition, its passes, lowering,
scheduling with fusion), on tensors without values, and stops before code is generated: no weight
exists and nothing is compiled. Every FX node carries the name of the call it came from, in a field
that tracing copies, so the content of a kernel is known in our names.

This module alone knows Inductor's internals. They have no promise of stability; if they are not as
expected, a GraphError says so.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from graph_net.graph.errors import GraphError
from graph_net.graph.execute import fake_inputs
from graph_net.graph.fx import to_fx
from graph_net.graph.graph import Graph
from graph_net.printable import error_line

KEY = "graph_net"
"""The key in a node's ``custom`` field that holds the name of our call."""
_NEEDED = ("codegen", "init_wrapper_code", "_update_scheduler")
_NO_CODE = frozenset({"NopKernelSchedulerNode"})
_VIEWS_IN_A_ROW = 4
_LIBRARY = "ExternKernelSchedulerNode"


class _Scheduled(BaseException):
    """Raised once Inductor has scheduled; no ``except Exception`` on its way may stop it."""

    def __init__(self, kernels: list[frozenset[str]]) -> None:
        super().__init__()
        self.kernels = kernels


def kernels(graph: Graph, device: str = "cpu") -> list[frozenset[str]]:
    """Return the calls that each kernel of Inductor's schedule finishes, in order.

    A call that Inductor computes in several kernels belongs to the kernel with its last step; one
    that it computes again in several kernels belongs to each. Calls that it removed (a dropout
    in evaluation, an alias) are in none.
    """
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise GraphError("Inductor's schedule for a GPU needs a GPU, whose properties it reads")
    lowering, compile_fx = _inductor()
    module = to_fx(graph, device)
    for node in module.graph.nodes:
        if node.op.startswith("call_"):
            node.meta["custom"] = {KEY: node.name}
    mode = FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True)
    mode.allow_scalar_outputs = True
    try:
        inputs = fake_inputs(graph, mode, device)
        with _stop_at_schedule(lowering), _quiet(mode):
            compile_fx(module, inputs)
    except _Scheduled as stopped:
        return stopped.kernels
    except GraphError:
        raise
    except Exception as error:
        raise GraphError(f"Inductor cannot schedule it: {error_line(error)}") from error
    return []  # nothing to compute: Inductor never came to a schedule


def _inductor() -> tuple[Any, Callable[..., Any]]:
    """Return the class that holds a lowered graph, and the entry point of the compiler."""
    try:
        import torch._inductor.config as config

        with config.patch(compile_threads=1):  # else importing starts a pool of processes
            from torch._inductor.compile_fx import compile_fx
            from torch._inductor.graph import GraphLowering
    except (ImportError, AttributeError) as error:
        raise GraphError(f"torch {torch.__version__} has no Inductor to ask: {error}") from error
    missing = [name for name in _NEEDED if not hasattr(GraphLowering, name)]
    if missing:
        raise GraphError(
            f"the Inductor of torch {torch.__version__} is not supported: "
            f"GraphLowering has no {', '.join(missing)}; use torch 2.13"
        )
    return GraphLowering, compile_fx


@contextmanager
def _stop_at_schedule(lowering: Any) -> Iterator[None]:
    """Inside the context, read the schedule of a lowered graph where code would be generated."""
    original = lowering.codegen

    def schedule(self: Any) -> None:
        self.init_wrapper_code()
        self._update_scheduler()
        raise _Scheduled(_read_schedule(self))

    lowering.codegen = schedule
    try:
        yield
    finally:
        lowering.codegen = original


@contextmanager
def _quiet(mode: FakeTensorMode) -> Iterator[None]:
    """Set up one process, no caches, no gradients, and the fake tensors' own mode."""
    import torch._functorch.config as functorch
    import torch._inductor.config as inductor
    from torch._guards import TracingContext, tracing

    with ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        stack.enter_context(inductor.patch(compile_threads=1, force_disable_caches=True))
        stack.enter_context(functorch.patch(enable_autograd_cache=False))
        stack.enter_context(torch.no_grad())
        stack.enter_context(tracing(TracingContext(mode)))
        yield


# -- reading a schedule -----------------------------------------------------------------------


def _read_schedule(lowered: Any) -> list[frozenset[str]]:
    """Return what each kernel finishes.

    Inductor records as origins of a kernel everything that was not in memory when a call was
    lowered. Some of these go to memory later, on behalf of that call, and must be separated. A
    library kernel finds its arguments in memory: it is its own call and views. Any other kernel is
    the nodes between the values it writes and those it reads, without library calls.
    """
    scheduled = [n for n in lowered.scheduler.nodes if type(n).__name__ not in _NO_CODE]
    order = {node: i for i, node in enumerate(lowered.module.graph.nodes)}
    origins = [_origins(node) for node in scheduled]
    calls = [
        max(some, key=lambda origin: order.get(origin, -1), default=None)
        if type(node).__name__ == _LIBRARY
        else None
        for node, some in zip(scheduled, origins, strict=True)
    ]
    library_calls = set(calls)
    in_memory = {
        buffer.get_name(): buffer.node.get_origin_node()
        for node in scheduled
        for buffer in node.get_outputs()
    }
    finishes = _last_steps(order)
    finished = []
    for node, some, call in zip(scheduled, origins, calls, strict=True):
        if call is not None:
            steps = _walk([call], {origin for origin in some if _is_view(origin)})
        else:
            own = some - library_calls
            written, reads = _written_and_read(node, in_memory)
            steps = _walk([*_ends(own), *(written & own)], own - (reads - written))
        finished.append(frozenset(finishes[step] for step in steps if step in finishes))
    return finished


def _origins(kernel: Any) -> set[fx.Node]:
    """Return the FX nodes that a kernel came from, with the unnamed views between them."""
    parts = (part.node for part in kernel.get_nodes() if part.node is not None)
    origins = {origin for part in parts for origin in part.get_origins()}

    def leads_back(node: fx.Node, depth: int = 0) -> bool:
        if node in origins:
            return True
        if depth == _VIEWS_IN_A_ROW or not _is_view(node):
            return False
        paths = [leads_back(user, depth + 1) for user in node.users]  # visit all of them
        if any(paths):
            origins.add(node)
        return any(paths)

    for origin in list(origins):
        for user in origin.users:
            leads_back(user)
    return origins


def _ends(origins: set[fx.Node]) -> list[fx.Node]:
    """Return the origins that no other one reads."""
    return [origin for origin in origins if origins.isdisjoint(origin.users)]


def _written_and_read(kernel: Any, in_memory: dict[str, Any]) -> tuple[set[Any], set[Any]]:
    """Return the FX nodes whose values a kernel writes to memory, and those it reads."""
    own = {buffer.get_name() for buffer in kernel.get_outputs()}
    reads = {dep.name for part in kernel.get_nodes() for dep in part.read_writes.reads}
    written, read = ({in_memory.get(name) for name in names} for names in (own, reads - own))
    return written - {None}, read - {None}


def _walk(starts: Iterable[fx.Node], through: set[fx.Node]) -> set[fx.Node]:
    """Return the starts and the nodes that lead to them through ``through``."""
    visited: set[fx.Node] = set()
    stack = list(starts)
    while stack:
        node = stack.pop()
        if node not in visited:
            visited.add(node)
            stack.extend(before for before in node.all_input_nodes if before in through)
    return visited


def _last_steps(nodes: Iterable[fx.Node]) -> dict[fx.Node, str]:
    """Map each FX node that is the last step of one of our calls to that call's name.

    ``linear`` is a view, a product and a view; the product finishes it. A call that is nothing
    but views is finished by the last of them.
    """
    last: dict[str, tuple[bool, fx.Node]] = {}
    for node in nodes:
        name = (node.meta.get("custom") or {}).get(KEY)
        if name is not None and node.op == "call_function":
            computes = not _is_view(node)
            if computes or name not in last or not last[name][0]:
                last[name] = computes, node
    return {node: name for name, (_, node) in last.items()}


def _is_view(node: fx.Node) -> bool:
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        return True  # operator.getitem: one of several results
    if schema.name == "aten::_unsafe_view":
        return True
    shared = [result.alias_info for result in schema.returns if result.alias_info is not None]
    return any(not alias.is_write for alias in shared)
