"""``weight_meta.py`` and ``input_meta.py`` of Paddle samples, read and written.

They differ from a torch sample's: dtypes have no prefix, the classes are named after the tensor
(``Program_weight_tensor_parameter_0``), weights and inputs are in two files, and a float tensor
without statistics is drawn uniformly from ``min_val`` (0) to ``max_val`` (2), in older samples from
``low`` to ``high``.
"""

from __future__ import annotations

import json
from typing import Any

from graph_net.formats.graphnet.meta_source import Meta, dtype_of, recipe_of, shape_of, stride_of
from graph_net.formats.graphnet.source_layout import format_brackets, layout, quote
from graph_net.graph.errors import GraphError
from graph_net.graph.graph import Graph, Input, Role
from graph_net.graph.json_codec import recipe_to_json
from graph_net.graph.limits import GraphLimits
from graph_net.graph.recipe import Bernoulli, Integers, Literal, Normal, Recipe, Uniform
from graph_net.graph.spec import TensorSpec

DEFAULT_RANGE = (0, 2)
"""The range that GraphNet draws from if a sample records none."""
WEIGHTS = (Role.PARAMETER, Role.BUFFER)
"""The roles that ``weight_meta.py`` describes."""


def paddle_input(name: str, meta: Meta | None, is_weight: bool, limits: GraphLimits) -> Input:
    """Return one argument of a Paddle sample, from the class that describes it."""
    if meta is None:
        why = "neither weight_meta.py nor input_meta.py describes this argument"
        raise GraphError(why, node=name)
    if isinstance(meta.get("shape"), list):  # an open size is drawn as 1
        meta = meta | {"shape": [1 if size is None else size for size in meta["shape"]]}
    sizes, dtype = shape_of(meta), dtype_of(meta)
    recipe = _recipe(meta, dtype, sizes, limits)
    stride = stride_of(meta) if "stride" in meta else None
    role = Role.PARAMETER if is_weight else Role.INPUT
    if meta.get("role") in [known.value for known in Role]:
        role = Role(meta["role"])
    original = meta.get("original_name")
    original = original if isinstance(original, str) else None
    return Input(name, TensorSpec(sizes, dtype, stride), recipe, role, None, original)


def _recipe(meta: Meta, dtype: str, shape: tuple[int, ...], limits: GraphLimits) -> Recipe:
    floating = dtype.startswith(("float", "bfloat", "complex"))
    explicit = "recipe" in meta or meta.get("data") is not None
    statistics = floating and None not in (meta.get("mean"), meta.get("std"))
    if explicit or dtype == "bool" or statistics:
        return recipe_of(meta, dtype, shape, limits)
    low: Any = meta.get("min_val", meta.get("low", DEFAULT_RANGE[0]))
    high: Any = meta.get("max_val", meta.get("high", DEFAULT_RANGE[1]))
    try:
        return Uniform(float(low), float(high)) if floating else Integers(int(low), int(high))
    except (TypeError, ValueError, OverflowError) as error:
        raise GraphError(str(error), node=meta["name"], field="recipe") from error


def paddle_metas(graph: Graph) -> tuple[str, str]:
    """Return the texts of ``weight_meta.py`` and ``input_meta.py``."""
    texts = ["\n".join(_meta(graph, entry)) + "\n" for entry in graph.inputs]
    weights = [entry.role in WEIGHTS for entry in graph.inputs]
    pairs = list(zip(texts, weights, strict=True))
    return (
        "\n\n".join(text for text, weight in pairs if weight),
        "\n\n".join(text for text, weight in pairs if not weight),
    )


def _meta(graph: Graph, entry: Input) -> list[str]:
    if not isinstance(entry.spec, TensorSpec):
        raise GraphError("a Paddle sample takes only tensors", node=entry.name, field="spec")
    spec, recipe = entry.spec, entry.recipe
    lines = [f"class Program_weight_tensor_{entry.name}:", f"    name = {quote(entry.name)}"]
    if entry.original is not None:
        lines.append(f"    original_name = {quote(entry.original)}")
    lines += [f"    shape = {list(spec.sizes(graph.bindings))}", f'    dtype = "{spec.dtype}"']
    if isinstance(recipe, (Normal, Uniform, Integers)):
        fields: list[tuple[str, Any]] = [("min_val", recipe.low), ("max_val", recipe.high)]
        if isinstance(recipe, Normal):
            fields += [("mean", recipe.mean), ("std", recipe.std)]
        recorded = [(key, value) for key, value in fields if value is not None]
        lines += [f"    {key} = {format_number(value)}" for key, value in recorded]
    if isinstance(recipe, Literal):
        lines += layout("data = ", format_brackets([_literal(value) for value in recipe.values]), 1)
    else:
        lines.append("    data = None")
    if not _is_plain(entry.recipe, spec.dtype):
        text = json.dumps(recipe_to_json(recipe), sort_keys=True)
        lines.append(f"    recipe = {quote(text)}")
    if spec.stride is not None:
        lines.append(f"    stride = {list(spec.strides(graph.bindings) or ())}")
    if entry.role not in (Role.PARAMETER, Role.INPUT):  # the file implies these two
        lines.append(f'    role = "{entry.role.value}"')
    return lines


def _is_plain(recipe: Recipe, dtype: str) -> bool:
    """Return whether GraphNet's own fields read back as this recipe."""
    floating = dtype.startswith(("float", "bfloat", "complex"))
    if isinstance(recipe, Normal):
        return floating and recipe.mean is not None and recipe.std is not None
    if isinstance(recipe, Uniform):
        return floating
    if isinstance(recipe, Integers):
        return not floating and dtype != "bool"
    return isinstance(recipe, Literal) or (recipe == Bernoulli() and dtype == "bool")


def format_number(value: float) -> str:
    """Return a number as samples write it: floats as ``float("1e-05")``."""
    return f'float("{value!r}")' if isinstance(value, float) else repr(value)


def _literal(value: Any) -> str:
    if isinstance(value, complex):
        return f"complex({_literal(value.real)}, {_literal(value.imag)})"
    odd = isinstance(value, float) and (value != value or abs(value) == float("inf"))
    return format_number(value) if odd else repr(value)
