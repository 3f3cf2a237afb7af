"""A graph under layouts as functions to time, with inputs laid out and results checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from graph_net.compilers import create
from graph_net.compilers.compiler import Job, Runner
from graph_net.configs.layouts.layout_timing import Call
from graph_net.graph.execute import make_inputs
from graph_net.graph.graph import Graph
from graph_net.graph.outputs import flat_outputs
from graph_net.graph.spec import TensorSpec
from graph_net.results import Failure, Stage, Symptom

ERRORS = {"float32": 1e-3, "float64": 1e-9, "float16": 2e-2, "bfloat16": 5e-2}
"""By dtype, the largest difference of an output over its largest value. Layouts only change the
order of sums.
"""
TENSOR_CORES = 2e-2
"""The same for float32 on a GPU, whose convolutions use ten bits of mantissa."""


class WrongResult(ValueError):
    """A layout under which a graph computes a different result."""


@dataclass
class GraphArms:
    """One graph on one device: the original's inputs and outputs, and functions under layouts."""

    graph: Graph
    device: str
    compiler: str = "eager"
    threads: int = 1
    workdir: Path = Path()

    def __post_init__(self) -> None:
        self.inputs: list[Any] = make_inputs(self.graph, self.device)
        with torch.inference_mode():
            self.expected = flat_outputs(self.function(self.graph)())

    def function(self, graph: Graph, key: str = "original") -> Call:
        """Return a compiled call of the graph on the original's values, in the graph's strides."""
        inputs = [
            _laid_out(value, entry.spec, before.spec)
            for value, entry, before in zip(
                self.inputs, graph.inputs, self.graph.inputs, strict=True
            )
        ]
        runner = self._compile(graph, inputs, key)
        return lambda: runner(inputs)

    def _compile(self, graph: Graph, inputs: Sequence[Any], key: str) -> Runner:
        workdir = self.workdir / f"{graph.id}-{key}"
        if self.compiler != "eager":
            workdir.mkdir(parents=True, exist_ok=True)
        job = Job(graph, tuple(inputs), self.device, workdir, self.threads)
        return create(self.compiler).compile(job)

    def check(self, call: Call) -> float:
        """Return the error of a function's outputs; raise WrongResult if it is too large."""
        with torch.inference_mode():
            outputs = flat_outputs(call())
        if len(outputs) != len(self.expected):
            raise WrongResult(f"{len(outputs)} outputs instead of {len(self.expected)}")
        pairs = zip(outputs, self.expected, strict=True)
        return max((self._difference(*pair, n) for n, pair in enumerate(pairs)), default=0.0)

    def _difference(self, output: Any, expected: Any, number: int) -> float:
        if not isinstance(expected, torch.Tensor):
            if output != expected:
                raise WrongResult(f"output {number} is {output}, not {expected}")
            return 0.0
        if output.shape != expected.shape or output.dtype != expected.dtype:
            raise WrongResult(f"output {number} is {output.dtype} {tuple(output.shape)}")
        if torch.equal(output, expected):
            return 0.0
        name = str(expected.dtype).removeprefix("torch.")
        most = TENSOR_CORES if name == "float32" and self.device != "cpu" else ERRORS.get(name, 0.0)
        error = relative_error(output, expected)
        if not error <= most:
            raise WrongResult(f"output {number} differs by {error:.2g} of its largest value")
        return error


def relative_error(output: torch.Tensor, expected: torch.Tensor) -> float:
    """Return the largest difference over the largest value; equal infinities and NaNs match."""
    wide = torch.complex128 if expected.is_complex() else torch.float64
    a, b = output.to(wide), expected.to(wide)
    same = (a == b) | (a.isnan() & b.isnan())
    difference = torch.where(same, 0.0, (a - b).abs().real).max()
    size = torch.where(b.abs().isfinite(), b.abs(), 0.0).max()
    error = float(difference / size) if float(size) else float(difference)
    return error if error == error else float("inf")


def _laid_out(value: Any, spec: Any, before: Any) -> Any:
    """Return a value with the strides of its spec."""
    if spec == before or not isinstance(spec, TensorSpec):
        return value
    sizes, strides = spec.sizes({}), spec.strides({})
    if strides is None:
        return value.contiguous()
    return torch.empty_strided(sizes, strides, dtype=value.dtype, device=value.device).copy_(value)


def failure_of(error: Exception) -> Failure:
    """Return the failure of a layout that could not run or gave a wrong result."""
    if isinstance(error, WrongResult):
        return Failure(Stage.VERIFY, Symptom.NUMERIC, str(error)[:300])
    if isinstance(error, torch.OutOfMemoryError):
        return Failure(Stage.FIRST_RUN, Symptom.OUT_OF_MEMORY, "the device has too little memory")
    text = f"{type(error).__name__}: {' '.join(str(error).split())}"
    return Failure(Stage.FIRST_RUN, Symptom.EXCEPTION, text[:300])
