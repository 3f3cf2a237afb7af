"""Export graphs for compilers: as FX module, ExportedProgram or ONNX file.

Compilers other than PyTorch's own want pure functions of tensors, so a graph is handed over as a
:class:`PureFunction`: tensors in, new tensors out. Numbers among the inputs are fixed at their
values; an input that the graph changes is returned once more and written back after the call;
outputs that need no computation (an input returned as it is, a constant) never enter the program.
Forms that take seconds to make are cached in the job's directory; ONNX files also across jobs
(``form_cache.py``).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch

from graph_net.compilers.compiler import Job, Runner, Unsupported
from graph_net.compilers.form_cache import form_key
from graph_net.graph import Graph, GraphError
from graph_net.graph.binary import to_bytes
from graph_net.graph.effects import changed_values
from graph_net.graph.execute import fake_inputs, make_input
from graph_net.graph.fx import to_fx
from graph_net.graph.graph import Input, Level, Node
from graph_net.graph.runtime import to_python
from graph_net.graph.spec import ScalarSpec, TensorSpec
from graph_net.graph.values import Ref, refs
from graph_net.printable import error_line
from graph_net.rewrite.lower import to_aten
from graph_net.store.atomic import caching

_READING = ("aten.item.default", "aten._local_scalar_dense.default")
Function = Callable[[list[torch.Tensor]], Sequence[torch.Tensor]]
"""A compiled function: takes ``PureFunction.inputs``, returns ``outputs``, then ``changed``."""


@dataclass(frozen=True)
class PureFunction:
    """A graph as a pure function of tensors: the names of its inputs and outputs."""

    graph: Graph
    """At level ``aten``; its first inputs are the job's, constants found in lowering follow."""
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    changed: tuple[str, ...]
    """Inputs that the graph changes; their new values follow ``outputs``."""
    numbers: tuple[tuple[str, str], ...] = ()
    """Numbers that the graph returns, and the tensors they are read from after the call."""

    def examples(self, job: Job) -> tuple[torch.Tensor, ...]:
        """Return tensors to call it with: copies of the job's, and the constants."""
        values = [*copy_inputs(job.inputs), *self._constants(job)]
        named = dict(zip([entry.name for entry in self.graph.inputs], values, strict=True))
        return tuple(named[name] for name in self.inputs)

    def _constants(self, job: Job) -> list[Any]:
        entries = self.graph.inputs[len(job.inputs) :]
        return [make_input(self.graph, entry, job.device) for entry in entries]

    def runner(self, job: Job, function: Function) -> Runner:
        """Return a Runner that calls ``function`` and nests its results as the graph does."""
        device = torch.device(job.device)
        constants = self._constants(job)
        input_names = [entry.name for entry in self.graph.inputs]
        positions = {name: position for position, name in enumerate(input_names)}
        taken = [positions[name] for name in self.inputs]
        result_names = (*self.outputs, *(f"{name} " for name in self.changed))
        written = [(positions[name], f"{name} ") for name in self.changed]
        output = self.graph.output

        def run(inputs: Sequence[Any]) -> Any:
            every = [*inputs, *constants]
            results = function([every[position] for position in taken])
            values: dict[str, Any] = dict(zip(result_names, results, strict=True))
            for position, name in written:
                every[position].copy_(values[name])
            values.update(zip(input_names, every, strict=True))
            for number, tensor in self.numbers:
                values[number] = values[tensor].item()
            return to_python(output, values.__getitem__, device)

        return run


def pure_function_of(job: Job) -> PureFunction:
    """Return the job's graph as a pure function; raise Unsupported if it cannot be one."""
    if job.graph.level not in (Level.TORCH, Level.ATEN):
        raise Unsupported([f"a graph of {job.graph.level.value} operators"], "graph-net")
    try:
        graph = to_aten(job.graph)
    except GraphError as error:
        raise Unsupported([str(error)], "graph-net's lowering to ATen") from error
    tensors = [entry.name for entry in graph.inputs if isinstance(entry.spec, TensorSpec)]
    computed = {node.name: node for node in graph.nodes}
    outputs = tuple(dict.fromkeys(r.name for r in refs(graph.output) if r.name in computed))
    numbers = _numbers([computed[name] for name in outputs])
    read = (tensor for _, tensor in numbers if tensor in computed)
    outputs = tuple(dict.fromkeys((*(n for n in outputs if n not in dict(numbers)), *read)))
    changes = changed_values(graph)
    changed = tuple(name for name in tensors if name in changes)
    return PureFunction(graph, tuple(tensors), outputs, changed, numbers)


