"""What measuring asks of the framework whose operators a graph calls: PyTorch or Paddle.

Comparisons are made on PyTorch's tensors whatever ran; Paddle is imported when a graph of its
operators comes, and not before.
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
"""Elements for which PyTorch uses several threads."""


class Framework(Interface):
    """Makes tensors, runs a graph one operator after another, and hands tensors over."""

    @property
    def named(self) -> str:
        """Name and version, as the record has them."""
        ...

    def threads(self, count: int) -> None:
        """Use so many of the processor's, and start them now: they are placed later."""
        ...

    def inputs(self, graph: Graph, device: str, seed: int) -> list[Any]:
        """Fresh tensors for every input; the same values each time."""
        ...

    def run(self, graph: Graph, inputs: Sequence[Any], device: str, seed: int) -> Any:
        """The graph's outputs."""
        ...

    def calling(self) -> AbstractContextManager[Any]:
        """What a call that nobody differentiates is made in."""
        ...

    def seed(self, seed: int) -> None:
        """Where calls that draw random numbers begin."""
        ...

    def wide(self, value: Any) -> Any:
        """A floating-point tensor in float64; anything else as it is."""
        ...

    def seen(self, value: Any) -> Any:
        """A value with PyTorch's tensor in the place of the framework's own."""
        ...

    def copy(self, value: Any) -> Any:
        """Another tensor with the same values."""
        ...

    def restore(self, target: Any, value: Any) -> None:
        """Give a tensor the values of another."""
        ...


def framework_of(graph: Graph, device: str) -> Framework:
    """The framework that runs a graph; Unsupported where it cannot be measured on the device."""
    if graph.level is not Level.PADDLE:
        return _Torch()
    if device != "cpu":
        why = f"graphs of Paddle's operators are measured on the cpu, not {device}"
        raise Unsupported([why], "graph-net")
    return _Paddle()


class _Torch:
    named = f"torch {torch.__version__}"

    def threads(self, count: int) -> None:
        torch.set_num_threads(count)
        if count > 1:
            torch.zeros(PARALLEL).sin_()  # OpenMP starts its threads when they are first needed

    def inputs(self, graph: Graph, device: str, seed: int) -> list[Any]:
        return make_inputs(graph, device, seed)

    def run(self, graph: Graph, inputs: Sequence[Any], device: str, seed: int) -> Any:
        return run(graph, inputs, device=device, seed=seed)

    def calling(self) -> AbstractContextManager[Any]:
        return torch.inference_mode()

    def seed(self, seed: int) -> None:
        torch.manual_seed(seed)

    def wide(self, value: Any) -> Any:
        floating = isinstance(value, torch.Tensor) and value.is_floating_point()
        return value.double() if floating else value

    def seen(self, value: Any) -> Any:
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
    def named(self) -> str:
        return f"paddle {self.paddle.__version__}"

    def threads(self, count: int) -> None:
        self.paddle.base.core.set_num_threads(count)

    def inputs(self, graph: Graph, device: str, seed: int) -> list[Any]:
        from graph_net.graph.paddle_execute import make_inputs as paddle_inputs

        return paddle_inputs(graph, seed)

    def run(self, graph: Graph, inputs: Sequence[Any], device: str, seed: int) -> Any:
        from graph_net.graph.paddle_execute import run as run_paddle

        return run_paddle(graph, inputs, seed=seed)

    def calling(self) -> AbstractContextManager[Any]:
        found: AbstractContextManager[Any] = self.paddle.no_grad()
        return found

    def seed(self, seed: int) -> None:
        self.paddle.seed(seed)

    def wide(self, value: Any) -> Any:
        return value.astype("float64") if "float" in str(value.dtype) else value

    def seen(self, value: Any) -> Any:
        if not isinstance(value, self.paddle.Tensor):
            return value
        word = str(value.dtype).rpartition(".")[2]
        # numpy lacks the short floats: they travel as wider ones, which hold the same values.
        short = word.startswith(("bfloat", "float8"))
        array = (value.astype("float32") if short else value).numpy().copy()
        return torch.from_numpy(array).to(getattr(torch, word))

    def copy(self, value: Any) -> Any:
        return value.clone()

    def restore(self, target: Any, value: Any) -> None:
        self.paddle.assign(value, target)
