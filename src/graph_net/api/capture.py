"""Capture a model as a graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch
    from torch import nn

    from graph_net.capture import Captured
    from graph_net.graph import Graph


def capture(
    model: nn.Module | Callable[..., Any],
    args: Any = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    name: str = "",
    dynamic_shapes: Any = None,
    mode: str = "inference",
    dtype: torch.dtype | None = None,
) -> Graph:
    """Return the graph of one call of a module or function, ``model(*args, **kwargs)``.

    A single argument needs no tuple. ``mode`` is ``inference``, ``training``, ``forward`` or
    ``backward``; ``dynamic_shapes`` are those of ``torch.export``. Weights are not stored: values
    are drawn from recipes, the same on every machine. Raises GraphError if the model breaks into
    pieces.
    """
    from graph_net.capture import capture as captured_of
    from graph_net.capture.user_model import module_of
    from graph_net.graph import GraphError, Provenance

    module = module_of(model)
    with _evaluation_mode(module) if mode == "inference" else nullcontext():
        captured = captured_of(
            module,
            args if isinstance(args, tuple | list) else (args,),
            kwargs,
            provenance=Provenance(model=name or getattr(model, "__name__", type(model).__name__)),
            dynamic_shapes=dynamic_shapes,
            mode=mode,
            dtype=dtype,
        )
    if len(captured.graphs) > 1:
        raise GraphError(
            f"the model breaks into {len(captured.graphs)} graphs ({'; '.join(captured.refused)}); "
            "`from graph_net.capture import capture` has one that returns all of them"
        )
    return captured.graphs[0]


def capture_file(
    model: str,
    output: Path,
    inputs: Sequence[str] = (),
    dynamic: Sequence[str] = (),
    *,
    name: str = "",
    weights: bool = True,
    mode: str = "inference",
    dtype: str = "",
) -> tuple[Captured, list[str]]:
    """Add the graphs of ``file.py:name`` to a pack; return them with their names there.

    The file, which is the user's own, is run. A model that cannot be captured whole gives its
    pieces, ``name/0``, ``name/1``, …
    """
    from graph_net.capture import capture_user_model
    from graph_net.corpus.pack import PackWriter

    captured = capture_user_model(model, inputs, dynamic, weights=weights, mode=mode, dtype=dtype)
    path, _, attribute = model.rpartition(":")
    whole = name or f"{Path(path).stem}/{attribute}"
    several = len(captured.graphs) > 1
    names = [f"{whole}/{n}" if several else whole for n in range(len(captured.graphs))]
    with PackWriter(output) as writer:
        for piece, graph in zip(names, captured.graphs, strict=True):
            writer.add(piece, graph)
    return captured, names


@contextmanager
def _evaluation_mode(module: nn.Module) -> Iterator[None]:
    """Put a module in evaluation mode inside the block."""
    before = {part: part.training for part in module.modules()}
    module.eval()
    try:
        yield
    finally:
        for part, training in before.items():
            part.training = training