def _numbers(outputs: Sequence[Node]) -> tuple[tuple[str, str], ...]:
    """Return the numbers among a graph's outputs, each with the tensor it is read from."""
    numbers, computed = [], []
    for node in outputs:
        if not isinstance(node.result, ScalarSpec):
            continue
        if node.target in _READING and isinstance(node.args[0], Ref):
            numbers.append((node.name, node.args[0].name))
        else:
            computed.append(f"a program returns tensors, not the computed number {node.name}")
    if computed:
        raise Unsupported(computed, "graph-net")
    return tuple(numbers)


def copy_inputs(inputs: Sequence[Any]) -> list[Any]:
    """Return inputs that may be changed: same values, layout and kind of tensor, other memory."""
    return [_copy(value) if isinstance(value, torch.Tensor) else value for value in inputs]


def _copy(tensor: torch.Tensor) -> torch.Tensor:
    # Dynamo compiles again for a tensor made under inference mode if it saw one that was not.
    with torch.inference_mode(tensor.is_inference()), torch.no_grad():
        copied = torch.empty_strided(
            tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device
        )
        return copied.copy_(tensor)


class _Pure(torch.nn.Module):
    """Calls a graph on tensors alone, on copies of those that it changes."""

    def __init__(self, program: PureFunction, device: torch.device) -> None:
        super().__init__()
        graph = program.graph
        wanted = (*program.outputs, *program.changed)
        fx_graph = to_fx(graph, device)
        nodes = {node.name: node for node in fx_graph.graph.nodes}
        for entry, node in zip(graph.inputs, list(fx_graph.graph.nodes), strict=False):
            nodes[entry.name] = node
        output = next(node for node in fx_graph.graph.nodes if node.op == "output")
        output.args = (tuple(nodes[name] for name in wanted),)
        for number, _ in program.numbers:
            if not nodes[number].users:
                fx_graph.graph.erase_node(nodes[number])
        fx_graph.recompile()
        self.call = fx_graph
        self.fixed = [_fixed(graph, entry) for entry in graph.inputs]
        self.copied = [entry.name in program.changed for entry in graph.inputs]

    def forward(self, *tensors: torch.Tensor) -> Any:
        remaining = iter(tensors)
        values = [next(remaining) if value is None else value for value in self.fixed]
        return self.call(
            *(v.clone() if copied else v for v, copied in zip(values, self.copied, strict=True))
        )


def _fixed(graph: Graph, entry: Input) -> Any:
    return make_input(graph, entry) if isinstance(entry.spec, ScalarSpec) else None


def export_program(job: Job, program: PureFunction) -> torch.export.ExportedProgram:
    """Return the function as torch.export writes it, made once per directory.

    It is traced on tensors without values and holds none: parameters are arguments.
    """
    path = form_path(job, "pt2")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if path.exists():
            return torch.export.load(path)
        exported = export_uncached(program, torch.device(job.device))
        exported.example_inputs = None  # they would be saved
        with caching(path) as aside:
            torch.export.save(exported, aside)
    return exported


def export_uncached(program: PureFunction, device: torch.device) -> torch.export.ExportedProgram:
    """Return the function as torch.export writes it, not stored."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    mode = FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True)
    values = fake_inputs(program.graph, mode, device)
    examples = tuple(value for value in values if isinstance(value, torch.Tensor))
    with torch.no_grad(), mode:
        try:
            return torch.export.export(_Pure(program, device), examples, strict=False)
        except Exception as error:
            raise Unsupported([error_line(error, 300)], "torch.export") from error


def form_path(job: Job, suffix: str) -> Path:
    """Return the path in the job's directory for one form of this graph."""
    job.workdir.mkdir(parents=True, exist_ok=True)
    return job.workdir / f"{form_key(to_bytes(job.graph), job.device)}.{suffix}"


def error_chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and its causes."""
    current: BaseException | None = error
    while current is not None:
        yield current
        current = cast("BaseException | None", getattr(current, "inner_exception", None)) or (
            current.__cause__ or current.__context__
        )
