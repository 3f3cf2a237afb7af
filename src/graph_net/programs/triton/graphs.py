"""A workload's computation as a Graph of ATen calls, so that its hashes match other graphs.

Calls are written as in captured networks, and inputs are in the order of first use: a linear layer
here has the structure of one cut from a network.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from graph_net.graph import Graph, Input, Level, ListValue, Node, Normal, Ref, Role, TensorSpec
from graph_net.graph import Value as Argument
from graph_net.programs.spaces.space import SpaceError
from graph_net.programs.triton.convolution import Convolution
from graph_net.programs.triton.family import Family
from graph_net.programs.triton.gemm import Gemm
from graph_net.programs.triton.matmul import Matmul
from graph_net.programs.triton.rowwise import Rowwise

EPSILON = 1e-5
ACTIVATIONS: dict[str, tuple[str, tuple[Argument, ...]]] = {
    "relu": ("aten.relu.default", ()),
    "relu6": ("aten.hardtanh.default", (0.0, 6.0)),
    "gelu": ("aten.gelu.default", ()),
    "silu": ("aten.silu.default", ()),
}
PARAMETERS = frozenset({"w", "weight", "bias"})


@dataclass
class _Calls:
    """A graph under construction."""

    family: Family
    inputs: list[Input] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)

    def read(self, name: str, shape: tuple[int, ...], parameter: bool = False) -> Ref:
        """Add an input of the family's dtype."""
        dtype = "float32" if self.family.dtype == "tf32" else self.family.dtype
        role = Role.PARAMETER if parameter or name in PARAMETERS else Role.INPUT
        spec = TensorSpec(shape, dtype, _channels_last(shape) if len(shape) == 4 else None)
        self.inputs.append(Input(name, spec, Normal(0.0, 1.0), role))
        return Ref(name)

    def call(self, target: str, *arguments: Argument) -> Ref:
        """Add a call of an operator; the node is named after it."""
        name = f"{target.split('.')[1]}_{len(self.nodes)}"
        self.nodes.append(Node(name, target, arguments))
        return Ref(name)


def graph_of(family: Family) -> Graph:
    """Return the graph that a family's programs compute."""
    calls = _Calls(family)
    match family:
        case Matmul():
            result = _product(calls, family)
        case Convolution():
            result = _convolved(calls, family)
        case Rowwise():
            result = _along(calls, family)
        case _:
            raise SpaceError(f"no graph of {type(family).__name__}")
    return Graph(tuple(calls.inputs), tuple(calls.nodes), (result,), Level.ATEN)


def _channels_last(shape: tuple[int, ...]) -> tuple[int, ...]:
    _, channels, height, width = shape
    return channels * height * width, 1, width * channels, channels


def _product(calls: _Calls, family: Matmul) -> Ref:
    m, n, k, batch = family.m, family.n, family.k, family.batch
    transposed = bool(family.module["transposed"])
    if transposed and batch == 1:
        arguments = [calls.read("a", (m, k)), calls.read("b", (n, k), parameter=True)]
        if family.epilogue.bias:
            arguments.append(calls.read("bias", (n,)))
        return _finished(calls, family, calls.call("aten.linear.default", *arguments), (m, n))
    right: Ref
    if transposed:
        right = calls.call("aten.transpose.int", calls.read("b", (batch, n, k)), 1, 2)
        left = calls.read("a", (batch, m, k))
    else:
        left, right = calls.read("a", (batch, m, k)), calls.read("b", (batch, k, n))
    product = calls.call("aten.bmm.default", left, right)
    if family.epilogue.bias:
        product = calls.call("aten.add.Tensor", product, calls.read("bias", (n,)))
    return _finished(calls, family, product, (batch, m, n))


def _convolved(calls: _Calls, family: Convolution) -> Ref:
    module = family.module
    arguments: list[Argument] = [
        calls.read("x", (module["n"], module["c"], module["h"], module["w"])),
        calls.read("w", (module["k"], module["c"], module["r"], module["s"])),
        calls.read("bias", (module["k"],)) if family.epilogue.bias else None,
        ListValue((module["stride"],) * 2),
        ListValue((module["pad"],) * 2),
    ]
    defaults: list[Argument] = [None, ListValue((1, 1)), ListValue((0, 0))]
    while defaults and arguments[-1] == defaults.pop():
        arguments.pop()  # trailing defaults are omitted
    shape = (module["n"], module["k"], family.p, family.q)
    return _finished(calls, family, calls.call("aten.conv2d.default", *arguments), shape)


def _finished(calls: _Calls, family: Gemm, result: Ref, shape: tuple[int, ...]) -> Ref:
    """Add the rest of an epilogue: ``x + layer(x)``, but ``relu(layer(x) + x)`` as in ResNets."""
    activation = family.epilogue.activation
    if family.epilogue.add:
        added = calls.read("added", shape)
        pair = (result, added) if activation else (added, result)
        result = calls.call("aten.add.Tensor", *pair)
    if not activation:
        return result
    target, bounds = ACTIVATIONS[activation]
    return calls.call(target, result, *bounds)


def _along(calls: _Calls, family: Rowwise) -> Ref:
    rows, columns = family.size
    x = calls.read("x", (rows, columns))
    match family.kernel:
        case "softmax":
            return calls.call("aten.softmax.int", x, -1)
        case "row_sum":
            return calls.call("aten.sum.dim_IntList", x, ListValue((-1,)))
    sizes, weight = ListValue((columns,)), calls.read("weight", (columns,))
    if family.kernel == "rms_norm":
        return calls.call("aten.rms_norm.default", x, sizes, weight, EPSILON)
    bias = calls.read("bias", (columns,))
    return calls.call("aten.layer_norm.default", x, sizes, weight, bias, EPSILON, False)
