"""A Graph as the source of a ``model.py``, in the style of GraphNet's samples."""

from __future__ import annotations

from collections.abc import Sequence

from graph_net.formats.graphnet.signs import AUGMENTED, INFIX, PREFIX
from graph_net.formats.graphnet.source_layout import (
    INDENT,
    Brackets,
    Piece,
    flatten,
    format_dict,
    freeing_lines,
    keyword,
    layout,
    literal,
)
from graph_net.graph.errors import GraphError
from graph_net.graph.graph import Graph, Input, Node, Role, default_local
from graph_net.graph.spec import ScalarSpec
from graph_net.graph.targets import BUILTINS, is_overload
from graph_net.graph.values import (
    DictValue,
    Dtype,
    ListValue,
    Ref,
    RunDevice,
    Slice,
    TorchConstant,
    Value,
    refs,
)

_ALWAYS = frozenset({"self", "slice", "complex", *BUILTINS})
RESERVED = _ALWAYS | {"torch", "device", "inf", "operator", "math"}
"""Every name that a source may use itself; ``needed_names`` gives those that one source does."""


def model_source(graph: Graph, device: str = "cpu") -> str:
    """Return the text of ``model.py``: one class with one method that computes the graph."""
    emitter = _Emitter(graph, device)
    text = "\n".join(emitter.lines())
    imports = _imports(text)
    needed = _used_names(imports)
    for name in (*graph.index, *emitter.locals.values()):
        if name in needed:
            raise GraphError("the source uses this name itself; rename the value", node=name)
    return "\n\n".join(imports) + "\n\n\nclass GraphModule(torch.nn.Module):\n" + text + "\n"


def needed_names(graph: Graph, device: str = "cpu") -> frozenset[str]:
    """Return the names that the source of a graph uses itself."""
    return _used_names(_imports("\n".join(_Emitter(graph, device).lines())))


def _imports(text: str) -> list[str]:
    imports = ["import torch"]
    if "device(" in text:
        imports.append("from torch import device")
    if any(word in text for word in (" inf", "(inf", "[inf", "-inf", "=inf")):
        imports.append("from torch import inf")
    if "operator." in text:
        imports.append("import operator")
    if "math." in text:
        imports.append("import math")
    return imports


def _used_names(imports: Sequence[str]) -> frozenset[str]:
    return frozenset({*_ALWAYS, *(line.split()[-1] for line in imports)})


def annotation(entry: Input) -> str:
    """Return the annotation that Dynamo gives an argument."""
    if isinstance(entry.spec, ScalarSpec):
        return f"torch.Sym{entry.spec.kind.capitalize()}"
    return "torch.nn.parameter.Parameter" if entry.role is Role.PARAMETER else "torch.Tensor"


def _locals(graph: Graph) -> dict[str, str]:
    """Return a unique local name for each argument."""
    taken = set(graph.index)
    locals_: dict[str, str] = {}
    candidates = [(e.name, e.local) for e in graph.inputs if e.local is not None]
    candidates += [(e.name, default_local(e.name)) for e in graph.inputs]
    for name, local in candidates:
        if name not in locals_ and local not in taken:
            locals_[name] = local
            taken.add(local)
    return {entry.name: locals_.get(entry.name, entry.name) for entry in graph.inputs}


