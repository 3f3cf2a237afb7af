"""``model.py`` of a Paddle sample, read by walking its syntax tree: nothing is executed.

Its ``forward`` differs from a torch sample's. An argument that Paddle takes as a tensor of sizes is
a list with a name, every float is spelled ``float("1e-05")``, dead values are deleted, and a call
with several outputs is wrapped in a pair of lambdas, because the eager interface omits outputs that
only the backward pass reads::

    a, b = (lambda x, f: f(x))(
        paddle._C_ops.dropout(...),
        lambda out: out if isinstance(out, (list, tuple)) else (out, None),
    )

Only these lambdas are read, as one call whose outputs ``operator.getitem`` selects.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from graph_net.formats.graphnet.meta_source import float_of
from graph_net.formats.graphnet.model_source import Body, ModelReader
from graph_net.formats.graphnet.paddle_types import results_in
from graph_net.formats.graphnet.parsing import parse, readable
from graph_net.graph.devices import Args, Kwargs
from graph_net.graph.errors import GraphError
from graph_net.graph.limits import GraphLimits
from graph_net.graph.paddle_targets import ATTRIBUTES, CPU, DETACH, OPS, check_paddle_target
from graph_net.graph.spec import Result
from graph_net.graph.values import DTYPES, Dtype, ListValue, Ref, RunDevice, Value

ALL = "_all"
"""Appended to the name of a call's first output, it names the call itself."""
_HEAD = "class _(paddle.nn.Layer):\n def __init__(self):\n  super().__init__()"
_APPLY = "lambda x, f: f(x)"
_UNWRAP = "lambda out: out if isinstance(out, (list, tuple)) else 0"
_CPU_PLACES = ("paddle.core.CPUPlace", "paddle.CPUPlace")
_RUN_PLACE = "paddle.framework._current_expected_place"


def read_paddle_model(source: str, limits: GraphLimits) -> Body:
    """Return the body of the ``forward`` method in the source of a Paddle ``model.py``."""
    with readable("model.py"):
        return _PaddleReader(limits, source).read(parse(source, "model.py", limits))


