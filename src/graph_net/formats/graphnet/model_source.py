"""``model.py`` of a GraphNet sample, read by walking its syntax tree: nothing is executed."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from graph_net.formats.graphnet.expressions import ExpressionReader
from graph_net.formats.graphnet.parsing import parse, readable
from graph_net.formats.graphnet.signs import AUGMENTED_TREES
from graph_net.graph.batched import STAND_IN, internal_of
from graph_net.graph.devices import Args, Kwargs
from graph_net.graph.errors import GraphError, LimitExceeded
from graph_net.graph.graph import Node
from graph_net.graph.limits import GraphLimits
from graph_net.graph.values import Ref, Value


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of ``forward``: its name, its annotation, and its name in the body."""

    name: str
    annotation: str
    local: str | None


@dataclass(frozen=True, slots=True)
class Body:
    """The computation of ``forward``."""

    arguments: tuple[Argument, ...]
    nodes: tuple[Node, ...]
    output: Value
    internals: Mapping[str, str] = field(default_factory=dict)
    """Nodes that stand for calls of vmap's internals (``graph_net.graph.batched``)."""


def read_model(source: str, limits: GraphLimits) -> Body:
    """Return the body of the ``forward`` method in the source of a ``model.py``."""
    with readable("model.py"):
        return ModelReader(limits).read(parse(source, "model.py", limits))