class _Emitter:
    def __init__(self, graph: Graph, device: str) -> None:
        self.graph = graph
        kind, _, index = device.partition(":")
        self.device_type = kind
        where = f", index={index or 0}" if kind == "cuda" or index else ""
        self.device = f'device(type="{kind}"{where})'
        self.locals = _locals(graph)
        self.last = self._last_uses()

    def _last_uses(self) -> dict[str, int]:
        last = {node.name: i for i, node in enumerate(self.graph.nodes)}
        for i, node in enumerate(self.graph.nodes):
            for ref in node.refs:
                last[ref.name] = i
        for ref in refs(self.graph.output):
            last[ref.name] = len(self.graph.nodes)
        return last

    def lines(self) -> list[str]:
        source = [f"{INDENT}def forward(", f"{INDENT * 2}self,"]
        for entry in self.graph.inputs:
            source.append(f"{INDENT * 2}{entry.name}: {annotation(entry)},")
        source.append(f"{INDENT}):")
        for entry in self.graph.inputs:
            if self.locals[entry.name] != entry.name:
                source += layout(f"{self.locals[entry.name]} = ", entry.name, 2)
        for i, node in enumerate(self.graph.nodes):
            source += self._statement(i, node)
            freed = dict.fromkeys(
                name
                for name in (node.name, *(ref.name for ref in node.refs))
                if self.last.get(name) == i
            )
            if freed:
                source += freeing_lines([self._name(n) for n in freed], INDENT * 2)
        return source + layout("return ", self._piece(self.graph.output), 2)

    def _statement(self, position: int, node: Node) -> list[str]:
        kind, _, function = node.target.partition(".")
        first = node.args[0] if node.args else None
        if kind == "operator" and isinstance(first, Ref) and not node.kwargs:
            owner = self._name(first.name)
            # After `x += y` x is the new value, so the old one must be dead.
            dead = self.last[first.name] == position and first not in refs(node.args[1:])
            if function in AUGMENTED and len(node.args) == 2 and dead:
                sign = f"{owner} {AUGMENTED[function]}= "
                lines = layout(sign, self._piece(node.args[1]), 2)
                return [*lines, f"{INDENT * 2}{node.name} = {owner}"]
            if function == "setitem" and len(node.args) == 3:
                item = f"{owner}[{flatten(self._piece(node.args[1]))}]"
                lines = layout(f"{item} = ", self._piece(node.args[2]), 2)
                return [*lines, f"{INDENT * 2}{node.name} = {owner}"]
        return layout(f"{node.name} = ", self._expression(node, kind, function), 2)

    def _expression(self, node: Node, kind: str, word: str) -> Piece:
        args = [self._piece(value) for value in node.args]
        texts = [flatten(piece) for piece in args]
        if kind == "operator" and not node.kwargs:
            if word in INFIX and len(args) == 2:
                return f"{self._operand(texts[0])} {INFIX[word]} {self._operand(texts[1])}"
            if word in PREFIX and len(args) == 1 and isinstance(node.args[0], Ref):
                return f"{PREFIX[word]}{texts[0]}"
            if word == "getitem" and len(args) == 2 and isinstance(node.args[0], Ref):
                return Brackets(f"{texts[0]}[", (args[1],), "]", subscript=True)
        if node.target == "builtins.getattr" and isinstance(node.args[0], Ref):
            return f"{texts[0]}.{node.args[1]}"
        keywords = [keyword(key, self._piece(value)) for key, value in node.kwargs]
        if node.target.startswith("method:") and args:
            owner = texts[0] if isinstance(node.args[0], Ref) else f"({texts[0]})"
            return Brackets(f"{owner}.{node.target[7:]}(", (*args[1:], *keywords), ")")
        if is_overload(node.target):
            function = f"torch.ops.{node.target}"
        else:
            function = node.target.removeprefix("builtins.")
        return Brackets(f"{function}(", (*args, *keywords), ")")

    def _operand(self, text: str) -> str:
        return f"({text})" if text.startswith("-") else text

    def _name(self, name: str) -> str:
        return self.locals.get(name, name)

    def _piece(self, value: Value) -> Piece:
        if isinstance(value, Ref):
            return self._name(value.name)
        if isinstance(value, RunDevice):
            return f'"{self.device_type}"' if value.as_text else self.device
        if isinstance(value, tuple):
            return Brackets("(", tuple(self._piece(item) for item in value), ")", one_comma=True)
        if isinstance(value, ListValue):
            return Brackets("[", tuple(self._piece(item) for item in value.items), "]")
        if isinstance(value, DictValue):
            return format_dict([(key, self._piece(item)) for key, item in value.items])
        if isinstance(value, Slice):
            parts = (value.start, value.stop, value.step)
            return Brackets("slice(", tuple(self._piece(part) for part in parts), ")")
        if isinstance(value, (Dtype, TorchConstant)):
            return f"torch.{value.name}"
        return literal(value)
