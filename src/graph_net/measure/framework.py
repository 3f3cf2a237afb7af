"""The framework whose operators a graph calls: PyTorch or Paddle.

Outputs are compared as PyTorch tensors, whichever framework ran. Paddle is imported with the first
graph of its operators.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any
from typing import Protocol as Interface

import torch

from graph_net.compilers import Unsupported
from graph_net.graph import Graph, Level
from graph_net.graph.execute import make_inputs, run

PARALLEL = 1 << 18
"""Elements of a tensor that is large enough for PyTorch to use several threads."""


class Framework(Interface):
    """What measuring needs of a framework."""

    @property
    def label(self) -> str:
        """Name and version, as records state them."""
        ...

    def set_threads(self, count: int) -> None:
        """Use this many threads, and start them now: they are bound to cores later."""
        ...

    def make_inputs(self, graph: Graph, device: str, seed: int) -> list[Any]:
        """Return fresh tensors for every input; the same values each time."""
        ...

    def run(self, graph: Graph, inputs: Sequence[Any], device: str, seed: int) -> Any:
        """Return the graph's outputs, run one operator after another."""
        ...

    def inference_mode(self) -> AbstractContextManager[Any]:
        """Return the context of calls without gradients."""
        ...

    def seed(self, seed: int) -> None:
        """Seed the framework's random numbers."""
        ...

    def widen(self, value: Any) -> Any:
        """Return a floating-point tensor as float64; anything else unchanged."""
        ...

    def to_torch(self, value: Any) -> Any:
        """Return a tensor as PyTorch's; anything else unchanged."""
        ...

    def copy(self, value: Any) -> Any:
        """Return another tensor with the same values."""
        ...

    def restore(self, target: Any, value: Any) -> None:
        """Give a tensor the values of another."""
        ...


def framework_of(graph: Graph, device: str) -> Framework:
    """Return the framework that runs a graph; raise Unsupported if it cannot on the device."""
    if graph.level is not Level.PADDLE:
        return _Torch()
    if device != "cpu":
        why = f"graphs of Paddle's operators are measured on the cpu, not {device}"
        raise Unsupported([why], "graph-net")
    return _Paddle()


class _Torch:
    label = f"torch {torch.__version__}"

    def set_threads(self, count: int) -> None:
        torch.set_num_threads(count)
        if count > 1:
            torch.zeros(PARALLEL).sin_()  # OpenMP starts its threads when they are first needed

    def make_inputs(self, graph: Graph, device: str, seed: int) -> list[Any]:
        return make_inputs(graph, device, seed)

    def run(self, graph: Graph, inputs: Sequence[Any], device: str, seed: int) -> Any:
        return run(graph, inputs, device=device, seed=seed)

    def inference_mode(self) -> AbstractContextManager[Any]:
        return torch.inference_mode()

    def seed(self, seed: int) -> None:
        torch.manual_seed(seed)

    def widen(self, value: Any) -> Any:
        floating = isinstance(value, torch.Tensor) and value.is_floating_point()
        return value.double() if floating else value

    def to_torch(self, value: Any) -> Any:
        return value

    def copy(self, value: Any) -> Any:
        return value.clone()

    def restore(self, target: Any, value: Any) -> None:
        target.copy_(value)


class _Paddle:
    def __init__(self) -> None:
        from graph_net.graph.paddle_needed import load_paddle

        try:
            self.paddle = load_paddle()
        except ImportError as error:
            raise Unsupported([str(error)]) from error
        self.paddle.device.set_device("cpu")

    @property
    def label(self) -> str:
        return f"paddle {self.paddle.__version__}"

    def set_threads(self, count: int) -> None:
        self.paddle.base.core.set_num_threads(count)

    def make_inputs(self, graph: Graph, device: str, seed: int) -> list[Any]:
        from graph_net.graph.paddle_execute import make_inputs

        return make_inputs(graph, seed)

    def run(self, graph: Graph, inputs: Sequence[Any], device: str, seed: int) -> Any:
        from graph_net.graph.paddle_execute import run

        return run(graph, inputs, seed=seed)

    def inference_mode(self) -> AbstractContextManager[Any]:
        context: AbstractContextManager[Any] = self.paddle.no_grad()
        return context

    def seed(self, seed: int) -> None:
        self.paddle.seed(seed)

    def widen(self, value: Any) -> Any:
        return value.astype("float64") if "float" in str(value.dtype) else value

    def to_torch(self, value: Any) -> Any:
        if not isinstance(value, self.paddle.Tensor):
            return value
        dtype = str(value.dtype).rpartition(".")[2]
        # numpy lacks the short floats: they travel as wider ones, which hold the same values.
        short = dtype.startswith(("bfloat", "float8"))
        array = (value.astype("float32") if short else value).numpy().copy()
        return torch.from_numpy(array).to(getattr(torch, dtype))

    def copy(self, value: Any) -> Any:
        return value.clone()

    def restore(self, target: Any, value: Any) -> None:
        self.paddle.assign(value, target)
