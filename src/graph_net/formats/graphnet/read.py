"""The reader of GraphNet sample directories, by parsing alone."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from graph_net.formats.graphnet.constraints_source import Constraints, read_constraints
from graph_net.formats.graphnet.meta_source import (
    Meta,
    dtype_of,
    read_meta,
    recipe_of,
    scalar_of,
    shape_of,
    stride_of,
)
from graph_net.formats.graphnet.model_source import Argument, read_model
from graph_net.formats.graphnet.paddle_meta import paddle_input
from graph_net.formats.graphnet.paddle_model import read_paddle_model
from graph_net.graph.batched import Batched
from graph_net.graph.checks import check_sizes
from graph_net.graph.errors import GraphError, LimitExceeded
from graph_net.graph.expr import Dim, Expr, dim_value
from graph_net.graph.graph import Graph, Input, Level, Provenance, Role, default_local, role_by_name
from graph_net.graph.limits import DEFAULT_LIMITS, GraphLimits
from graph_net.graph.recipe import Recipe
from graph_net.graph.spec import ScalarSpec, TensorSpec
from graph_net.graph.values import DictValue, ListValue, Value, plain_float
from graph_net.printable import is_utf8, printable
from graph_net.store.files import open_regular

MARKER = "graph_net.json"
"""Written last, so its presence marks a complete sample."""
_ROLES = [role.value for role in Role]


def read_sample(directory: Path | str, limits: GraphLimits = DEFAULT_LIMITS) -> Graph:
    """Return the Graph of a sample directory; GraphError names the unreadable file and line."""
    graph = read_parts(directory, limits)
    if isinstance(graph, Batched):
        raise GraphError(
            "holds regions under vmap, which must be traced; graph_net.corpus.open_sample does that"
        )
    return graph


def read_parts(directory: Path | str, limits: GraphLimits = DEFAULT_LIMITS) -> Graph | Batched:
    """Return the Graph of a sample directory, or what must be traced to become one."""
    directory = Path(directory)
    if not is_utf8(directory.name):  # the default name of the model
        raise GraphError(f"the name {printable(directory.name)} is not UTF-8; rename the directory")
    read = partial(_read_text, limits=limits)
    with _collector_paused():
        source = read(directory / "model.py", required=True)
        level, provenance = _origin(directory, limits, source)
        paddle = level is Level.PADDLE
        body = (read_paddle_model if paddle else read_model)(source, limits)
        weights = read_meta(read(directory / "weight_meta.py"), "weight_meta.py", limits)
        metas = weights | read_meta(read(directory / "input_meta.py"), "input_meta.py", limits)
        rules = read_constraints(read(directory / "input_tensor_constraints.py"), limits)
        specs: dict[tuple[Any, ...], TensorSpec] = {}
        if paddle:
            names = [argument.name for argument in body.arguments]
            inputs = tuple([paddle_input(n, metas.get(n), n in weights, limits) for n in names])
        else:
            inputs = tuple(_input(a, metas, rules, limits, specs) for a in body.arguments)
        graph = Graph(
            inputs=inputs,
            nodes=body.nodes,
            output=body.output,
            level=level,
            symbols=rules.symbols,
            constraints=rules.relations,
            provenance=provenance,
        )
        check_sizes(graph, limits)
        return Batched(graph, body.internals) if body.internals else graph


def find_samples(root: Path | str) -> Iterator[Path]:
    """Yield every sample directory at or below a directory, in sorted order."""
    root = Path(root)
    if (root / "model.py").is_file():
        yield root
        return
    # A hidden directory is one that a killed writer left unfinished.
    for directory in sorted(path.parent for path in root.rglob("model.py")):
        if not any(part.startswith(".") for part in directory.relative_to(root).parts):
            yield directory


@contextmanager
def _collector_paused() -> Iterator[None]:
    # A syntax tree is many small objects that all live until the end: collecting garbage
    # among them costs a third of the reading time and frees nothing.
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _read_text(path: Path, limits: GraphLimits, required: bool = False) -> str:
    try:
        with open_regular(path) as file:
            data = file.read(limits.bytes + 1)
    except FileNotFoundError:
        if required:
            raise GraphError(f"{path.name} is missing: not a sample directory") from None
        return ""
    except OSError as error:
        raise GraphError(f"{path.name} cannot be read: {error.strerror}") from error
    if len(data) > limits.bytes:
        raise LimitExceeded(f"{path.name} is larger than {limits.bytes} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise GraphError(f"{path.name} is not UTF-8 text") from error


def _input(
    argument: Argument,
    metas: dict[str, Meta],
    rules: Constraints,
    limits: GraphLimits,
    specs: dict[tuple[Any, ...], TensorSpec],
) -> Input:
    name = argument.name
    meta = metas.get(name)
    if meta is None:
        raise GraphError("weight_meta.py does not describe this argument", node=name)
    local = argument.local if argument.local != default_local(name) else None
    role = role_by_name(name, argument.annotation.endswith("Parameter"))
    if meta.get("role") in _ROLES:
        role = Role(meta["role"])
    original = meta.get("original_name")
    original = original if isinstance(original, str) else None
    if argument.annotation.endswith(("SymInt", "SymFloat", "SymBool")):
        value = scalar_of(meta)
        kind = argument.annotation.rpartition("Sym")[2].lower()
        return Input(name, ScalarSpec(kind), value, role, local, original)
    try:
        spec, recipe = _tensor(meta, rules.shapes.get(name), rules, limits, specs)
    except GraphError as error:
        if error.node is not None:
            raise
        raise type(error)(error.reason, node=name, field=error.field, line=error.line) from error
    return Input(name, spec, recipe, role, local, original)


def _tensor(
    meta: Meta,
    symbolic: tuple[Dim, ...] | None,
    rules: Constraints,
    limits: GraphLimits,
    specs: dict[tuple[Any, ...], TensorSpec],
) -> tuple[TensorSpec, Recipe]:
    sizes = shape_of(meta)
    shape: tuple[Dim, ...] = sizes
    dtype = dtype_of(meta)
    recipe = recipe_of(meta, dtype, sizes, limits)
    if symbolic is not None and any(isinstance(dim, Expr) for dim in symbolic):
        bindings = {symbol.name: symbol.example for symbol in rules.symbols}
        if tuple(dim_value(dim, bindings) for dim in symbolic) == shape:
            shape = symbolic
    key = (shape, dtype)
    spec = specs.get(key)
    if spec is None:
        spec = specs[key] = TensorSpec(shape, dtype)
    if "stride" in meta:
        spec = TensorSpec(shape, dtype, stride_of(meta))
    return spec, recipe


# Fields that are the same in every sample.
_CONSTANT_FIELDS = {"num_devices_required": 1, "num_nodes_required": 1}


def _origin(directory: Path, limits: GraphLimits, source: str) -> tuple[Level, Provenance]:
    text = _read_text(directory / MARKER, limits)
    try:
        fields = json.loads(text or "{}")
    except (ValueError, RecursionError) as error:
        raise GraphError(f"{MARKER} is not JSON: {error}") from error
    if not isinstance(fields, dict):
        raise GraphError(f"{MARKER} is not a JSON object")

    def take(*keys: str) -> str:
        texts = [fields.pop(key, None) for key in keys]
        return next((text for text in texts if isinstance(text, str) and text), "")

    framework = take("framework") or _framework_of(source)
    if framework not in ("torch", "paddle"):
        why = f"a {framework[:40]} sample; only torch and paddle samples can be read"
        raise GraphError(why, field="framework")
    for key, value in _CONSTANT_FIELDS.items():
        if fields.get(key) == value:
            del fields[key]
    level = take("level") or framework
    if level not in (("torch", "aten") if framework == "torch" else ("paddle",)):
        raise GraphError(f"unknown level {level[:40]!r}", field="level")
    tags = fields.pop("tags", [])
    graph_hash = _read_text(directory / "graph_hash.txt", limits).strip()
    if graph_hash and graph_hash != sha256(source.encode()).hexdigest():
        fields["graph_hash"] = graph_hash
    return Level(level), Provenance(
        library=take("source"),
        model=take("model_name") or directory.name,
        category=take("heuristic_tag", "tag"),
        subcategory=take("subcategory"),
        tags=tuple(t for t in tags if isinstance(t, str)) if isinstance(tags, list) else (),
        framework=framework,
        framework_version=take("framework_version"),
        options=tuple((str(key), _freeze(value)) for key, value in fields.items()),
    )


def _framework_of(source: str) -> str:
    """Return the framework of a sample whose marker does not name one (older samples)."""
    return "paddle" if source.lstrip().startswith("import paddle") else "torch"


def _freeze(value: Any, depth: int = 8) -> Value:
    if depth == 0:
        raise GraphError(f"{MARKER} is nested too deeply")
    if isinstance(value, list):
        return ListValue(tuple(_freeze(item, depth - 1) for item in value))
    if isinstance(value, dict):
        return DictValue(tuple((str(k), _freeze(v, depth - 1)) for k, v in sorted(value.items())))
    return plain_float(value) if isinstance(value, float) else value
