"""``graph_net.paddle.extract``: run a model, find its graph as a sample directory."""

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
    """A wrapper for a ``paddle.nn.Layer``, or decorator for its class, that writes its graph.

    ``extract(name="resnet18")(model)`` gives something to call in place of the model; its first
    call leaves a GraphNet sample in ``$GRAPH_NET_EXTRACT_WORKSPACE/resnet18``, and every call
    returns what the model returns. A directory that exists already is left alone: the new one
    gets a number. Sizes are those of the first call; Paddle's programs do not relate them.
    """
    if dynamic:
        raise ValueError("Paddle graphs have the sizes of the call: extract with dynamic=False")
    place = os.environ.get(WORKSPACE)
    if not place:
        raise OSError(f"set ${WORKSPACE} to the directory that extracted graphs go to")
    paddle = load_paddle()

    def wrap_or_decorate(target: Any) -> Any:
        if isinstance(target, paddle.nn.Layer):
            return _Extractor(target, name, Path(place), input_spec)
        if isinstance(target, type) and issubclass(target, paddle.nn.Layer):
            return lambda *args, **kwargs: wrap_or_decorate(target(*args, **kwargs))
        raise TypeError(
            f"extract takes a paddle.nn.Layer or a class of one, not {type(target).__name__}"
        )

    return wrap_or_decorate


class _Extractor:
    """Calls the model, and writes its graph the first time."""

    def __init__(
        self, model: Any, name: str, place: Path, input_spec: Sequence[Any] | None
    ) -> None:
        self.model, self.name, self.place, self.input_spec = model, name, place, input_spec
        self.written: Path | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.written is None:
            graph = capture(self.model, args, kwargs, self.name, self.input_spec)
            directory = _free(self.place / self.name)
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
    """The Graph of a ``paddle.nn.Layer``, called so, through dynamic-to-static translation."""
    paddle = load_paddle()
    kwargs = kwargs or {}
    static = _static_forward(paddle, model, input_spec)
    concrete, _ = static.get_concrete_program(*args, **kwargs)
    shapes: dict[str, tuple[int, ...]] = {}
    recipes = {}
    tensors = dict(_given(paddle, concrete, args, kwargs))
    tensors |= {tensor.name: tensor for tensor in concrete.parameters[0]}
    for known, tensor in tensors.items():
        if tensor._is_initialized():  # a recurrent layer has a state that never gets memory
            shapes[known] = tuple(int(size) for size in tensor.shape)
            recipes[known] = recipe_of_array(_array(tensor))
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
    """The model's ``forward`` translated; the model itself keeps the one it has."""
    forward = model.forward
    if hasattr(forward, "get_concrete_program"):
        return forward
    function = getattr(forward, "__func__", None)
    if function is None:
        raise GraphError("forward is no method of the model, so Paddle cannot translate it")
    spec = None if input_spec is None else list(input_spec)
    static = paddle.jit.to_static(function, input_spec=spec, full_graph=True)
    return static.__get__(model, type(model))


def _given(paddle: Any, concrete: Any, args: Any, kwargs: Any) -> list[tuple[str, Any]]:
    """The tensors of the call by the names the program gave them."""
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
    """A tensor's values for statistics; numpy has no bfloat16."""
    wide = tensor.astype("float32") if "float" in str(tensor.dtype) else tensor
    return wide.numpy()


def _free(path: Path) -> Path:
    """The path, or the first one with a number behind it that does not exist."""
    candidate, number = path, 1
    while candidate.exists():
        number += 1
        candidate = path.with_name(f"{path.name}_{number}")
    return candidate
