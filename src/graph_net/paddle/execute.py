"""Running a level-``paddle`` Graph: its tensors made from recipes, its calls made one by one."""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from graph_net.graph.errors import GraphError, UnknownTarget
from graph_net.graph.graph import Graph, Input, Level, Node
from graph_net.graph.outputs import flat_outputs as flat_outputs
from graph_net.graph.paddle_targets import CPU, OPS, check_paddle_target
from graph_net.graph.spec import TensorSpec
from graph_net.graph.values import DictValue, Dtype, ListValue, Ref, RunDevice, Value, refs
from graph_net.paddle.needed import load_paddle


def run(graph: Graph, inputs: Sequence[Any] | None = None, *, seed: int = 0) -> Any:
    """The graph's outputs, nested as it returns them, on Paddle's current device.

    ``inputs`` (positional, as ``make_inputs`` gives them) may be changed by graphs that mutate.
    Calls that draw random numbers start from ``seed``.
    """
    if graph.level is not Level.PADDLE:
        why = f"a graph of level {graph.level.value}; graph_net.graph.execute.run runs it"
        raise GraphError(why, field="level")
    paddle = load_paddle()
    given = make_inputs(graph, seed) if inputs is None else inputs
    if len(given) != len(graph.inputs):
        raise GraphError(f"{len(given)} values for {len(graph.inputs)} inputs")
    values: dict[str, Any] = {
        entry.name: value for entry, value in zip(graph.inputs, given, strict=True)
    }
    state = paddle.get_rng_state()
    try:
        paddle.seed(seed)
        with paddle.no_grad():
            return _interpret(graph, values, paddle)
    finally:
        paddle.set_rng_state(state)


def _interpret(graph: Graph, values: dict[str, Any], paddle: Any) -> Any:
    kept = {ref.name for ref in refs(graph.output)}
    released: list[list[str]] = [[] for _ in graph.nodes]
    for position in range(len(graph.nodes) - 1, -1, -1):
        node = graph.nodes[position]
        for name in (node.name, *(ref.name for ref in node.refs)):
            if name not in kept:
                kept.add(name)
                released[position].append(name)
    for node, release in zip(graph.nodes, released, strict=True):
        try:
            values[node.name] = _call(node, values, paddle)
        except GraphError:
            raise
        except Exception as error:
            error.add_note(f"while running node {node.name}: {node.target}")
            raise
        for name in release:
            del values[name]
    return _to_python(graph.output, values, paddle, False)


def _call(node: Node, values: Mapping[str, Any], paddle: Any) -> Any:
    is_operator = node.target.startswith(OPS)
    args = [_to_python(value, values, paddle, is_operator) for value in node.args]
    kwargs = {key: _to_python(value, values, paddle, is_operator) for key, value in node.kwargs}
    if node.target == "operator.getitem":
        outputs, position = args
        if not isinstance(outputs, (list, tuple)):
            # Eager calls leave out what only a backward pass reads; what is left is the first.
            outputs = (outputs,)
        return outputs[position] if position < len(outputs) else None
    return resolve(node.target, paddle)(*args, **kwargs)


def resolve(target: str, paddle: Any) -> Callable[..., Any]:
    """What a target of the allow-list names."""
    check_paddle_target(target)
    if target == "builtins.getattr":
        return getattr
    root, *path = target.split(".")
    found: Any = operator if root == "operator" else paddle
    for part in path:
        found = getattr(found, part, None)
    if not callable(found):
        raise UnknownTarget(
            f"Paddle {paddle.__version__} has no {target!r}; the graph needs another version",
            field="target",
        )
    return found  # type: ignore[no-any-return]


def _to_python(value: Value, values: Mapping[str, Any], paddle: Any, is_operator: bool) -> Any:
    if isinstance(value, Ref):
        return values[value.name]
    if isinstance(value, (tuple, ListValue)):
        items = value if isinstance(value, tuple) else value.items
        made = [_to_python(item, values, paddle, False) for item in items]
        return tuple(made) if isinstance(value, tuple) else made
    if isinstance(value, DictValue):
        return {key: _to_python(item, values, paddle, False) for key, item in value.items}
    if isinstance(value, Dtype):
        return getattr(paddle, value.name)
    if isinstance(value, RunDevice):
        return paddle.framework._current_expected_place()
    if is_operator and value == CPU:
        return paddle.CPUPlace()
    return value


# -- inputs and outputs -----------------------------------------------------------------------


def make_inputs(graph: Graph, seed: int = 0) -> list[Any]:
    """Fresh tensors for every input, in order; the same values each time and everywhere."""
    return [_make_input(graph, entry, seed) for entry in graph.inputs]


def _make_input(graph: Graph, entry: Input, seed: int) -> Any:
    from graph_net.graph.tensors import draw

    paddle = load_paddle()
    if not isinstance(entry.spec, TensorSpec):
        raise GraphError("Paddle graphs take tensors only", node=entry.name, field="spec")
    sizes, dtype = entry.spec.sizes(graph.bindings), entry.spec.dtype
    # numpy lacks the short floats: they are drawn wide, which rounds to the same values.
    short = dtype.startswith(("bfloat", "float8"))
    try:
        drawn = draw(entry.recipe, sizes, "float32" if short else dtype, name=entry.name, seed=seed)
    except ValueError as error:
        raise GraphError(str(error), node=entry.name, field="recipe") from error
    return paddle.to_tensor(drawn.numpy(), dtype=dtype)


def digest(outputs: Any) -> str:
    """A hash of all output values, bit for bit."""
    state = hashlib.sha256()
    for leaf in flat_outputs(outputs):
        if hasattr(leaf, "numpy"):
            array = leaf.numpy()
            state.update(f"{leaf.dtype}{tuple(leaf.shape)}".encode())
            state.update(array.tobytes())
        else:
            state.update(repr(leaf).encode())
    return state.hexdigest()
