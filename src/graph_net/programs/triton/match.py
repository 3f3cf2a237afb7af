"""Find in a graph the workloads that the kernels compute.

A match is a product, a convolution or an operator along rows, with as much of what follows as its
epilogue supports: a folded batch norm, a bias, a residual, an activation. Values between matched
calls have no other reader.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import prod

from graph_net.graph import Graph, ListValue, Node, Ref, TensorSpec, Value
from graph_net.graph.operators import Trait, names
from graph_net.graph.values import refs
from graph_net.programs.spaces.space import SpaceError
from graph_net.programs.triton.layers import Module, along
from graph_net.programs.triton.space import workload_of

Sizes = tuple[int, ...]
NO_OPERATIONS = names(Trait.NO_OP_IN_INFERENCE)


@dataclass(frozen=True)
class Match:
    """A workload, and the calls of the graph that it computes, in order."""

    module: Module
    nodes: tuple[str, ...]


@dataclass
class _Part:
    """A match under construction: its last call, and its epilogue so far."""

    nodes: list[Node]
    epilogue: list[str] = field(default_factory=list)

    @property
    def last(self) -> Node:
        return self.nodes[-1]


def find_matches(graph: Graph, dtype: str, batch: int = 1) -> Iterator[Match]:
    """Yield the workloads of a graph at another dtype and at ``batch`` times its batch size.

    ``dtype`` is one of the kernels'; every matched size that includes the batch is multiplied.
    """
    yield from _Matcher(graph, dtype, batch).matches()


class _Matcher:
    def __init__(self, graph: Graph, dtype: str, batch: int) -> None:
        self.graph, self.dtype, self.batch = graph, dtype, batch
        self.readers: dict[str, list[Node]] = defaultdict(list)
        for node in graph.nodes:
            for name in {ref.name for ref in node.refs}:
                self.readers[name].append(node)
        self.returned = {ref.name for ref in refs(graph.output)}
        self.taken: set[str] = set()

    def matches(self) -> Iterator[Match]:
        rules: dict[str, Callable[[Node], Iterator[tuple[_Part, Module]]]] = {
            "linear": self._linear, "addmm": self._addmm, "mm": self._matmul,
            "matmul": self._matmul, "bmm": self._matmul, "conv2d": self._convolution,
            "scaled_dot_product_attention": self._attention, "softmax": self._softmax,
            "layer_norm": self._layer_norm, "rms_norm": self._rms_norm,
            "pow": self._spelled_rms_norm, "mean": self._row_sum, "sum": self._row_sum,
            "adaptive_avg_pool2d": self._global_average,
        }  # fmt: skip
        for node in self.graph.nodes:
            rule = rules.get(_operator(node))
            if rule is None or node.name in self.taken:
                continue
            for part, module in rule(node):
                if _is_workload(module):
                    names = tuple(call.name for call in part.nodes)
                    self.taken.update(names)
                    yield Match(module, names)

    # Values and their shapes.

    def sizes(self, value: Value) -> Sizes:
        """Return the shape of a floating-point tensor; empty for anything else."""
        if not isinstance(value, Ref):
            return ()
        entry = self.graph.index[value.name]
        spec = entry.result if isinstance(entry, Node) else entry.spec
        if not isinstance(spec, TensorSpec) or "float" not in spec.dtype:
            return ()
        return spec.sizes(self.graph.bindings)

    def only_reader(self, node: Node) -> Node | None:
        """Return the only call that reads a result; None if there are more or it is returned."""
        readers = self.readers[node.name]
        return readers[0] if len(readers) == 1 and node.name not in self.returned else None

    # Products.

    def _linear(self, node: Node) -> Iterator[tuple[_Part, Module]]:
        left, right, bias = (*node.args, None)[:3]
        yield from self._product(node, self.sizes(left), self.sizes(right)[::-1], True, bias)

    def _addmm(self, node: Node) -> Iterator[tuple[_Part, Module]]:
        if len(node.args) != 3 or node.kwargs:
            return
        bias, left, right = node.args
        if len(self.sizes(bias)) == 1:
            transposed = self._is_transposed(right)
            yield from self._product(node, self.sizes(left), self.sizes(right), transposed, bias)

    def _matmul(self, node: Node) -> Iterator[tuple[_Part, Module]]:
        left, right = (self.sizes(value) for value in node.args[:2])
        yield from self._product(node, left, right, self._is_transposed(node.args[1]))

    def _product(
        self, node: Node, left: Sizes, right: Sizes, transposed: bool, bias: Value = None
    ) -> Iterator[tuple[_Part, Module]]:
        if len(left) < 2 or len(right) < 2 or left[-1] != right[-2]:
            return
        part = _Part([node], ["bias"] if bias is not None else [])
        if len(right) == 2:
            sizes = {"m": self.batch * prod(left[:-1]), "n": right[-1], "k": left[-1]}
            kernel = "matmul"
        elif left[:-2] == right[:-2]:
            sizes = {"b": self.batch * prod(left[:-2]), "m": left[-2], "n": right[-1]}
            kernel, sizes["k"] = "batched_matmul", left[-1]
        else:
            return
        self._add_epilogue(part)
        yield part, self._gemm(kernel, sizes, part, transposed=transposed)

    def _gemm(self, kernel: str, sizes: dict[str, int], part: _Part, **options: object) -> Module:
        epilogue = "_".join(part.epilogue) or "none"
        return {"kernel": kernel, **sizes, "dtype": self.dtype, "epilogue": epilogue, **options}

    def _is_transposed(self, value: Value) -> bool:
        """Return whether a matrix is the transpose of a tensor in memory."""
        assert isinstance(value, Ref)
        source = self.graph.index[value.name]
        if not isinstance(source, Node):
            return False
        rank, swapped = len(self.sizes(value)), source.args[1:3]
        if _operator(source) in ("t", "numpy_T", "mT"):
            return True
        numbers = [axis for axis in swapped if isinstance(axis, int)]
        last = {axis % rank for axis in numbers} == {rank - 1, rank - 2}
        return _operator(source) == "transpose" and last

    def _attention(self, node: Node) -> Iterator[tuple[_Part, Module]]:
        """Yield two products and a softmax: attention without fusion."""
        query, key, value = (self.sizes(argument) for argument in node.args[:3])
        if min(map(len, (query, key, value))) < 3:
            return
        heads, (rows, width), columns = self.batch * prod(query[:-2]), query[-2:], key[-2]
        part = _Part([node])
        scores = {"b": heads, "m": rows, "n": columns, "k": width}
        yield part, self._gemm("batched_matmul", scores, part, transposed=True)
        yield part, along("softmax", heads * rows, columns, self.dtype)
        mixed = {"b": heads, "m": rows, "n": value[-1], "k": columns}
        yield part, self._gemm("batched_matmul", mixed, part, transposed=False)

    def _convolution(self, node: Node) -> Iterator[tuple[_Part, Module]]:
        image, weight, bias, stride, pad, dilation, groups = _with_defaults(node)
        x, w = self.sizes(image), self.sizes(weight)
        stride, pad, dilation = _side(stride), _side(pad), _side(dilation)
        if len(x) != 4 or len(w) != 4 or groups != 1 or dilation != 1 or not stride or pad is None:
            return
        part = _Part([node], ["bias"] if bias is not None else [])
        self._fold_batch_norm(part)
        self._add_epilogue(part)
        names = ("n", "h", "w", "c", "k", "r", "s")
        sizes = dict(zip(names, (self.batch * x[0], *x[2:], x[1], w[0], *w[2:]), strict=True))
        yield part, self._gemm("convolution", sizes, part, stride=stride, pad=pad)

    # Epilogues.

    def _fold_batch_norm(self, part: _Part) -> None:
        follower = self.only_reader(part.last)
        if follower is not None and _operator(follower) == "batch_norm":
            training = follower.args[5] if len(follower.args) > 5 else False
            if training is False and follower.args[0] == Ref(part.last.name):
                part.nodes.append(follower)
                part.epilogue = ["bias"]

    def _add_epilogue(self, part: _Part) -> None:
        """Match a residual of the same shape, then an activation, if they follow."""
        self._pass_through(part)
        follower = self.only_reader(part.last)
        if follower is not None and self._is_residual(follower):
            part.nodes.append(follower)
            part.epilogue.append("add")
            self._pass_through(part)
            follower = self.only_reader(part.last)
        if follower is not None and (name := _activation(follower)):
            part.nodes.append(follower)
            part.epilogue.append(name)

    def _pass_through(self, part: _Part) -> None:
        while (follower := self.only_reader(part.last)) is not None:
            if _operator(follower) not in NO_OPERATIONS or follower.args[-1] is True:
                return
            part.nodes.append(follower)

    def _is_residual(self, node: Node) -> bool:
        if _operator(node) != "add" or node.kwargs or len(node.args) != 2:
            return False
        left, right = (self.sizes(value) for value in node.args)
        return bool(left) and left == right and node.args[0] != node.args[1]

    # Operators along rows.

    def _rows(self, kernel: str, shape: Sizes, columns: int) -> Module:
        return along(kernel, self.batch * prod(shape) // columns, columns, self.dtype)

    def _softmax(self, node: Node) -> Iterator[tuple[_Part, Module]]:
        shape = self.sizes(node.args[0])
        if shape and isinstance(node.args[1], int) and node.args[1] % len(shape) == len(shape) - 1:
            yield _Part([node]), self._rows("softmax", shape, shape[-1])

    def _layer_norm(self, node: Node) -> Iterator[tuple[_Part, Module]]:
        shape, parameters = self.sizes(node.args[0]), node.args[2:4]
        if shape and len(parameters) == 2 and None not in parameters:
            yield _Part([node]), self._rows("layer_norm", shape, _columns(node.args[1], shape))

    def _rms_norm(self, node: Node) -> Iterator[tuple[_Part, Module]]:
        shape = self.sizes(node.args[0])
        if shape and len(node.args) > 2 and node.args[2] is not None:
            yield _Part([node]), self._rows("rms_norm", shape, _columns(node.args[1], shape))

    def _spelled_rms_norm(self, node: Node) -> Iterator[tuple[_Part, Module]]:
        """Match ``weight * (x * rsqrt(mean(x ** 2, -1) + eps))``, as language models write it."""
        part, shape = _Part([node]), self.sizes(node.args[0])
        for expected in ("mean", "add", "rsqrt", "mul", "mul"):
            follower = self.only_reader(part.last)
            while follower is not None and _operator(follower) == "to":
                part.nodes.append(follower)
                follower = self.only_reader(part.last)
            if follower is None or _operator(follower) != expected:
                return
            part.nodes.append(follower)
        scaled = [self.sizes(value) for value in part.last.args[:2]]
        if node.args[1] == 2 and shape and shape[-1:] in scaled:
            yield part, self._rows("rms_norm", shape, shape[-1])

    def _row_sum(self, node: Node) -> Iterator[tuple[_Part, Module]]:
        shape, axes = self.sizes(node.args[0]), node.args[1] if len(node.args) > 1 else None
        if not shape or not isinstance(axes, ListValue):
            return
        summed = sorted(axis % len(shape) for axis in axes.items if isinstance(axis, int))
        if summed and summed == [*range(len(shape) - len(summed), len(shape))]:
            yield _Part([node]), self._rows("row_sum", shape, prod(shape[summed[0] :]))

    def _global_average(self, node: Node) -> Iterator[tuple[_Part, Module]]:
        shape = self.sizes(node.args[0])
        if len(shape) == 4 and _side(node.args[1]) == 1:
            yield _Part([node]), self._rows("row_sum", shape, prod(shape[2:]))


def _operator(node: Node) -> str:
    """Return the name of an ATen operator without overload and in-place suffix."""
    words = node.target.split(".")
    return words[1].rstrip("_") if words[0] == "aten" and len(words) == 3 else ""


def _activation(node: Node) -> str:
    """Return the kernels' name of an activation; empty if they do not have it."""
    name = _operator(node)
    if name == "hardtanh" and node.args[1:] == (0.0, 6.0):
        return "relu6"
    plain = len(node.args) == 1 and dict(node.kwargs).get("approximate", "none") == "none"
    return name if name in ("relu", "relu6", "gelu", "silu") and plain else ""


def _with_defaults(node: Node) -> tuple[Value, ...]:
    """Return the seven arguments of a convolution, with defaults filled in."""
    defaults: tuple[Value, ...] = (None, None, None, 1, 0, 1, 1)
    return (*node.args, *defaults[len(node.args) :])


def _side(value: Value) -> int | None:
    """Return the number of a square stride, padding or size; None if it is not square."""
    numbers = value.items if isinstance(value, ListValue) else (value,)
    first = numbers[0]
    return first if isinstance(first, int) and set(numbers) == {first} else None


def _columns(normalized: Value, shape: Sizes) -> int:
    count = len(normalized.items) if isinstance(normalized, ListValue) else 1
    return prod(shape[-count:])


def _is_workload(module: Module) -> bool:
    try:
        workload_of(module)
    except SpaceError:
        return False
    return True
