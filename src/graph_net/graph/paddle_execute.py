"""Execution of a level-``paddle`` Graph: tensors from recipes, calls one after another."""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from graph_net.graph.errors import GraphError, UnknownTarget
from graph_net.graph.graph import Graph, Input, Level, Node
from graph_net.graph.outputs import flat_outputs as flat_outputs
from graph_net.graph.outputs import last_uses
from graph_net.graph.paddle_needed import load_paddle
from graph_net.graph.paddle_targets import CPU, DETACH, OPS, check_paddle_target
from graph_net.graph.spec import TensorSpec
from graph_net.graph.values import DictValue, Dtype, ListValue, Ref, RunDevice, Value

_Maker = Callable[[Mapping[str, Any]], Any]


def run(graph: Graph, inputs: Sequence[Any] | None = None, *, seed: int = 0) -> Any:
    """Run a graph on Paddle's current device and return its outputs, nested as it returns them.

    ``inputs`` (positional, as ``make_inputs`` returns them) may be changed by graphs that mutate.
    Calls that draw random numbers start from ``seed``.
    """
    if graph.level is not Level.PADDLE:
        why = f"a graph of level {graph.level.value}; graph_net.graph.execute.run runs it"
        raise GraphError(why, field="level")
    paddle = load_paddle()
    values = make_inputs(graph, seed) if inputs is None else inputs
    if len(values) != len(graph.inputs):
        raise GraphError(f"{len(values)} inputs given; the graph takes {len(graph.inputs)}")
    state = paddle.get_rng_state()
    try:
        paddle.seed(seed)
        with paddle.no_grad():
            return prepare(graph)(values)
    finally:
        paddle.set_rng_state(state)


def prepare(graph: Graph) -> Callable[[Sequence[Any]], Any]:
    """Return a function that makes the graph's calls in whatever mode is in force.

    Everything possible is looked up beforehand, so that only the calls are timed, as in generated
    Python.
    """
    paddle = load_paddle()
    calls = [_prepare_call(node, paddle) for node in graph.nodes]
    releases = last_uses(graph)
    output = nest_outputs(graph)
    names = [entry.name for entry in graph.inputs]

    def call(inputs: Sequence[Any]) -> Any:
        values = dict(zip(names, inputs, strict=True))
        for node, make, release in zip(graph.nodes, calls, releases, strict=True):
            try:
                values[node.name] = make(values)
            except Exception as error:
                error.add_note(f"while running node {node.name}: {node.target}")
                raise
            for name in release:
                del values[name]
        return output(values)

    return call


def nest_outputs(graph: Graph) -> Callable[[Mapping[str, Any]], Any]:
    """Return a function that nests values, given by name, as the graph's output."""
    return _maker(graph.output, load_paddle(), False)


def _prepare_call(node: Node, paddle: Any) -> _Maker:
    is_operator = node.target.startswith(OPS)
    args = [_maker(value, paddle, is_operator) for value in node.args]
    kwargs = {key: _maker(value, paddle, is_operator) for key, value in node.kwargs}
    is_output = node.target == "operator.getitem"
    function = _output_of if is_output else resolve(node.target, paddle)

    def call(values: Mapping[str, Any]) -> Any:
        named = {key: make(values) for key, make in kwargs.items()}
        return function(*[make(values) for make in args], **named)

    return call


def _output_of(outputs: Any, position: int) -> Any:
    if not isinstance(outputs, (list, tuple)):
        # Eager calls omit outputs that only a backward pass reads, and return the first bare.
        outputs = (outputs,)
    return outputs[position] if position < len(outputs) else None


def resolve(target: str, paddle: Any) -> Callable[..., Any]:
    """Return the function that a target of the allow-list names."""
    check_paddle_target(target)
    if target == "builtins.getattr":
        return getattr
    if target == DETACH:
        return operator.methodcaller("detach")  # of tensors, and of a program's values
    root, *path = target.split(".")
    function: Any = operator if root == "operator" else paddle
    for part in path:
        function = getattr(function, part, None)
    if not callable(function):
        raise UnknownTarget(
            f"Paddle {paddle.__version__} has no {target!r}; the graph needs another version",
            field="target",
        )
    return function  # type: ignore[no-any-return]


def _maker(value: Value, paddle: Any, is_operator: bool) -> _Maker:
    """Return a function that builds an argument for Paddle from the values computed so far."""
    if isinstance(value, Ref):
        return operator.itemgetter(value.name)
    if isinstance(value, (tuple, ListValue)):
        items = value if isinstance(value, tuple) else value.items
        makers = [_maker(item, paddle, False) for item in items]
        kind = tuple if isinstance(value, tuple) else list
        return lambda values: kind([make(values) for make in makers])
    if isinstance(value, DictValue):
        pairs = [(key, _maker(item, paddle, False)) for key, item in value.items]
        return lambda values: {key: make(values) for key, make in pairs}
    plain = _plain(value, paddle, is_operator)
    return lambda values: plain


def _plain(value: Value, paddle: Any, is_operator: bool) -> Any:
    if isinstance(value, Dtype):
        return getattr(paddle, value.name)
    if isinstance(value, RunDevice):
        return paddle.framework._current_expected_place()
    if is_operator and value == CPU:
        return paddle.CPUPlace()
    return value


# -- inputs and outputs -----------------------------------------------------------------------


def make_inputs(graph: Graph, seed: int = 0) -> list[Any]:
    """Return fresh tensors for all inputs, in order; the values are the same on every machine."""
    return [_make_input(graph, entry, seed) for entry in graph.inputs]


def _make_input(graph: Graph, entry: Input, seed: int) -> Any:
    from graph_net.graph.tensors import draw

    paddle = load_paddle()
    if not isinstance(entry.spec, TensorSpec):
        raise GraphError("Paddle graphs take tensors only", node=entry.name, field="spec")
    sizes, dtype = entry.spec.sizes(graph.bindings), entry.spec.dtype
    # numpy lacks the short floats: they are drawn as float32, which rounds to the same values.
    short = dtype.startswith(("bfloat", "float8"))
    try:
        drawn = draw(entry.recipe, sizes, "float32" if short else dtype, name=entry.name, seed=seed)
    except ValueError as error:
        raise GraphError(str(error), node=entry.name, field="recipe") from error
    return paddle.to_tensor(drawn.numpy(), dtype=dtype)


def digest(outputs: Any) -> str:
    """Return a hash of all output values, bit for bit."""
    state = hashlib.sha256()
    for leaf in flat_outputs(outputs):
        if hasattr(leaf, "numpy"):
            state.update(f"{leaf.dtype}{tuple(leaf.shape)}".encode())
            state.update(leaf.numpy().tobytes())
        else:
            state.update(repr(leaf).encode())
    return state.hexdigest()
