"""Run a graph eagerly on tensors made from its recipes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graph_net.api.choose import named_graph
from graph_net.api.confined import SECONDS as SECONDS
from graph_net.api.confined import run_confined
from graph_net.graph import Graph, GraphError, Level
from graph_net.printable import short_bytes


@dataclass(frozen=True)
class GraphOutputs:
    """The outputs of a graph (dtype, shape, mean and std of each), and a digest of all."""

    name: str
    outputs: list[dict[str, Any]]
    digest: str

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {"graph": self.name, "outputs": self.outputs, "digest": self.digest}


def run_graph(
    graph: Graph | str | Path,
    *,
    device: str = "cpu",
    seed: int = 0,
    lower: bool = False,
    memory: float = 16.0,
    seconds: int = SECONDS,
) -> GraphOutputs:
    """Run a graph in a confined process and return a description of its outputs.

    A graph whose inputs take more than ``memory`` GiB is refused.
    """
    name, opened = named_graph(graph)
    if opened.tensor_bytes > memory * 2**30:
        raise GraphError(
            f"{name} needs {short_bytes(opened.tensor_bytes)} for its inputs; "
            f"--memory allows {memory:g} GiB"
        )
    run = _run_paddle if opened.level is Level.PADDLE else _run_torch
    outputs, digest = run_confined(
        lambda: run(opened, device, seed, lower),
        seconds=seconds,
        gigabytes=4 * memory,
        device=device,
    )
    return GraphOutputs(name, outputs, digest)


def _run_torch(
    graph: Graph, device: str, seed: int, lower: bool
) -> tuple[list[dict[str, Any]], str]:
    from graph_net.graph.execute import digest, flat_outputs, run
    from graph_net.measure.device import require_device

    require_device(device)
    if lower:
        from graph_net.rewrite.lower import to_aten

        graph = to_aten(graph)
    outputs = run(graph, device=device, seed=seed)
    return [_describe_torch(leaf) for leaf in flat_outputs(outputs)], digest(outputs)


def _run_paddle(
    graph: Graph, device: str, seed: int, lower: bool
) -> tuple[list[dict[str, Any]], str]:
    from graph_net.graph.paddle_execute import digest, flat_outputs, run
    from graph_net.graph.paddle_needed import load_paddle

    if lower:
        raise GraphError("a graph of level paddle has no ATen form; run it without --lower")
    try:
        paddle = load_paddle()
    except ImportError as error:
        raise GraphError(str(error)) from error
    try:
        paddle.device.set_device(device.replace("cuda", "gpu"))
    except (ValueError, RuntimeError) as error:
        raise GraphError(f"this Paddle has no device {device!r}; run with --device cpu") from error
    outputs = run(graph, seed=seed)
    return [_describe_paddle(leaf) for leaf in flat_outputs(outputs)], digest(outputs)


def _describe_torch(leaf: Any) -> dict[str, Any]:
    import torch

    if not isinstance(leaf, torch.Tensor):
        return _describe_plain(leaf)
    wide = leaf.detach().cpu()
    wide = wide.abs().double() if wide.is_complex() else wide.double()
    return {
        "dtype": str(leaf.dtype).removeprefix("torch."),
        "shape": list(leaf.shape),
        "mean": _round(float(wide.mean())) if wide.numel() else None,
        "std": _round(float(wide.std())) if wide.numel() > 1 else None,
    }


def _describe_paddle(leaf: Any) -> dict[str, Any]:
    if not hasattr(leaf, "numpy"):
        return _describe_plain(leaf)
    wide = leaf.abs() if "complex" in str(leaf.dtype) else leaf
    values = wide.astype("float64").numpy()
    return {
        "dtype": str(leaf.dtype).rpartition(".")[2],
        "shape": [int(size) for size in leaf.shape],
        "mean": _round(float(values.mean())) if values.size else None,
        "std": _round(float(values.std(ddof=1))) if values.size > 1 else None,
    }


def _describe_plain(leaf: Any) -> dict[str, Any]:
    value = leaf if leaf is None or isinstance(leaf, int) else str(leaf)
    return {"dtype": type(leaf).__name__, "shape": "", "mean": value, "std": ""}


def _round(number: float) -> float | str:
    return round(number, 6) if math.isfinite(number) else str(number)
