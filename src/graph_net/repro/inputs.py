"""Write the inputs of a graph as source that makes the same values with plain torch."""

from __future__ import annotations

import base64
import math
import textwrap
import zlib
from collections.abc import Mapping
from typing import Any

import torch

from graph_net.formats.graphnet.source_layout import quote
from graph_net.graph import Graph, GraphError, Input
from graph_net.graph.execute import make_input
from graph_net.graph.random_bits import stream
from graph_net.graph.recipe import Constant, Literal
from graph_net.graph.spec import ScalarSpec
from graph_net.graph.tensors import plan_of, simplify_recipe

INLINE = 64
"""Literals up to this many elements are written out; longer ones are compressed."""


def inputs_source(graph: Graph, device: str, seed: int) -> str:
    """Return the source of a function that makes every input, in order."""
    lines = ["def make_inputs() -> list[Any]:", "    values = {"]
    for entry in graph.inputs:
        lines.append(f"        {quote(entry.name)}: {_input(graph, entry, device, seed)},")
    return "\n".join([*lines, "    }", "    return list(values.values())"])


def _input(graph: Graph, entry: Input, device: str, seed: int) -> str:
    if isinstance(entry.spec, ScalarSpec):
        return number(make_input(graph, entry))
    sizes, dtype = entry.spec.sizes(graph.bindings), entry.spec.dtype
    move = "" if device == "cpu" else f".to({quote(device)})"
    recipe = simplify_recipe(entry.recipe, getattr(torch, dtype))
    if isinstance(recipe, Constant):
        source = f"torch.full({sizes}, {number(recipe.value)}, dtype=torch.{dtype})"
    elif isinstance(recipe, Literal):
        source = _literal(graph, entry, sizes, dtype)
    else:
        source = _draw(entry, recipe, sizes, dtype, seed)
    strides = entry.spec.strides(graph.bindings)
    return (source if strides is None else f"laid_out({source}, {strides})") + move


def _draw(entry: Input, recipe: Any, sizes: tuple[int, ...], dtype: str, seed: int) -> str:
    kind: torch.dtype = getattr(torch, dtype)
    plan = plan_of(recipe, kind.to_real() if kind.is_complex else kind)
    bits = stream(entry.name, seed)
    keywords = {"key": bits.key, "gamma": bits.gamma, **plan.write.keywords}
    if plan.rounded:
        keywords["whole"] = True
    if plan.bounds is not None:
        keywords["bounds"] = plan.bounds
    arguments = ", ".join(f"{key}={number(value)}" for key, value in keywords.items())
    return f"draw({quote(plan.write.func.__name__)}, {sizes}, torch.{dtype}, {arguments})"


def _literal(graph: Graph, entry: Input, sizes: tuple[int, ...], dtype: str) -> str:
    assert isinstance(entry.recipe, Literal)
    if len(entry.recipe.values) <= INLINE:
        values = ", ".join(map(number, entry.recipe.values))
        kind: torch.dtype = getattr(torch, dtype)
        exact = "float64" if kind.is_floating_point else "complex128" if kind.is_complex else dtype
        return f"torch.tensor([{values}], dtype=torch.{exact}).to(torch.{dtype}).reshape({sizes})"
    flat = make_input(graph, entry).contiguous().reshape(-1)
    raw = flat.view(torch.uint8).numpy().tobytes()
    text = base64.b64encode(zlib.compress(raw, 9)).decode()
    lines = "\n".join(f'            "{line}"' for line in textwrap.wrap(text, 76))
    return f"packed(\n{lines},\n            {sizes}, torch.{dtype})"


def number(value: Any) -> str:
    """Return a number, or a tuple or mapping of plain values, as source code."""
    if value is None or isinstance(value, (bool, int)):
        return repr(value)
    if isinstance(value, float):
        if math.isfinite(value):
            return repr(value)
        return "math.nan" if value != value else "math.inf" if value > 0 else "-math.inf"
    if isinstance(value, complex):
        return f"complex({number(value.real)}, {number(value.imag)})"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, (tuple, list)):
        inside = ", ".join(map(number, value))
        if isinstance(value, list):
            return f"[{inside}]"
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{quote(str(k))}: {number(v)}" for k, v in value.items()) + "}"
    raise GraphError(f"a {type(value).__name__} cannot be written into a script")
