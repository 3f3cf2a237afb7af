"""The writer of GraphNet sample directories, which GraphNet's own tools accept."""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

from graph_net.formats.graphnet.paddle_meta import paddle_metas
from graph_net.formats.graphnet.paddle_source import PADDLE_RESERVED, paddle_source
from graph_net.formats.graphnet.read import MARKER
from graph_net.formats.graphnet.rename import without_names
from graph_net.formats.graphnet.source import RESERVED, model_source, needed_names
from graph_net.formats.graphnet.source_layout import Piece, format_brackets, layout, literal, quote
from graph_net.graph.expr import Dim, Expr
from graph_net.graph.graph import Graph, Input, Level, Role, role_by_name
from graph_net.graph.json_codec import recipe_to_json
from graph_net.graph.recipe import (
    SHRINK,
    Bernoulli,
    Constant,
    Integers,
    Literal,
    Normal,
    Recipe,
    Uniform,
)
from graph_net.graph.spec import ScalarSpec, TensorSpec
from graph_net.graph.values import DictValue, ListValue, Value


def write_sample(graph: Graph, directory: Path | str, device: str = "cpu") -> None:
    """Write the six files (five for Paddle); a new directory appears complete or not at all.

    Inputs and calls whose names the source uses itself (``torch``, ``max``) are renamed. In an
    existing directory the files of the same name are replaced, the marker last; other files (such
    as subgraphs) stay.
    """
    directory = Path(directory)
    recorded = graph.provenance.option("graph_hash")
    graph = _rename_reserved(graph, device)
    files = _paddle_files(graph) if graph.level is Level.PADDLE else _files(graph, device)
    digest = sha256(files["model.py"].encode()).hexdigest()
    files["graph_hash.txt"] = recorded if isinstance(recorded, str) else digest
    files[MARKER] = json.dumps(_marker(graph), indent=4)
    aside = directory.with_name(f".{directory.name}.{os.getpid()}")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    try:
        for name, text in files.items():
            (aside / name).write_text(text, "utf-8")
        _move(aside, directory, files)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _move(aside: Path, directory: Path, names: Iterable[str]) -> None:
    """Move the files to their final names; the marker is last."""
    if not directory.is_dir():
        aside.rename(directory)
        return
    (directory / MARKER).unlink(missing_ok=True)
    for name in names:
        (aside / name).replace(directory / name)


def _rename_reserved(graph: Graph, device: str) -> Graph:
    if graph.level is Level.PADDLE:
        return without_names(graph, PADDLE_RESERVED)
    locals_ = {entry.local for entry in graph.inputs}
    if RESERVED.isdisjoint(graph.index) and RESERVED.isdisjoint(locals_):
        return graph  # the usual case, which generates the source once
    return without_names(graph, needed_names(graph, device))


def _files(graph: Graph, device: str) -> dict[str, str]:
    return {
        "model.py": model_source(graph, device),
        "weight_meta.py": _weight_meta(graph, device),
        "input_meta.py": "",
        "input_tensor_constraints.py": _constraints(graph),
    }


def _paddle_files(graph: Graph) -> dict[str, str]:
    """Return the files of a Paddle sample, which has no constraints and names no device."""
    weights, inputs = paddle_metas(graph)
    return {"model.py": paddle_source(graph), "weight_meta.py": weights, "input_meta.py": inputs}


# -- weight_meta.py ---------------------------------------------------------------------------


def _weight_meta(graph: Graph, device: str) -> str:
    return "\n\n\n".join("\n".join(_meta(graph, e, device)) for e in graph.inputs) + "\n"


def _meta(graph: Graph, entry: Input, device: str) -> list[str]:
    spec, recipe = entry.spec, entry.recipe
    dtype = spec.dtype if isinstance(spec, TensorSpec) else "int64"
    sizes = list(spec.sizes(graph.bindings)) if isinstance(spec, TensorSpec) else []
    mean, std = _statistics(recipe) if isinstance(spec, TensorSpec) else (None, None)
    lines = [f"class Program_weight_tensor_meta_{entry.name}:", f"    name = {quote(entry.name)}"]
    if entry.original is not None:
        lines.append(f"    original_name = {quote(entry.original)}")
    lines += [
        f"    shape = {sizes}",
        f'    dtype = "torch.{dtype}"',
        f"    device = {quote(device)}",
        f"    mean = {_number(mean)}",
        f"    std = {_number(std)}",
    ]
    if isinstance(recipe, (Normal, Uniform, Integers)):
        for key, value in (("min_val", recipe.low), ("max_val", recipe.high)):
            if value is not None:
                lines.append(f"    {key} = {_number(value)}")
    if isinstance(recipe, Literal):
        lines += layout("data = ", format_brackets([_number(v) for v in recipe.values]), 1)
    elif isinstance(recipe, Constant) and isinstance(spec, ScalarSpec):
        lines.append(f"    data = [{_number(recipe.value)}]")
    else:
        lines.append("    data = None")
    return lines + _extras(entry)


