"""Capture a model as Graphs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import fx, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.flop_counter import FlopCounterMode

from graph_net.capture.initial_values import with_initial_values
from graph_net.capture.program import graph_of_program
from graph_net.capture.symbols import symbol_names
from graph_net.capture.training import MODES, capture_training
from graph_net.capture.weights import with_fake_inputs, with_fake_weights
from graph_net.graph.errors import GraphError
from graph_net.graph.fx import from_fx
from graph_net.graph.graph import Graph, Provenance
from graph_net.graph.recipe import Recipe
from graph_net.graph.values import Value

WAYS = ("export", "dynamo")


@dataclass(frozen=True, slots=True)
class Captured:
    """The graphs of a model, in order; one if it is whole, several if it broke.

    ``refused`` explains each way or piece that failed: nothing is lost silently. ``coverage`` is
    the share of the model's floating-point operations that the graphs hold; None if the model
    cannot be counted without real values.
    """

    graphs: tuple[Graph, ...]
    way: str
    refused: tuple[str, ...] = ()
    coverage: float | None = 1.0


def capture(
    model: nn.Module,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    provenance: Provenance | None = None,
    dynamic_shapes: Any = None,
    ways: Sequence[str] = WAYS,
    mode: str = "inference",
    dtype: torch.dtype | None = None,
    initial: Mapping[str, Recipe] | None = None,
) -> Captured:
    """Return the graphs of one call of a model, at level ``aten`` where that is possible.

    ``export`` gives one whole graph; ``dynamo`` gives one or, where the model breaks, all its
    pieces in order. They are tried in the order of ``ways``. A model built with
    ``graph_net.capture.weights.without_weights`` needs no memory for its parameters; ``initial``
    holds the recipes that its initialisers wrote, by name, and the rest is chosen by role.

    ``mode`` is ``inference``, ``training`` (forward and backward in one graph, through
    AOTAutograd) or one of its parts, ``forward`` and ``backward``. ``dtype`` casts the model (for
    good) and its floating-point inputs first.
    """
    if mode not in MODES:
        raise GraphError(f"{mode!r} is not a mode; choose one of {', '.join(MODES)}")
    call: tuple[tuple[Any, ...], dict[str, Any]] = (tuple(args), dict(kwargs or {}))
    if dtype is not None:
        model.to(dtype)
        call = tree_map(lambda leaf: _cast(leaf, dtype), call)
    provenance = provenance or Provenance(model=type(model).__name__)
    provenance = replace(provenance, framework_version=torch.__version__.partition("+")[0])
    refused: list[str] = []
    fake = _mode_of(model, *call) or FakeTensorMode(allow_non_fake_inputs=True)
    with_fake_weights(model, fake)
    call = with_fake_inputs(call, fake)
    if mode != "inference":
        graph = capture_training(model, *call, provenance, mode, fake)
        return Captured((with_initial_values(graph, initial),), "aot_autograd")
    for way in ways:
        try:
            graphs, coverage = _WAYS[way](model, *call, provenance, dynamic_shapes)
            graphs = tuple(with_initial_values(graph, initial) for graph in graphs)
            return Captured(graphs, way, tuple(refused), coverage)
        except GraphError as error:
            refused.append(f"{way}: {error}")
        except Exception as error:
            refused.append(f"{way}: {type(error).__name__}: {_summarise(error)}")
    raise GraphError("; ".join(refused))


def _summarise(error: Exception) -> str:
    """Return the first line of an error, and its first listed reason if it has one."""
    lines = [line.strip() for line in str(error).strip().splitlines()] or [""]
    reason = next((line for line in lines[1:] if line.startswith("- ")), "")
    return f"{lines[0][:200]} {reason[:200]}".strip()


def _cast(leaf: Any, dtype: torch.dtype) -> Any:
    floating = isinstance(leaf, torch.Tensor) and leaf.is_floating_point()
    return leaf.to(dtype) if floating else leaf


def _mode_of(
    model: nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> FakeTensorMode | None:
    tensors = [*model.parameters(), *args, *kwargs.values()]
    modes = (getattr(tensor, "fake_mode", None) for tensor in tensors)
    return next((mode for mode in modes if mode is not None), None)


def _export(
    model: nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    provenance: Provenance,
    dynamic_shapes: Any,
) -> tuple[tuple[Graph, ...], float | None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.export.export(
            model, args, kwargs, dynamic_shapes=dynamic_shapes, strict=False
        )
    leaves = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
    names = symbol_names(program, model, args, kwargs, dynamic_shapes) if dynamic_shapes else {}
    return (graph_of_program(program, provenance, leaves, names),), 1.0


def _run_dynamo(
    model: nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    provenance: Provenance,
    dynamic_shapes: Any,
) -> tuple[tuple[Graph, ...], float | None]:
    from graph_net.rewrite.lower import to_aten

    graphs: list[Graph] = []
    flops = 0

    def record(module: fx.GraphModule, examples: list[Any]) -> Callable[..., Any]:
        part: tuple[tuple[str, Value], ...] = (("part", len(graphs)),)
        origin = replace(provenance, options=(*provenance.options, *part))
        graphs.append(to_aten(from_fx(module, examples, provenance=origin)))
        return count_flops(module.forward)

    def count_flops(forward: Callable[..., Any]) -> Callable[..., Any]:
        def run(*values: Any) -> Any:
            nonlocal flops
            with FlopCounterMode(display=False) as piece:
                result = forward(*values)
            flops += piece.get_total_flops()
            return result

        return run

    torch._dynamo.reset()
    with (
        warnings.catch_warnings(),
        torch.no_grad(),
        torch._dynamo.config.patch(capture_scalar_outputs=True, allow_rnn=True),
    ):
        warnings.simplefilter("ignore")
        torch.compile(model, backend=record, dynamic=dynamic_shapes is not None)(*args, **kwargs)
    if not graphs:
        raise GraphError("Dynamo compiled nothing: the model calls no operator on a tensor")
    return tuple(graphs), _coverage(flops, model, args, kwargs)


def _coverage(
    flops: int, model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> float | None:
    """Return the share of a whole call's operations, which are counted in a call not compiled."""
    try:
        with torch.no_grad(), FlopCounterMode(display=False) as whole:
            model(*args, **kwargs)
    except Exception:  # the model reads the value of a fake tensor
        return None
    total = whole.get_total_flops()
    return flops / total if total else 1.0


_WAYS = {"export": _export, "dynamo": _run_dynamo}