class ModelReader(ExpressionReader):
    """Reads a module: its imports, the signature of ``forward``, its statements."""

    def __init__(self, limits: GraphLimits) -> None:
        super().__init__(limits)
        self.arguments: frozenset[str] = frozenset()
        self.locals: dict[str, str] = {}
        self.internals: dict[str, str] = {}
        """The vmap internals that nodes call, by the names of the nodes."""

    def read(self, module: ast.Module) -> Body:
        forward = self._forward(module)
        signature = forward.args
        if signature.vararg or signature.kwarg or signature.kwonlyargs:
            raise GraphError("forward takes * or keyword-only arguments", line=forward.lineno)
        if signature.defaults or not (signature.posonlyargs or signature.args):
            raise GraphError("forward has defaults, or no self", line=forward.lineno)
        arguments = [*signature.posonlyargs, *signature.args][1:]
        if len(arguments) > self.limits.inputs:
            raise LimitExceeded(f"{len(arguments)} arguments; {self.limits.inputs} are allowed")
        for argument in arguments:
            self.names[argument.arg] = Ref(argument.arg)
        self.taken.update(self.names)
        self.arguments = frozenset(self.names)
        output = self._body(forward.body)
        locals_ = self._lasting_locals()
        return Body(
            tuple(
                Argument(
                    argument.arg,
                    _dotted(argument.annotation) if argument.annotation else "",
                    locals_.get(argument.arg),
                )
                for argument in arguments
            ),
            tuple(self.nodes),
            output,
            self.internals,
        )

    def _forward(self, module: ast.Module) -> ast.FunctionDef:
        """Return the only method of the only class; code around it could change its meaning."""
        classes = []
        for statement in module.body:
            if isinstance(statement, ast.Import):
                for alias in statement.names:
                    top = alias.name.partition(".")[0]
                    self.imports[alias.asname or top] = alias.name if alias.asname else top
            elif isinstance(statement, ast.ImportFrom):
                for alias in statement.names:
                    self.imports[alias.asname or alias.name] = f"{statement.module}.{alias.name}"
            elif isinstance(statement, ast.ClassDef):
                classes.append(statement)
            elif not _is_docstring(statement):
                raise self.unreadable(statement)
        body = [item for item in classes[0].body if not _is_docstring(item)] if classes else []
        match body:
            case [ast.FunctionDef(name="forward", decorator_list=[]) as forward]:
                pass
            case [] | [ast.Pass()]:
                raise GraphError("model.py has no class with a forward method")
            case [_, other, *_] | [other]:
                raise GraphError("the class holds more than a plain forward", line=other.lineno)
        for extra in (*classes[0].decorator_list, *classes[1:]):
            raise self.unreadable(extra)
        return forward

    def _special_call(
        self, target: str, args: Args, kwargs: Kwargs, name: str | None, tree: ast.Call
    ) -> Value:
        internal = internal_of(target)
        if internal is None or kwargs:
            return super()._special_call(target, args, kwargs, name, tree)
        ref = self.node(STAND_IN, args, (), name or internal, tree)
        assert isinstance(ref, Ref)
        self.internals[ref.name] = internal
        return ref

    def _lasting_locals(self) -> dict[str, str]:
        """Return the local names of arguments, without those that also stand for another value."""
        uses = Counter(self.locals.values())
        return {
            name: local
            for name, local in self.locals.items()
            if uses[local] == 1 and local not in self.taken
        }

    def _body(self, statements: list[ast.stmt]) -> Value:
        skip = False
        for position, statement in enumerate(statements):
            if skip:
                skip = False
            elif isinstance(statement, ast.Assign):
                skip = self._assign(statement, statements, position)
            elif isinstance(statement, ast.AugAssign):
                follower = _alias_of(statements, position, statement.target)
                self._update(statement, follower)
                skip = follower is not None
            elif isinstance(statement, ast.Return):
                return None if statement.value is None else self.value(statement.value)
            elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
                target = statement.target
                named = target.id if isinstance(target, ast.Name) else None
                self._store(target, self.value(statement.value, named))
            elif isinstance(statement, ast.Expr):
                self.value(statement.value)
            elif not isinstance(statement, (ast.Pass, ast.Delete)):
                raise self.unreadable(statement)
        raise GraphError("forward returns nothing")

    def _assign(self, statement: ast.Assign, statements: list[ast.stmt], position: int) -> bool:
        """Read an assignment; return whether the next statement belongs to it."""
        value, target = statement.value, statement.targets[0]
        if isinstance(value, ast.Constant) and value.value is None:
            # FX frees a dead value this way; a later read would see None in Python too.
            for target in statement.targets:
                self._store(target, None)
        elif isinstance(target, ast.Name) and len(statement.targets) == 1:
            self.names[target.id] = self.value(value, target.id)
            if isinstance(value, ast.Name) and value.id in self.arguments:
                self.locals.setdefault(value.id, target.id)
        elif isinstance(target, ast.Subscript) and len(statement.targets) == 1:
            follower = _alias_of(statements, position, target.value)
            self._set_item(target, self.value(value), follower)
            return follower is not None
        else:
            result = self.value(value)
            for target in statement.targets:
                self._store(target, result)
        return False

    def _store(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            self.names[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            for position, part in enumerate(target.elts):
                if isinstance(part, ast.Starred):
                    raise self.unreadable(part)
                if isinstance(value, tuple):
                    if len(value) != len(target.elts):
                        raise GraphError("unpacks a tuple of another length", line=target.lineno)
                    item = value[position]
                else:
                    named = part.id if isinstance(part, ast.Name) else None
                    item = self.node("operator.getitem", (value, position), (), named, target)
                self._store(part, item)
        else:
            raise self.unreadable(target)

    def _set_item(self, target: ast.Subscript, value: Value, follower: str | None) -> None:
        container, index = self.value(target.value), self.value(target.slice)
        self.node("operator.setitem", (container, index, value), (), follower or "setitem", target)
        if follower is not None:
            self.names[follower] = container

    def _update(self, statement: ast.AugAssign, follower: str | None) -> None:
        function = AUGMENTED_TREES[type(statement.op)]
        target = statement.target
        args = self.value(target), self.value(statement.value)
        result = self.node(f"operator.{function}", args, (), follower or function, statement)
        if isinstance(target, ast.Name):
            self.names[target.id] = result
        elif isinstance(target, ast.Subscript):
            self._set_item(target, result, None)
        else:
            raise self.unreadable(target)
        if follower is not None:
            self.names[follower] = result


def _alias_of(statements: list[ast.stmt], position: int, target: ast.expr) -> str | None:
    """Return the name in ``name = target`` after an in-place statement, as FX writes it."""
    match target, statements[position + 1 : position + 2]:
        case (
            ast.Name(id=name),
            [ast.Assign(targets=[ast.Name(id=alias)], value=ast.Name(id=source))],
        ) if source == name:
            return alias
    return None


def _is_docstring(statement: ast.stmt) -> bool:
    """Return whether a statement is a docstring."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _dotted(tree: ast.expr) -> str:
    if isinstance(tree, ast.Attribute):
        return f"{_dotted(tree.value)}.{tree.attr}"
    if isinstance(tree, ast.Name):
        return tree.id
    return str(tree.value) if isinstance(tree, ast.Constant) else ""
