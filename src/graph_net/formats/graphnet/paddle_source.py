"""A level-``paddle`` Graph as the source of a ``model.py``, in the style of GraphNet's samples."""

from __future__ import annotations

from collections import defaultdict

from graph_net.formats.graphnet.paddle_meta import format_number
from graph_net.formats.graphnet.paddle_model import ALL
from graph_net.formats.graphnet.paddle_types import type_comment
from graph_net.formats.graphnet.signs import INFIX, PREFIX
from graph_net.formats.graphnet.source_layout import (
    INDENT,
    WIDTH,
    Piece,
    flatten,
    format_brackets,
    format_call,
    format_dict,
    keyword,
    layout,
    literal,
)
from graph_net.graph.errors import GraphError
from graph_net.graph.graph import Graph, Input, Node
from graph_net.graph.paddle_targets import CPU, DETACH, LIST, OPS, output_count
from graph_net.graph.spec import Result
from graph_net.graph.values import DictValue, Dtype, ListValue, Ref, RunDevice, Value, refs

PADDLE_RESERVED = frozenset(
    ["self", "paddle", "float", "isinstance", "list", "tuple", "out", "super"]
)
_GETITEM = "operator.getitem"


def paddle_source(graph: Graph) -> str:
    """Return the text of ``model.py``: one Layer with one method that computes the graph."""
    for name in graph.index:
        if name in PADDLE_RESERVED:
            raise GraphError("the source uses this name itself; rename the value", node=name)
    head = [
        "import paddle\n\n",
        "class GraphModule(paddle.nn.Layer):",
        f"{INDENT}def __init__(self):",
        f"{INDENT * 2}super().__init__()\n",
    ]
    return "\n".join([*head, *_PaddleEmitter(graph).lines(), ""])


