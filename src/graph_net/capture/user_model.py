"""Capture a model from the user's own file: ``model.py:make``.

The file is imported, and the object it names is called. It is the user's own program, named by the
user on the command line: names from stored files never reach this module.
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
from graph_net.capture.user_inputs import UserInput, dynamic_shapes, parse_dynamic, parse_input
from graph_net.capture.weights import without_weights
from graph_net.graph.errors import GraphError
from graph_net.graph.graph import Provenance
from graph_net.graph.runtime import torch_dtype
from graph_net.user_file import imports_beside, run_user_file


@dataclass(frozen=True, slots=True)
class UserModel:
    """A module, and the inputs that its file gives for it."""

    module: nn.Module
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] | None = None


class _Function(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function
        self.forward = function  # so that the inputs have its parameters' names


def module_of(model: nn.Module | Callable[..., Any]) -> nn.Module:
    """Return a module as it is, a function wrapped in a module."""
    return model if isinstance(model, nn.Module) else _Function(model)


def capture_user_model(
    location: str,
    inputs: Sequence[str] = (),
    dynamic: Sequence[str] = (),
    *,
    weights: bool = True,
    mode: str = "inference",
    dtype: str = "",
    ways: Sequence[str] = WAYS,
) -> Captured:
    """Return the graphs of a model in a user's own file, which is run: ``model.py:make``.

    ``inputs`` are written ``x=float32[2,3,224,224]``, ``dynamic`` sizes ``batch=x.0,y.0``. Without
    ``weights`` parameters take no memory. Each graph is checked as a zoo's is.
    """
    user_inputs = [parse_input(text) for text in inputs]
    sizes = [parse_dynamic(text) for text in dynamic]
    if sizes and mode != "inference":
        raise GraphError(f"the sizes of a {mode} graph are fixed; leave --dynamic out")
    torch.manual_seed(0)
    with nullcontext() if weights else without_weights():
        model = load_user_model(location)
    args, kwargs = _arguments(model, user_inputs)
    shapes = dynamic_shapes(model.module.forward, args, kwargs, sizes) if sizes else None
    name = location.rpartition(":")[2] or type(model.module).__name__
    captured = capture(
        model.module.eval() if mode == "inference" else model.module,
        args,
        kwargs,
        provenance=Provenance(library=Path(location.rpartition(":")[0]).stem, model=name),
        dynamic_shapes=shapes,
        ways=("export",) if sizes else ways,  # Dynamo would choose sizes and names of its own
        mode=mode,
        dtype=torch_dtype(dtype) if dtype else None,
    )
    for graph in captured.graphs:
        check_graph_runs(graph)
    return captured


def load_user_model(location: str) -> UserModel:
    """Run ``file.py`` and return the model that ``file.py:name`` stands for.

    The name is a module, a class of one, a function that makes one (it needs no argument and
    gives a module, or a module and its inputs), or a function of tensors, which is the model.
    """
    path, _, name = location.rpartition(":")
    if not path.endswith(".py") or not name:
        raise GraphError(f"{location!r} does not name a model; write path/to/file.py:name")
    if not Path(path).is_file():
        raise GraphError(f"{path} does not exist; give the path of a Python file")
    with imports_beside(Path(path)):
        module = run_user_file(Path(path))
        if not hasattr(module, name):
            names = ", ".join(key for key in vars(module) if not key.startswith("_"))
            raise GraphError(f"{path} does not define {name!r}; it defines {names}")
        return _model_of(getattr(module, name), location)


def _model_of(value: Any, location: str) -> UserModel:
    if isinstance(value, nn.Module):
        return UserModel(value)
    if isinstance(value, tuple) and len(value) == 2:
        model, inputs = value
        args, kwargs = ((), inputs) if isinstance(inputs, Mapping) else (_as_args(inputs), None)
        return UserModel(_model_of(model, location).module, args, kwargs)
    if isinstance(value, type) and not issubclass(value, nn.Module):
        raise GraphError(f"{location} is the class {value.__name__}, which is not an nn.Module")
    if not callable(value):
        raise GraphError(
            f"{location} is of type {type(value).__name__}, neither a module nor a function"
        )
    if _unbound(value) is None:
        return _model_of(value(), location)
    if isinstance(value, type):
        why = f"{location} needs arguments: {_unbound(value)}; name a function that makes it"
        raise GraphError(why)
    return UserModel(module_of(value))


def _unbound(function: Callable[..., Any]) -> str | None:
    """Return why a function cannot be called without arguments; None if it can."""
    try:
        inspect.signature(function).bind()
    except TypeError as error:
        return str(error)
    return None


def _as_args(inputs: Any) -> tuple[Any, ...]:
    return tuple(inputs) if isinstance(inputs, (list, tuple)) else (inputs,)


def _arguments(
    model: UserModel, user_inputs: Sequence[UserInput]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return what to call a model with: the command line's inputs, else those of its file."""
    if user_inputs:
        args = tuple(entry.value() for entry in user_inputs if not entry.name)
        kwargs = {entry.name: entry.value() for entry in user_inputs if entry.name}
    else:
        args, kwargs = model.args, dict(model.kwargs or {})
    try:
        inspect.signature(model.module.forward).bind(*args, **kwargs)
    except TypeError as error:
        parameters = ", ".join(inspect.signature(model.module.forward).parameters)
        why = f"{error}; it takes {parameters}: give each as --input name=dtype[sizes]"
        raise GraphError(why) from error
    return args, kwargs
