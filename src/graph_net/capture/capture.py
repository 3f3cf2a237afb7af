"""The verb capture: a model in, Graphs out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import fx, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._pytree import tree_leaves

from graph_net.capture.program import graph_of_program
from graph_net.capture.weights import with_fake_inputs, with_fake_weights
from graph_net.graph.errors import GraphError
from graph_net.graph.fx import from_fx
from graph_net.graph.graph import Graph, Provenance
from graph_net.graph.values import Value

WAYS = ("export", "dynamo")


@dataclass(frozen=True, slots=True)
class Captured:
    """The graphs of a model, in order; one if it is whole, several if it broke.

    ``refused`` has a sentence for each way or piece that did not work: nothing is lost silently.
    """

    graphs: tuple[Graph, ...]
    way: str
    refused: tuple[str, ...] = ()


def capture(
    model: nn.Module,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    provenance: Provenance | None = None,
    dynamic_shapes: Any = None,
    ways: Sequence[str] = WAYS,
) -> Captured:
    """The graphs of one call of a model, at level ``aten`` where that is possible.

    ``export`` gives one whole graph; ``dynamo`` gives one or, where the model breaks, all its
    pieces in order. They are tried in the order of ``ways``. A model built with
    ``graph_net.capture.weights.without_weights`` needs no memory for its parameters.
    """
    provenance = provenance or Provenance(model=type(model).__name__)
    provenance = replace(provenance, framework_version=torch.__version__.partition("+")[0])
    refused: list[str] = []
    mode = _mode_of(model, args, kwargs) or FakeTensorMode(allow_non_fake_inputs=True)
    with_fake_weights(model, mode)
    given, named = with_fake_inputs((tuple(args), dict(kwargs or {})), mode)
    for way in ways:
        try:
            graphs = _WAYS[way](model, given, named, provenance, dynamic_shapes)
            return Captured(graphs, way, tuple(refused))
        except GraphError as error:
            refused.append(f"{way}: {error}")
        except Exception as error:
            lines = str(error).strip().splitlines() or [""]
            refused.append(f"{way}: {type(error).__name__}: {lines[0][:200]}")
    raise GraphError("; ".join(refused))


def _mode_of(
    model: nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any] | None
) -> FakeTensorMode | None:
    tensors = [*model.parameters(), *args, *(kwargs or {}).values()]
    modes = (getattr(tensor, "fake_mode", None) for tensor in tensors)
    return next((mode for mode in modes if mode is not None), None)


def _by_export(
    model: nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    provenance: Provenance,
    dynamic_shapes: Any,
) -> tuple[Graph, ...]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.export.export(
            model, args, kwargs, dynamic_shapes=dynamic_shapes, strict=False
        )
    leaves = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
    return (graph_of_program(program, provenance, leaves),)


def _by_dynamo(
    model: nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    provenance: Provenance,
    dynamic_shapes: Any,
) -> tuple[Graph, ...]:
    from graph_net.rewrite.lower import to_aten

    found: list[Graph] = []

    def keep(module: fx.GraphModule, examples: list[Any]) -> Callable[..., Any]:
        part: tuple[tuple[str, Value], ...] = (("part", len(found)),)
        origin = replace(provenance, options=(*provenance.options, *part))
        found.append(to_aten(from_fx(module, examples, provenance=origin)))
        return module.forward

    torch._dynamo.reset()
    with (
        warnings.catch_warnings(),
        torch.no_grad(),
        torch._dynamo.config.patch(capture_scalar_outputs=True, allow_rnn=True),
    ):
        warnings.simplefilter("ignore")
        torch.compile(model, backend=keep, dynamic=dynamic_shapes is not None)(*args, **kwargs)
    if not found:
        raise GraphError("nothing was compiled")
    return tuple(found)


_WAYS = {"export": _by_export, "dynamo": _by_dynamo}
