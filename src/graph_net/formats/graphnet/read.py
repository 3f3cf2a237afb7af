"""A GraphNet sample directory in, a level-``torch`` Graph out, by parsing alone."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from contextlib import contextmanager
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
)
from graph_net.formats.graphnet.model_source import Argument, read_model
from graph_net.graph.errors import GraphError, LimitExceeded
from graph_net.graph.expr import Dim, Expr, dim_value
from graph_net.graph.graph import Graph, Input, Level, Provenance, Role, default_local
from graph_net.graph.limits import DEFAULT_LIMITS, Limits
from graph_net.graph.spec import ScalarSpec, TensorSpec
from graph_net.graph.values import ListValue, Value, plain_float

MARKER = "graph_net.json"
"""Written last, so its presence marks a complete sample."""


def read_sample(directory: Path | str, limits: Limits = DEFAULT_LIMITS) -> Graph:
    """The Graph of a sample directory; GraphError says which file and line cannot be read."""
    directory = Path(directory)
    with _collector_paused():
        body = read_model(_text(directory / "model.py", limits, required=True), limits)
        metas = read_meta(_text(directory / "weight_meta.py", limits), "weight_meta.py", limits)
        metas |= read_meta(_text(directory / "input_meta.py", limits), "input_meta.py", limits)
        rules = read_constraints(_text(directory / "input_tensor_constraints.py", limits))
        specs: dict[tuple[Any, ...], TensorSpec] = {}
        inputs = tuple(_input(a, metas, rules, limits, specs) for a in body.arguments)
        return Graph(
            inputs=inputs,
            nodes=body.nodes,
            output=body.output,
            level=Level.TORCH,
            symbols=rules.symbols,
            constraints=rules.relations,
            provenance=_provenance(directory, limits),
        )


def find_samples(root: Path | str) -> Iterator[Path]:
    """Every sample directory at or below a directory, in sorted order."""
    root = Path(root)
    if (root / "model.py").is_file():
        yield root
        return
    yield from sorted(path.parent for path in root.rglob("model.py"))


@contextmanager
def _collector_paused() -> Iterator[None]:
    # A syntax tree is many small objects that all live until the end: collecting among them
    # costs a third of the reading time and frees nothing.
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _text(path: Path, limits: Limits, required: bool = False) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(limits.bytes + 1)
    except FileNotFoundError:
        if required:
            raise GraphError(f"{path.name} is missing: this is no sample directory") from None
        return ""
    except OSError as error:
        raise GraphError(f"{path.name} cannot be read: {error.strerror}") from error
    if len(data) > limits.bytes:
        raise LimitExceeded(f"{path.name} is larger than {limits.bytes} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise GraphError(f"{path.name} is not UTF-8 text") from error


def role_of(name: str, annotation: str = "") -> Role:
    """What an argument is, from Dynamo's naming and annotation."""
    if annotation.endswith("Parameter") or "_parameters_" in name:
        return Role.PARAMETER
    if "_buffers_" in name:
        return Role.BUFFER
    return Role.INPUT


def _input(
    argument: Argument,
    metas: dict[str, Meta],
    rules: Constraints,
    limits: Limits,
    specs: dict[tuple[Any, ...], TensorSpec],
) -> Input:
    name = argument.name
    meta = metas.get(name)
    if meta is None:
        raise GraphError("weight_meta.py does not describe this argument", node=name)
    local = argument.local if argument.local != default_local(name) else None
    original = meta.get("original_name")
    original = original if isinstance(original, str) else None
    if argument.annotation.endswith(("SymInt", "SymFloat", "SymBool")):
        value = scalar_of(meta)
        kind = "int" if argument.annotation.endswith("SymInt") else "float"
        return Input(name, ScalarSpec(kind), value, Role.INPUT, local, original)
    shape: tuple[Dim, ...] = shape_of(meta)
    dtype = dtype_of(meta)
    recipe = recipe_of(meta, dtype, shape, limits)  # type: ignore[arg-type]
    symbolic = rules.shapes.get(name)
    if symbolic is not None and any(isinstance(dim, Expr) for dim in symbolic):
        bindings = {symbol.name: symbol.example for symbol in rules.symbols}
        if tuple(dim_value(dim, bindings) for dim in symbolic) == shape:
            shape = symbolic
    key = (shape, dtype)
    spec = specs.get(key)
    if spec is None:
        spec = specs[key] = TensorSpec(shape, dtype)
    return Input(name, spec, recipe, role_of(name, argument.annotation), local, original)


def _provenance(directory: Path, limits: Limits) -> Provenance:
    try:
        fields = json.loads(_text(directory / MARKER, limits) or "{}")
    except (ValueError, RecursionError) as error:
        raise GraphError(f"{MARKER} is not JSON: {error}") from error
    if not isinstance(fields, dict):
        raise GraphError(f"{MARKER} is no JSON object")
    graph_hash = _text(directory / "graph_hash.txt", limits).strip()
    options = {str(key): _frozen(value) for key, value in fields.items()}
    if graph_hash:
        options["graph_hash"] = graph_hash

    def take(key: str) -> str:
        value = options.pop(key, None)
        return value if isinstance(value, str) else ""

    category = take("heuristic_tag")
    return Provenance(
        library=take("source"),
        model=take("model_name") or directory.name,
        category=category or take("tag"),
        framework=take("framework") or "torch",
        framework_version=take("framework_version"),
        options=tuple(sorted(options.items())),
    )


def _frozen(value: Any, depth: int = 8) -> Value:
    if depth == 0:
        raise GraphError(f"{MARKER} is nested too deeply")
    if isinstance(value, list):
        return ListValue(tuple(_frozen(item, depth - 1) for item in value))
    if isinstance(value, dict):
        from graph_net.graph.values import DictValue

        return DictValue(tuple((str(k), _frozen(v, depth - 1)) for k, v in sorted(value.items())))
    return plain_float(value) if isinstance(value, float) else value  # type: ignore[no-any-return]
