"""A model of the user's own, named by its file: ``model.py:make``.

The file is imported and what it names is called. It is the user's own program, named by the user:
no stored name ever comes here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from graph_net.capture.capture import WAYS, Captured, capture
from graph_net.capture.check import check_graph_runs
from graph_net.capture.user_inputs import OwnInput, dynamic_shapes, parse_dynamic, parse_input
from graph_net.capture.weights import without_weights
from graph_net.graph.errors import GraphError
from graph_net.graph.graph import Provenance
from graph_net.graph.runtime import torch_dtype
from graph_net.user_file import imports_beside, run_user_file


@dataclass(frozen=True, slots=True)
class OwnModel:
    """A module, and what its file says to call it with."""

    module: nn.Module
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] | None = None


class _Function(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function
        self.forward = function  # its parameters' names are those of the inputs


def module_of(model: nn.Module | Callable[..., Any]) -> nn.Module:
    """Return a module as it is, and a function as a module."""
    return model if isinstance(model, nn.Module) else _Function(model)


def capture_user_model(
    place: str,
    inputs: Sequence[str] = (),
    dynamic: Sequence[str] = (),
    *,
    weights: bool = True,
    mode: str = "inference",
    dtype: str = "",
    ways: Sequence[str] = WAYS,
) -> Captured:
    """The graphs of a model in a file of the user's own, which is run: ``model.py:make``.

    ``inputs`` are written ``x=float32[2,3,224,224]``, ``dynamic`` sizes ``batch=x.0,y.0``. Without
    ``weights`` parameters take no memory. Each graph is checked as a zoo's is.
    """
    given = [parse_input(text) for text in inputs]
    named = [parse_dynamic(text) for text in dynamic]
    if named and mode != "inference":
        raise GraphError(f"sizes of a {mode} graph are fixed; leave --dynamic out")
    torch.manual_seed(0)
    with nullcontext() if weights else without_weights():
        model = own_model(place)
    args, kwargs = _call(model, given)
    shapes = dynamic_shapes(model.module.forward, args, kwargs, named) if named else None
    name = place.rpartition(":")[2] or type(model.module).__name__
    captured = capture(
        model.module.eval() if mode == "inference" else model.module,
        args,
        kwargs,
        provenance=Provenance(library=Path(place.rpartition(":")[0]).stem, model=name),
        dynamic_shapes=shapes,
        ways=("export",) if named else ways,  # Dynamo would choose sizes and names of its own
        mode=mode,
        dtype=torch_dtype(dtype) if dtype else None,
    )
    for graph in captured.graphs:
        check_graph_runs(graph)
    return captured


def own_model(place: str) -> OwnModel:
    """The model that ``file.py:name`` stands for; the file is run.

    The name is a module, a class of one, a function that makes one (it needs no argument and
    gives a module, or a module and its inputs), or a function of tensors, which is the model.
    """
    path, _, name = place.rpartition(":")
    if not path.endswith(".py") or not name:
        raise GraphError(f"{place!r} names no model; write path/to/file.py:name")
    if not Path(path).is_file():
        raise GraphError(f"there is no file {path}")
    with imports_beside(Path(path)):
        module = run_user_file(Path(path))
        if not hasattr(module, name):
            known = ", ".join(word for word in vars(module) if not word.startswith("_"))
            raise GraphError(f"{path} has no {name!r}; it has {known}")
        return _model_of(getattr(module, name), place)


def _model_of(found: Any, place: str) -> OwnModel:
    if isinstance(found, nn.Module):
        return OwnModel(found)
    if isinstance(found, tuple) and len(found) == 2:
        model, inputs = found
        args, kwargs = ((), inputs) if isinstance(inputs, Mapping) else (_listed(inputs), None)
        return OwnModel(_model_of(model, place).module, args, kwargs)
    if isinstance(found, type) and not issubclass(found, nn.Module):
        raise GraphError(f"{place} is the class {found.__name__}, which is no nn.Module")
    if not callable(found):
        raise GraphError(f"{place} is {type(found).__name__}: no module, and no function")
    if _lacks(found) is None:
        return _model_of(found(), place)
    if isinstance(found, type):
        why = f"{place} cannot be made: {_lacks(found)}; name a function that makes it"
        raise GraphError(why)
    return OwnModel(module_of(found))


def _lacks(function: Callable[..., Any]) -> str | None:
    """Why a function cannot be called without arguments; None where it can."""
    try:
        inspect.signature(function).bind()
    except TypeError as error:
        return str(error)
    return None


def _listed(inputs: Any) -> tuple[Any, ...]:
    return tuple(inputs) if isinstance(inputs, (list, tuple)) else (inputs,)


def _call(model: OwnModel, given: Sequence[OwnInput]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What to call a model with: the inputs of the command line, else those of its file."""
    if given:
        args = tuple(entry.value() for entry in given if not entry.name)
        kwargs = {entry.name: entry.value() for entry in given if entry.name}
    else:
        args, kwargs = model.args, dict(model.kwargs or {})
    try:
        inspect.signature(model.module.forward).bind(*args, **kwargs)
    except TypeError as error:
        parameters = ", ".join(inspect.signature(model.module.forward).parameters)
        why = f"{error}; it takes {parameters}: give each as --input name=dtype[sizes]"
        raise GraphError(why) from error
    return args, kwargs