class _PaddleEmitter:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.positions = {node.name: i for i, node in enumerate(graph.nodes)}
        self.outputs: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
        """The outputs of each unpacked value that are read: position and name."""
        self.read_whole = {ref.name for ref in refs(graph.output)}
        """Values that are read other than by unpacking."""
        self.last = dict(self.positions)
        for i, node in enumerate(graph.nodes):
            self._note_uses(i, node)
        for ref in refs(graph.output):
            self.last[ref.name] = len(graph.nodes)
        self.taken = set(graph.index)

    def _note_uses(self, i: int, node: Node) -> None:
        if node.target != _GETITEM:
            for ref in node.refs:
                self.read_whole.add(ref.name)
                self.last[ref.name] = i
            return
        match node.args:
            case (Ref(name), int(position)) if position >= 0 and name in self.positions:
                # Outputs are named in the statement of the call.
                self.outputs[name].append((position, node.name))
                self.last[node.name] = self.positions[name]
                self.last[name] = max(self.last[name], self.positions[name])
                return
        raise GraphError("a Paddle sample cannot index a value this way", node=node.name)

    def lines(self) -> list[str]:
        names = ["self", *(entry.name for entry in self.graph.inputs)]
        source = layout("def forward", format_brackets(names, "()"), 1)
        if len(source) > 1:  # Black puts each argument on its own line
            source = [source[0], *(f"{INDENT * 2}{name}," for name in names), source[-1]]
        source[-1] += ":"
        dying: defaultdict[int, list[str]] = defaultdict(list)
        for name, position in self.last.items():
            if not self._is_nameless(name):
                dying[position].append(name)
        for i, node in enumerate(self.graph.nodes):
            lines, spare = self._statement(node)
            if lines:
                dead = sorted([*dying[i], *spare])
                source += [*lines, *(_deletion_lines(dead) if dead else []), ""]
        return source + self._result()

    def _is_nameless(self, name: str) -> bool:
        """Return whether a call's outputs have names and the call itself has none."""
        if name not in self.outputs or name in self.read_whole:
            return False
        target = self.graph.nodes[self.positions[name]].target
        return target != _GETITEM and output_count(target) != LIST

    def _statement(self, node: Node) -> tuple[list[str], list[str]]:
        """Return the lines that compute a node, and the names they bind that nothing reads."""
        outputs = self.outputs.get(node.name)
        call = None if node.target == _GETITEM else self._expression(node)
        lines: list[str] = []
        if call is not None and not self._is_nameless(node.name):
            lines = [*self._comment(node, (node.result,)), *layout(f"{node.name} = ", call, 2)]
            call = node.name
        if not outputs:
            return lines, []
        names, spare, aliases = self._names(node, outputs)
        types = node.result if isinstance(node.result, tuple) else (None,)
        if call is None or call == node.name:
            lines += [""] * bool(lines) + self._comment(node, types, split=True)
            lines += _unpacking_lines(names, [], node.name)
        else:
            nothing = ", None" * (len(names) - 1) or ","
            unwrap = f"lambda out: out if isinstance(out, (list, tuple)) else (out{nothing})"
            lines += self._comment(node, types)
            lines += _unpacking_lines(names, [call, unwrap], "(lambda x, f: f(x))")
        return lines + [f"{INDENT * 2}{alias} = {name}" for alias, name in aliases], spare

    def _names(
        self, node: Node, outputs: list[tuple[int, str]]
    ) -> tuple[list[str], list[str], list[tuple[str, str]]]:
        """Return a name for every output, the names that nothing reads, and second names."""
        count = max(position for position, _ in outputs) + 1
        if isinstance(node.result, tuple):
            count = max(count, len(node.result))
        stem = node.name.removesuffix(ALL)
        names: list[str] = [""] * count
        aliases = []
        for position, name in outputs:
            if names[position]:
                aliases.append((name, names[position]))
            else:
                names[position] = name
        spare = []
        for position in range(count):
            if not names[position]:
                candidate = stem if position == 0 else f"{stem}_unused{position}"
                while candidate in self.taken:
                    candidate += "_"
                self.taken.add(candidate)
                names[position] = candidate
                spare.append(candidate)
        return names, spare, aliases

    def _comment(self, node: Node, results: tuple[Result, ...], split: bool = False) -> list[str]:
        entries = [self.graph.index[ref.name] for ref in node.refs]
        operands = [entry.spec if isinstance(entry, Input) else entry.result for entry in entries]
        operator = "share_data_" if node.target == DETACH else node.target.rpartition(".")[2]
        op = "builtin.split" if split else f"pd_op.{operator}"
        text = type_comment(op, results, (results,) if split else tuple(operands))
        return [] if text is None else [INDENT * 2 + text]

    def _result(self) -> list[str]:
        output = self.graph.output
        if isinstance(output, tuple) and len(output) > 1:
            line = ", ".join(flatten(self._piece(item)) for item in output)
            if len(line) + len(f"{INDENT * 2}return ") <= WIDTH:
                return [f"{INDENT * 2}return {line}"]
        return layout("return ", self._piece(output), 2)

    # -- expressions --------------------------------------------------------------------------

    def _expression(self, node: Node) -> Piece:
        is_operator = node.target.startswith(OPS)
        args = [self._piece(value, is_operator) for value in node.args]
        kind, _, function = node.target.partition(".")
        if kind == "operator" and not node.kwargs:
            if function in INFIX and len(args) == 2:
                return f"{_operand(args[0])} {INFIX[function]} {_operand(args[1])}"
            if function in PREFIX and len(args) == 1 and isinstance(node.args[0], Ref):
                return f"{PREFIX[function]}{flatten(args[0])}"
        if node.target == "builtins.getattr" and isinstance(node.args[0], Ref):
            return f"{flatten(args[0])}.{node.args[1]}"
        if node.target == DETACH and isinstance(next(iter(node.args), None), Ref):
            return f"{flatten(args[0])}.detach()"
        if kind != "paddle":
            raise GraphError(f"{node.target} cannot be written in a Paddle sample", node=node.name)
        keywords = [keyword(key, self._piece(value, is_operator)) for key, value in node.kwargs]
        return format_call(node.target, [*args, *keywords])

    def _piece(self, value: Value, is_operator: bool = False) -> Piece:
        if isinstance(value, Ref):
            return value.name
        if isinstance(value, RunDevice):
            return "paddle.framework._current_expected_place()"
        if is_operator and value == CPU:
            return "paddle.core.CPUPlace()"
        if isinstance(value, tuple):
            items = [self._piece(item) for item in value]
            return format_brackets(items, "()") if len(items) != 1 else f"({flatten(items[0])},)"
        if isinstance(value, ListValue):
            return format_brackets([self._piece(item) for item in value.items])
        if isinstance(value, DictValue):
            return format_dict([(key, self._piece(item)) for key, item in value.items])
        if isinstance(value, Dtype):
            return f"paddle.{value.name}"
        if isinstance(value, float):
            return format_number(value)
        if value is None or isinstance(value, (bool, int, str)):
            return literal(value)
        raise GraphError(f"a Paddle sample cannot spell a {type(value).__name__}")


def _operand(piece: Piece) -> str:
    text = flatten(piece)
    return f"({text})" if text.startswith("-") else text


def _unpacking_lines(names: list[str], parts: list[Piece], function: str) -> list[str]:
    """Return the lines of ``a, b = function(parts)``, or without parts ``a, b = function``."""
    head = f"{', '.join(names)}{',' * (len(names) == 1)} = "
    piece: Piece = format_call(function, parts) if parts else function
    if len(head) + len(function) + len(INDENT * 2) + 1 <= WIDTH:
        return layout(head, piece, 2)
    lines = layout(") = ", piece, 2)
    return [f"{INDENT * 2}(", *(f"{INDENT * 3}{name}," for name in names), *lines]


def _deletion_lines(names: list[str]) -> list[str]:
    line = f"{INDENT * 2}del {', '.join(names)}"
    if len(line) <= WIDTH:
        return [line]
    return [f"{INDENT * 2}del (", *(f"{INDENT * 3}{name}," for name in names), f"{INDENT * 2})"]
