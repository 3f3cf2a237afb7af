"""``graph-net run``: execute a graph eagerly on its own tensors."""

from __future__ import annotations

import json as jsonlib
import math
from typing import Annotated, Any

import typer
from rich.table import Table

from graph_net.api.confined import SECONDS, run_confined
from graph_net.api.graphs import open_graph
from graph_net.cli.common import GRAPH_HELP, out
from graph_net.graph import Graph, GraphError, Level
from graph_net.printable import short_bytes


def run_graph(
    graph: Annotated[str, typer.Argument(metavar="PACK_OR_DIR[:NAME]", help=GRAPH_HELP)],
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1, …")] = "cpu",
    seed: Annotated[int, typer.Option(help="Seed of the tensors and of random calls.")] = 0,
    lower: Annotated[bool, typer.Option(help="Lower to ATen operators first.")] = False,
    memory: Annotated[
        float, typer.Option(help="Refuse graphs whose inputs take more than so many GiB.")
    ] = 16.0,
    seconds: Annotated[int, typer.Option(help="Stop after so many seconds.")] = SECONDS,
    json: Annotated[bool, typer.Option("--json", help="Print the outputs as JSON.")] = False,
) -> None:
    """Run a graph on tensors made from its recipes; print its outputs' shapes and a digest."""
    name, found = open_graph(graph)
    if found.tensor_bytes > memory * 2**30:
        raise GraphError(
            f"{name} needs {short_bytes(found.tensor_bytes)} for its inputs; "
            f"--memory allows {memory:g} GiB"
        )
    run = _run_paddle if found.level is Level.PADDLE else _run_torch
    described, total = run_confined(
        lambda: run(found, device, seed, lower),
        seconds=seconds,
        gigabytes=4 * memory,
        device=device,
    )
    if json:
        typer.echo(jsonlib.dumps({"graph": name, "outputs": described, "digest": total}, indent=1))
        return
    table = Table(title=name, title_justify="left")
    for column in ("output", "dtype", "shape", "mean", "std"):
        table.add_column(column)
    for position, row in enumerate(described):
        table.add_row(str(position), *(str(row[key]) for key in ("dtype", "shape", "mean", "std")))
    out.print(table)
    out.print(f"digest {total}")


def _run_torch(
    found: Graph, device: str, seed: int, lower: bool
) -> tuple[list[dict[str, Any]], str]:
    import torch

    from graph_net.graph.execute import digest, flat_outputs, run
    from graph_net.measure.device import require_device

    require_device(device)
    if lower:
        from graph_net.rewrite.lower import to_aten

        found = to_aten(found)
    outputs = run(found, device=device, seed=seed)
    return [_describe(leaf, torch) for leaf in flat_outputs(outputs)], digest(outputs)


def _run_paddle(
    found: Graph, device: str, seed: int, lower: bool
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
    outputs = run(found, seed=seed)
    return [_describe_paddle(leaf) for leaf in flat_outputs(outputs)], digest(outputs)


def _describe_paddle(leaf: Any) -> dict[str, Any]:
    if not hasattr(leaf, "numpy"):
        return _describe_plain(leaf)
    wide = leaf.abs() if "complex" in str(leaf.dtype) else leaf
    values = wide.astype("float64").numpy()
    return {
        "dtype": str(leaf.dtype).rpartition(".")[2],
        "shape": [int(size) for size in leaf.shape],
        "mean": _rounded(float(values.mean())) if values.size else None,
        "std": _rounded(float(values.std(ddof=1))) if values.size > 1 else None,
    }


def _describe_plain(leaf: Any) -> dict[str, Any]:
    plain = leaf is None or isinstance(leaf, int)
    shown = leaf if plain else str(leaf)
    return {"dtype": type(leaf).__name__, "shape": "", "mean": shown, "std": ""}


def _describe(leaf: Any, torch: Any) -> dict[str, Any]:
    if not isinstance(leaf, torch.Tensor):
        return _describe_plain(leaf)
    wide = leaf.detach().cpu()
    wide = wide.abs().double() if wide.is_complex() else wide.double()
    return {
        "dtype": str(leaf.dtype).removeprefix("torch."),
        "shape": list(leaf.shape),
        "mean": _rounded(float(wide.mean())) if wide.numel() else None,
        "std": _rounded(float(wide.std())) if wide.numel() > 1 else None,
    }


def _rounded(number: float) -> float | str:
    return round(number, 6) if math.isfinite(number) else str(number)
