"""Convert a PIR program of Paddle's dynamic-to-static translation to a Graph of level ``paddle``.

The operations are visited in order. Constants that Paddle feeds as tensors of sizes become lists,
``builtin.combine`` becomes a list of references, and an operation with several results becomes a
call and, for each result that is read, an ``operator.getitem``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from graph_net.formats.graphnet.paddle_model import ALL
from graph_net.graph import Graph, Input, Level, ListValue, Node, Provenance, Ref, Role
from graph_net.graph.errors import GraphError
from graph_net.graph.paddle_targets import (
    CPU,
    DETACH,
    OPS,
    is_paddle_target,
    output_count,
    signature,
)
from graph_net.graph.recipe import Recipe, Uniform
from graph_net.graph.spec import Result, TensorSpec
from graph_net.graph.values import DTYPES, DictValue, Dtype, RunDevice, Value, plain_float, refs

_EAGER_NAMES = {"batch_norm_": "batch_norm"}
"""Operations whose eager function has another name."""
_METHODS = {"share_data_": DETACH}
"""Operations that are methods of eager tensors."""
_IGNORED = frozenset(["builtin.shadow_output", "pd_op.fetch", "builtin.set_parameter"])


def graph_of(
    program: Any,
    outputs: Any,
    shapes: Mapping[str, tuple[int, ...]],
    recipes: Mapping[str, Recipe],
    provenance: Provenance,
) -> Graph:
    """Return the Graph of a program's first block.

    ``outputs`` holds the program's values, nested as the model returns them; ``shapes`` and
    ``recipes`` hold what is known of the parameters and inputs, by their names in the program.
    """
    reader = _ProgramReader(shapes, recipes)
    for operation in program.global_block().ops:
        reader.operation(operation)
    output = reader.output(outputs)
    return Graph(
        inputs=tuple(reader.parameters + reader.data),
        nodes=tuple(reader.used_nodes(output)),
        output=output,
        level=Level.PADDLE,
        provenance=provenance,
    )


class _ProgramReader:
    def __init__(
        self, shapes: Mapping[str, tuple[int, ...]], recipes: Mapping[str, Recipe]
    ) -> None:
        self.shapes, self.recipes = shapes, recipes
        self.parameters: list[Input] = []
        self.data: list[Input] = []
        self.nodes: list[Node] = []
        self.values: dict[Any, Value] = {}
        self.numbers: Counter[str] = Counter()
        self.outputs: set[str] = set()

    # -- operations ---------------------------------------------------------------------------

    def operation(self, operation: Any) -> None:
        kind = operation.name()
        if operation.num_regions():
            raise GraphError(
                f"{kind} runs one part of the program or another as values decide; "
                "a graph of values cannot hold it",
                field="target",
            )
        match kind:
            case "builtin.parameter":
                self._parameter(operation)
            case "pd_op.data":
                self._data(operation)
            case "pd_op.full_int_array":
                numbers = operation.attrs()["value"]
                self._bind(operation, (ListValue(tuple(int(n) for n in numbers)),))
            case "builtin.combine":
                self._bind(operation, (ListValue(tuple(self._operands(operation))),))
            case "builtin.split":
                self._split(operation)
            case "builtin.slice":
                source = operation.operand_source(0)
                self._bind(operation, (self._item(source, int(operation.attrs()["index"])),))
            case _ if kind not in _IGNORED:
                self._call(operation, kind)

    def _parameter(self, operation: Any) -> None:
        attributes = operation.attrs()
        trained = any(attributes.get("trainable") or [True])
        name = f"parameter_{len(self.parameters)}"
        role = Role.PARAMETER if trained else Role.BUFFER
        self.parameters.append(self._input(name, operation, attributes["parameter_name"], role))

    def _data(self, operation: Any) -> None:
        name = f"data_{len(self.data)}"
        self.data.append(self._input(name, operation, operation.attrs()["name"], Role.INPUT))

    def _input(self, name: str, operation: Any, original: str, role: Role) -> Input:
        result = operation.result(0)
        shape = self.shapes.get(original, tuple(result.shape))
        if any(size < 0 for size in shape):
            raise GraphError("the program leaves its size open", node=original, field="shape")
        self.values[result.id] = Ref(name)
        recipe = self.recipes.get(original, Uniform(0.0, 1.0))
        return Input(name, TensorSpec(shape, _dtype(result)), recipe, role, None, original)

    def _split(self, operation: Any) -> None:
        source = operation.operand_source(0)
        count = operation.num_results()
        self._bind(operation, tuple(self._item(source, i) for i in range(count)))

    def _item(self, source: Any, position: int) -> Value:
        """Return one tensor of a list of them."""
        whole = self.values[source.id]
        if isinstance(whole, ListValue):
            return whole.items[position]
        listed = source.type().as_vec_type()
        spec = _spec(listed.as_list()[position]) if listed is not None else None
        return self._node(self._name("split"), "operator.getitem", (whole, position), spec)

    def _call(self, operation: Any, kind: str) -> None:
        dialect, _, name = kind.partition(".")
        target = _METHODS.get(name) or f"{OPS}{_EAGER_NAMES.get(name, name)}"
        if dialect != "pd_op" or not is_paddle_target(target):
            raise GraphError(f"the program holds {kind}, which no graph may call", field="target")
        args = self._arguments(operation, target)
        results = [_spec(result.type()) for result in operation.results()]
        count = output_count(target)
        if 1 < count < len(results):
            results = results[:count]
        names = [self._name(name) for _ in results]
        if len(results) == 1:
            self._bind(operation, (self._node(names[0], target, args, results[0]),))
            return
        call = self._node(f"{names[0]}{ALL}", target, args, tuple(results))
        self._bind(
            operation,
            tuple(
                self._node(names[i], "operator.getitem", (call, i), results[i])
                for i in range(count)
            ),
        )

    def _arguments(self, operation: Any, target: str) -> tuple[Value, ...]:
        """Return operands and attributes in the order of the eager function's arguments."""
        operands = dict(zip(operation.get_input_names(), self._operands(operation), strict=True))
        attributes = operation.attrs()
        args: list[Value] = []
        for name in signature(target):
            if name in operands:
                args.append(operands[name])
            elif name in attributes:
                args.append(_attribute(attributes[name]))
            else:
                raise GraphError(f"{target} takes {name!r}, which the program does not give")
        return tuple(args)

    # -- values -------------------------------------------------------------------------------

    def _operands(self, operation: Any) -> list[Value]:
        operands: list[Value] = []
        for value in operation.operands_source():
            if value.initialized() and value.id not in self.values:
                why = f"{operation.name()} reads an output that eager calls do not give"
                raise GraphError(why, field="args")
            operands.append(self.values[value.id] if value.initialized() else None)
        return operands

    def _bind(self, operation: Any, values: tuple[Value, ...]) -> None:
        # Outputs without a value here are those that eager calls leave out.
        for result, value in zip(operation.results(), values, strict=False):
            self.values[result.id] = value

    def _node(self, name: str, target: str, args: tuple[Value, ...], result: Result) -> Ref:
        self.nodes.append(Node(name, target, args, (), result))
        return Ref(name)

    def _name(self, base: str) -> str:
        self.numbers[base] += 1
        return f"{base}_{self.numbers[base] - 1}"

    def output(self, tree: Any) -> Value:
        """Return the model's outputs, nested as it returns them."""
        if isinstance(tree, (list, tuple)):
            items = tuple(self.output(item) for item in tree)
            return ListValue(items) if isinstance(tree, list) else items
        if isinstance(tree, dict):
            return DictValue(tuple((str(key), self.output(item)) for key, item in tree.items()))
        if tree is None or isinstance(tree, (bool, int, float, str)):
            return tree
        if hasattr(tree, "initialized"):
            return self.values[tree.id]
        raise GraphError(f"the model returns a {type(tree).__name__}", field="output")

    def used_nodes(self, output: Value) -> list[Node]:
        """Return all calls, without the outputs of calls that nothing reads."""
        read = {ref.name for ref in refs(output)}
        used = []
        for node in reversed(self.nodes):
            if node.target != "operator.getitem" or node.name in read:
                used.append(node)
                read.update(ref.name for ref in node.refs)
        return used[::-1]


