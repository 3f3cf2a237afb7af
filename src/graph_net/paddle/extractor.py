"""``graph_net.paddle.extract``: write a model's graph as a sample when it runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from graph_net.formats.graphnet.write import write_sample
from graph_net.graph import Graph, Provenance
from graph_net.graph.errors import GraphError
from graph_net.graph.paddle_needed import load_paddle
from graph_net.paddle.program import graph_of
from graph_net.paddle.statistics import recipe_of_array

WORKSPACE = "GRAPH_NET_EXTRACT_WORKSPACE"


def extract(
    name: str, dynamic: bool = False, input_spec: Sequence[Any] | None = None
) -> Callable[[Any], Any]:
    """Return a wrapper for a ``paddle.nn.Layer``, or a decorator for its class, to write its graph.

    ``extract(name="resnet18")(model)`` is called in place of the model; its first call writes a
    GraphNet sample to ``$GRAPH_NET_EXTRACT_WORKSPACE/resnet18``, and every call returns what the
    model returns. An existing directory is left alone: the new one gets a number. Sizes are those
    of the first call; Paddle's programs do not relate them.
    """
    if dynamic:
        raise ValueError("Paddle graphs have the sizes of the call; extract with dynamic=False")
    workspace = os.environ.get(WORKSPACE)
    if not workspace:
        raise OSError(f"set ${WORKSPACE} to the directory that extracted graphs go to")
    paddle = load_paddle()

    def wrap_or_decorate(target: Any) -> Any:
        if isinstance(target, paddle.nn.Layer):
            return _Extractor(target, name, Path(workspace), input_spec)
        if isinstance(target, type) and issubclass(target, paddle.nn.Layer):
            return lambda *args, **kwargs: wrap_or_decorate(target(*args, **kwargs))
        raise TypeError(
            f"extract takes a paddle.nn.Layer or a class of one, not {type(target).__name__}"
        )

    return wrap_or_decorate


class _Extractor:
    """Calls the model, and writes its graph the first time."""

    def __init__(
        self, model: Any, name: str, workspace: Path, input_spec: Sequence[Any] | None
    ) -> None:
        self.model, self.name, self.workspace, self.input_spec = model, name, workspace, input_spec
        self.written: Path | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.written is None:
            graph = capture(self.model, args, kwargs, self.name, self.input_spec)
            directory = _free_path(self.workspace / self.name)
            write_sample(graph, directory)
            self.written = directory
            print(f"Graph and tensors for '{self.name}' extracted successfully to: {directory}")
        return self.model(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)


def capture(
    model: Any,
    args: Sequence[Any],
    kwargs: dict[str, Any] | None = None,
    name: str = "",
    input_spec: Sequence[Any] | None = None,
) -> Graph:
    """Return the Graph of a call of a ``paddle.nn.Layer``, by dynamic-to-static translation."""
    paddle = load_paddle()
    kwargs = kwargs or {}
    static = _static_forward(paddle, model, input_spec)
    concrete, _ = static.get_concrete_program(*args, **kwargs)
    shapes: dict[str, tuple[int, ...]] = {}
    recipes = {}
    tensors = dict(_call_tensors(paddle, concrete, args, kwargs))
    tensors |= {tensor.name: tensor for tensor in concrete.parameters[0]}
    for tensor_name, tensor in tensors.items():
        if tensor._is_initialized():  # a recurrent layer's state may never get memory
            shapes[tensor_name] = tuple(int(size) for size in tensor.shape)
            recipes[tensor_name] = recipe_of_array(_array(tensor))
    origin = Provenance(
        library="",
        model=name or type(model).__name__,
        framework="paddle",
        framework_version=paddle.__version__,
        options=(("dynamic", False),),
    )
    outputs = concrete.outputs
    if isinstance(outputs, list) and len(outputs) == 1:
        outputs = outputs[0]  # Paddle wraps a lone output
    return graph_of(concrete.main_program, outputs, shapes, recipes, origin)


def _static_forward(paddle: Any, model: Any, input_spec: Sequence[Any] | None) -> Any:
    """Return the model's ``forward`` translated; the model itself keeps its own."""
    forward = model.forward
    if hasattr(forward, "get_concrete_program"):
        return forward
    function = getattr(forward, "__func__", None)
    if function is None:
        raise GraphError("forward is not a method of the model, so Paddle cannot translate it")
    spec = None if input_spec is None else list(input_spec)
    static = paddle.jit.to_static(function, input_spec=spec, full_graph=True)
    return static.__get__(model, type(model))


def _call_tensors(paddle: Any, concrete: Any, args: Any, kwargs: Any) -> list[tuple[str, Any]]:
    """Return the tensors of the call by the names the program gave them."""
    leaves = paddle.utils.flatten([list(args), list(kwargs.values())])
    tensors = [leaf for leaf in leaves if isinstance(leaf, paddle.Tensor)]
    declared = [
        leaf.name
        for leaf in paddle.utils.flatten(list(concrete.inputs[1:]))
        if hasattr(leaf, "initialized")
    ]
    if len(tensors) != len(declared):
        raise GraphError(
            f"the program has {len(declared)} inputs and the call {len(tensors)} tensors; "
            "pass tensors in the order of forward's arguments"
        )
    return list(zip(declared, tensors, strict=True))


def _array(tensor: Any) -> Any:
    """Return a tensor's values for statistics; numpy has no bfloat16."""
    wide = tensor.astype("float32") if "float" in str(tensor.dtype) else tensor
    return wide.numpy()


def _free_path(path: Path) -> Path:
    """Return the path, or with the first number appended that does not exist."""
    candidate, number = path, 1
    while candidate.exists():
        number += 1
        candidate = path.with_name(f"{path.name}_{number}")
    return candidate
