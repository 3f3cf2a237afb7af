"""The forms compilers take a graph in: FX module, ExportedProgram, ONNX file.

Compilers other than PyTorch's own want pure functions of tensors, so a graph is handed over as a
:class:`Program`: tensors in, new tensors out. Numbers among the inputs are fixed at the values
they have; an input that the graph changes comes out once more and is written back after the call;
outputs that need no computation (an input returned as it is, a constant) never enter the program.
Whatever takes seconds to make is kept in the job's directory, an ONNX file beyond it
(``kept_forms.py``).
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
"""A compiled program: the tensors of ``Program.inputs`` in, those of ``Program.outputs`` out."""


@dataclass(frozen=True)
class PureFunction:
    """A graph as a pure function of tensors: which values go in and which come out, by name."""

    graph: Graph
    """At level ``aten``; its first inputs are the job's, constants found in lowering follow."""
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    changed: tuple[str, ...]
    """Inputs that the graph changes; their new values follow ``outputs``."""
    numbers: tuple[tuple[str, str], ...] = ()
    """Numbers that the graph returns, and the tensors that they are read out of after the call."""

    def examples(self, job: Job) -> tuple[torch.Tensor, ...]:
        """Tensors to call the program with: copies of the job's, and the constants."""
        given = [*copies(job.inputs), *self._constants(job)]
        named = dict(zip([entry.name for entry in self.graph.inputs], given, strict=True))
        return tuple(named[name] for name in self.inputs)

    def _constants(self, job: Job) -> list[Any]:
        entries = self.graph.inputs[len(job.inputs) :]
        return [make_input(self.graph, entry, job.device) for entry in entries]

    def runner(self, job: Job, function: Function) -> Runner:
        """A Runner that calls ``function`` and gives its results the shape the graph gives them."""
        device = torch.device(job.device)
        entries = self.graph.inputs
        constants = self._constants(job)
        places = {entry.name: place for place, entry in enumerate(entries)}
        taken = [places[name] for name in self.inputs]
        names = (*self.outputs, *(f"{name} " for name in self.changed))
        written = [(places[name], f"{name} ") for name in self.changed]
        output = self.graph.output
        by_name = [entry.name for entry in entries]

        def run(inputs: Sequence[Any]) -> Any:
            every = [*inputs, *constants]
            found: dict[str, Any] = dict(
                zip(names, function([every[place] for place in taken]), strict=True)
            )
            for place, name in written:
                every[place].copy_(found[name])
            found.update(zip(by_name, every, strict=True))
            for number, tensor in self.numbers:
                found[number] = found[tensor].item()
            return to_python(output, found.__getitem__, device)

        return run


def pure_function_of(job: Job) -> PureFunction:
    """The job's graph as a pure function; Unsupported where it cannot be written as one."""
    if job.graph.level not in (Level.TORCH, Level.ATEN):
        raise Unsupported([f"a graph of {job.graph.level.value} operators"], "graph-net")
    try:
        graph = to_aten(job.graph)
    except GraphError as error:
        raise Unsupported([str(error)], "graph-net's way to ATen") from error
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
    """The numbers among a graph's outputs, each with the tensor that it is read out of."""
    found, computed = [], []
    for node in outputs:
        if not isinstance(node.result, ScalarSpec):
            continue
        if node.target in _READING and isinstance(node.args[0], Ref):
            found.append((node.name, node.args[0].name))
        else:
            computed.append(f"a program returns tensors, not the computed number {node.name}")
    if computed:
        raise Unsupported(computed, "graph-net")
    return tuple(found)


def copies(inputs: Sequence[Any]) -> list[Any]:
    """Inputs that may be changed: same values, layout and kind of tensor, other memory."""
    return [_copy(value) if isinstance(value, torch.Tensor) else value for value in inputs]


def _copy(tensor: torch.Tensor) -> torch.Tensor:
    # Dynamo compiles again for a tensor made under inference mode if it saw one that was not.
    with torch.inference_mode(tensor.is_inference()), torch.no_grad():
        made = torch.empty_strided(
            tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device
        )
        return made.copy_(tensor)


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
        given = iter(tensors)
        values = [next(given) if value is None else value for value in self.fixed]
        return self.call(
            *(v.clone() if copied else v for v, copied in zip(values, self.copied, strict=True))
        )


def _fixed(graph: Graph, entry: Input) -> Any:
    return make_input(graph, entry) if isinstance(entry.spec, ScalarSpec) else None


def export_program(job: Job, program: PureFunction) -> torch.export.ExportedProgram:
    """The program as torch.export writes it, made once a directory.

    It is traced on tensors without values and holds none: parameters are arguments.
    """
    path = form_path(job, "pt2")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if path.exists():
            return torch.export.load(path)
        made = export_now(program, torch.device(job.device))
        made.example_inputs = None  # they would be saved
        with caching(path) as aside:
            torch.export.save(made, aside)
    return made


def export_now(program: PureFunction, device: torch.device) -> torch.export.ExportedProgram:
    """The program as torch.export writes it, not kept."""
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
    """Where the job's directory keeps one form of this very graph."""
    job.workdir.mkdir(parents=True, exist_ok=True)
    return job.workdir / f"{form_key(to_bytes(job.graph), job.device)}.{suffix}"


def chain(error: BaseException) -> Iterator[BaseException]:
    """An error and those behind it."""
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = cast("BaseException | None", getattr(seen, "inner_exception", None)) or (
            seen.__cause__ or seen.__context__
        )