class _PaddleReader(ModelReader):
    def __init__(self, limits: GraphLimits, source: str) -> None:
        super().__init__(limits)
        self.lines = source.splitlines()
        self.read_names: set[str] = set()
        self.positions: dict[str, int] = {}
        for kind in (ast.Subscript, ast.Slice):
            del self.expressions[kind]

    def _forward(self, module: ast.Module) -> ast.FunctionDef:
        """Return the method ``forward`` after the usual ``__init__``; refuse anything else."""
        match module.body:
            case [
                ast.Import(names=[ast.alias(name="paddle", asname=None)]),
                ast.ClassDef(
                    body=[
                        ast.FunctionDef(name="__init__") as init,
                        ast.FunctionDef(name="forward", decorator_list=[]) as forward,
                    ]
                ) as model,
            ] if _parses_to(_HEAD, _only_init(model, init)):
                self.imports["paddle"] = "paddle"
                for tree in ast.walk(forward):
                    if isinstance(tree, ast.Name) and isinstance(tree.ctx, ast.Load):
                        self.read_names.add(tree.id)
                return forward
        raise GraphError(
            "model.py holds more, or less, than `import paddle` and a class of a plain "
            "paddle.nn.Layer with the usual __init__ and a forward method"
        )

    # -- statements ---------------------------------------------------------------------------

    def _assign(self, statement: ast.Assign, statements: list[ast.stmt], position: int) -> bool:
        if len(statement.targets) != 1:
            raise self.unreadable(statement)
        target = statement.targets[0]
        above = statement.lineno - 2
        results = results_in(self.lines[above]) if 0 <= above < len(self.lines) else None
        if isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(statement.value, target.elts, results)
        elif isinstance(target, ast.Name):
            before = len(self.nodes)
            value = self.names[target.id] = self.value(statement.value, target.id)
            is_new = len(self.nodes) > before
            if results and len(results) == 1 and is_new and isinstance(value, Ref):
                self._learn(value, results[0])
        else:
            raise self.unreadable(target)
        return False

    def _learn(self, value: Ref, result: Result) -> None:
        """Record a comment's type of a call, unless its result is known already."""
        position = self.positions.get(value.name)
        if position is not None and self.nodes[position].result is None:
            self.nodes[position] = replace(self.nodes[position], result=result)

    def _unpack(
        self, tree: ast.expr, targets: list[ast.expr], types: tuple[Result, ...] | None
    ) -> None:
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        if len(names) != len(targets):
            raise self.unreadable(targets[0])
        # `rnn` has one output fewer in eager mode: samples append it with `+ (None,)`.
        missing = 0
        if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Add):
            extra = tree.right.elts if isinstance(tree.right, ast.Tuple) else []
            if not extra or not _all_none(extra):
                raise self.unreadable(tree)
            tree, missing = tree.left, len(extra)
        call = self._wrapped_call(tree)
        if isinstance(tree, ast.Tuple) and len(tree.elts) == len(names):
            pairs = zip(tree.elts, names, strict=True)
            value: Value = tuple([self.value(item, name) for item, name in pairs])
        else:
            value = self.value(tree) if call is None else self.value(call, f"{names[0]}{ALL}")
        items = value.items if isinstance(value, ListValue) else value
        if isinstance(items, tuple):
            if len(items) + missing != len(names):
                raise GraphError("unpacks a tuple of another length", line=tree.lineno)
            self.names.update(zip(names, (*items, *[None] * missing), strict=True))
            return
        if not isinstance(value, Ref):
            raise self.unreadable(tree)
        count = len(names) - missing
        results = types[:count] if types and len(types) == len(names) else (None,) * count
        self._learn(value, results)
        for position, (name, result) in enumerate(zip(names, results, strict=False)):
            self.names[name] = None
            if name in self.read_names:
                output = self.node("operator.getitem", (value, position), (), name, tree)
                self.names[name] = output
                if isinstance(output, Ref):
                    self._learn(output, result)
        self.names.update(dict.fromkeys(names[count:]))

    def _wrapped_call(self, tree: ast.expr) -> ast.expr | None:
        """Return the call inside the two lambdas around a call with several outputs."""
        match tree:
            case ast.Call(
                func=ast.Lambda() as apply,
                args=[call, ast.Lambda(body=ast.IfExp(orelse=ast.Tuple(elts=rest)) as choice) as f],
                keywords=[],
            ):
                choice.orelse = ast.Constant(0)
                first = bool(rest) and _parses_to("out", rest[0]) and _all_none(rest[1:])
                if first and _parses_to(_APPLY, apply) and _parses_to(_UNWRAP, f):
                    return call
                raise self.unreadable(tree)
        return None

    # -- expressions --------------------------------------------------------------------------

    def _named_constant(self, path: str, tree: ast.expr) -> Value:
        owner, _, name = path.rpartition(".")
        if owner == "paddle" and name in DTYPES:
            return Dtype(name)
        raise GraphError(f"unknown name {path[:120]!r}", line=tree.lineno)

    def _attribute(self, tree: ast.Attribute, name: str | None) -> Value:
        if self._path(tree) is None and tree.attr not in ATTRIBUTES:
            raise GraphError(f"reads the attribute {tree.attr!r}", line=tree.lineno)
        return super()._attribute(tree, name)

    def _call(self, tree: ast.Call, name: str | None) -> Value:
        path = self._path(tree.func)
        if path is None:
            return self._detach(tree, name)
        if path == "float":
            match tree:
                case ast.Call(args=[ast.Constant(value=str(text))], keywords=[]):
                    return float_of(text, tree.lineno)
            raise self.unreadable(tree)
        if path == _RUN_PLACE and not (tree.args or tree.keywords):
            return RunDevice()
        check_paddle_target(path, line=tree.lineno)
        args = tuple([self._argument(path, argument) for argument in tree.args])
        keywords = [self._keyword(keyword) for keyword in tree.keywords]
        kwargs = tuple([(key, self._argument(path, value)) for key, value in keywords])
        return self.node(path, args, kwargs, name, tree)

    def _detach(self, tree: ast.Call, name: str | None) -> Value:
        """Read ``x.detach()`` of a tensor, the only method that samples call."""
        match tree:
            case ast.Call(func=ast.Attribute(value=owner, attr="detach"), args=[], keywords=[]):
                value = self.value(owner)
                if isinstance(value, Ref):
                    return self.node(DETACH, (value,), (), name, tree)
        raise self.unreadable(tree)

    def _argument(self, target: str, tree: ast.expr) -> Value:
        match tree:
            case ast.Call(func=function, args=[], keywords=[]) if target.startswith(OPS):
                if self._path(function) in _CPU_PLACES:
                    return CPU
        return self.value(tree)

    def node(
        self, target: str, args: Args, kwargs: Kwargs, name: str | None, tree: ast.expr | ast.stmt
    ) -> Value:
        ref = super().node(target, args, kwargs, name, tree)
        if isinstance(ref, Ref):
            self.positions[ref.name] = len(self.nodes) - 1
        return ref


def _all_none(trees: list[ast.expr]) -> bool:
    return all(isinstance(tree, ast.Constant) and tree.value is None for tree in trees)


def _only_init(model: ast.ClassDef, init: ast.FunctionDef) -> ast.ClassDef:
    """Return the class with nothing but its ``__init__``, under the name it is compared by."""
    return ast.ClassDef("_", model.bases, model.keywords, [init], model.decorator_list)


def _parses_to(source: str, tree: ast.AST) -> bool:
    """Return whether this source parses to a tree."""
    pattern: ast.AST = ast.parse(source).body[0]
    if isinstance(pattern, ast.Expr):
        pattern = pattern.value
    return ast.dump(pattern) == ast.dump(tree)
