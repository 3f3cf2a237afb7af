"""Recipes from real values: statistics that are recorded instead of a tensor."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graph_net.graph.recipe import Bernoulli, Integers, Literal, Normal, Recipe
from graph_net.graph.values import plain_float

LITERAL = 64
"""Tensors with fewer elements are recorded literally."""


def recipe_of_array(array: NDArray[Any]) -> Recipe:
    """Return the literal values of a small tensor, the statistics of a large one."""
    kind = array.dtype.kind
    if array.size < LITERAL:
        values = array.reshape(-1).tolist()
        return Literal(tuple(plain_float(v) if isinstance(v, float) else v for v in values))
    if kind == "b":
        return Bernoulli()
    if kind in "iu":
        return Integers(int(array.min()), int(array.max()))
    if kind == "c":
        array = np.stack([array.real, array.imag])
    wide = array.astype(np.float64)
    numbers = (wide.mean(), wide.std(), wide.min(), wide.max())
    return Normal(*(plain_float(float(number)) for number in numbers))