def _statistics(recipe: Recipe) -> tuple[float | None, float | None]:
    """Return mean and std for GraphNet's tools, which draw at a fifth of the std."""
    if isinstance(recipe, Normal):
        return recipe.mean, recipe.std
    if isinstance(recipe, Constant) and isinstance(recipe.value, float):
        return recipe.value, 0.0
    if isinstance(recipe, Uniform):
        return (recipe.low + recipe.high) / 2, (recipe.high - recipe.low) / math.sqrt(12) / SHRINK
    return None, None


def _extras(entry: Input) -> list[str]:
    """Return what GraphNet's fields cannot express; its tools ignore further attributes."""
    lines = []
    recipe, spec = entry.recipe, entry.spec
    if isinstance(spec, TensorSpec):
        floating = spec.dtype.startswith(("float", "bfloat", "complex", "q"))
        plain = (
            isinstance(recipe, Literal)
            or (isinstance(recipe, Normal) and floating)
            or (recipe == Bernoulli() and spec.dtype == "bool")
            or (isinstance(recipe, Integers) and not floating and spec.dtype != "bool")
        )
        if not plain:
            text = json.dumps(recipe_to_json(recipe), sort_keys=True)
            lines.append(f"    recipe = {quote(text)}")
        if spec.stride is not None:
            dims = ", ".join(_dim_literal(dim) for dim in spec.stride)
            lines.append(f"    stride = [{dims}]")
    if role_by_name(entry.name, entry.role is Role.PARAMETER) is not entry.role:
        lines.append(f'    role = "{entry.role.value}"')
    return lines


def _number(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if isinstance(value, complex):  # repr loses the sign of a zero, and has no infinities
        return f"complex({_number(value.real)}, {_number(value.imag)})"
    return literal(value)


def _dim_literal(dim: Dim) -> str:
    return quote(dim.text) if isinstance(dim, Expr) else str(dim)


# -- input_tensor_constraints.py --------------------------------------------------------------


def _constraints(graph: Graph) -> str:
    names = [symbol.name for symbol in graph.symbols]
    lines = ["from sympy import Symbol, Expr, Rel, Eq", ""]
    lines += [f'{name} = Symbol("{name}")' for name in names] + [""] * bool(names)
    prefix = "dynamic_dim_constraint_"
    lines += [f"{prefix}symbols = [{', '.join(names)}]", ""]
    examples = [f"{symbol.name}: {symbol.example}" for symbol in graph.symbols]
    lines += [*layout(f"{prefix}symbol2example_value = ", format_brackets(examples, "{}"), 0), ""]
    ranges = [
        f"{s.name}: ({s.low}, {s.high})"
        for s in graph.symbols
        if s.low is not None or s.high is not None
    ]
    if ranges:
        lines += [*layout(f"{prefix}symbol_ranges = ", format_brackets(ranges, "{}"), 0), ""]
    relations: list[Piece] = [constraint.text for constraint in graph.constraints]
    lines += [*layout(f"{prefix}relations = ", format_brackets(relations), 0), ""]
    shapes: list[Piece] = []
    for entry in sorted(graph.inputs, key=lambda e: e.name):
        dims = entry.spec.shape if isinstance(entry.spec, TensorSpec) else ()
        text = ", ".join(dim.text if isinstance(dim, Expr) else str(dim) for dim in dims)
        shapes.append(format_brackets([f"[{text}]", quote(entry.name)], "()"))
    return "\n".join([*lines, *layout(f"{prefix}input_shapes = ", format_brackets(shapes), 0), ""])


# -- graph_net.json ---------------------------------------------------------------------------


def _marker(graph: Graph) -> dict[str, Any]:
    origin = graph.provenance
    fields: dict[str, Any] = {
        "framework": "paddle" if graph.level is Level.PADDLE else origin.framework,
        "num_devices_required": 1,
        "num_nodes_required": 1,
        "model_name": origin.model,
    }
    texts = {
        "source": origin.library,
        "heuristic_tag": origin.category,
        "subcategory": origin.subcategory,
        "framework_version": origin.framework_version,
        "level": graph.level.value if graph.level is Level.ATEN else "",
    }
    fields |= {key: text for key, text in texts.items() if text}
    if origin.tags:
        fields["tags"] = list(origin.tags)
    fields |= {key: _plain(value) for key, value in origin.options if key != "graph_hash"}
    return fields


def _plain(value: Value) -> Any:
    if isinstance(value, (tuple, ListValue)):
        items = value if isinstance(value, tuple) else value.items
        return [_plain(item) for item in items]
    if isinstance(value, DictValue):
        return {key: _plain(item) for key, item in value.items}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)