def _dtype(value: Any) -> str:
    name = str(value.dtype).rpartition(".")[2]
    if name not in DTYPES:
        raise GraphError(f"a tensor of dtype {name}", field="dtype")
    return name


def _spec(kind: Any) -> Result:
    """Return the specification of a PIR type; None if a size is open."""
    listed = kind.as_vec_type()
    if listed is not None:
        return tuple(_spec(item) for item in listed.as_list())
    try:
        dtype = str(kind.dtype).rpartition(".")[2].lower()
        shape = tuple(int(size) for size in kind.shape)
    except (AttributeError, RuntimeError, ValueError):
        return None
    return TensorSpec(shape, dtype) if dtype in DTYPES and min(shape, default=0) >= 0 else None


def _attribute(value: Any) -> Value:
    """Return an attribute of an operation as an argument of its eager function."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return plain_float(value)
    if isinstance(value, (list, tuple)):
        return ListValue(tuple(_attribute(item) for item in value))
    kind = type(value).__name__
    if kind in ("DataType", "VarType"):
        name = str(value.name).lower()
        return Dtype(name) if name in DTYPES else None
    if kind.endswith("Place"):
        return CPU if str(value) == "Place(cpu)" else RunDevice()
    raise GraphError(f"an attribute of type {kind}", field="args")
