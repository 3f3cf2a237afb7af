"""Recipes of initial values, and the recipes that arithmetic makes of them.

A stored ``Normal`` is drawn at a fifth of its deviation, as GraphNet does with the statistics of
trained weights. An initialiser means its deviation literally, so five times as much is stored.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import torch

from graph_net.graph.fx import LITERAL_ELEMENTS
from graph_net.graph.recipe import SHRINK, Constant, Literal, Normal, Recipe, Uniform

DIGITS = 6
"""Significant digits kept: about what float32 has, so that layers of one kind get one recipe."""
LARGEST = 1e6
"""No initialiser writes larger values; uninitialised memory may hold some."""
REACH = 7
"""Standard deviations beyond which no value is drawn, so that a bound has no effect."""


def constant(value: float) -> Constant | None:
    """Return the recipe of one repeated value; None if it is not finite."""
    return Constant(_round(value)) if math.isfinite(value) else None


def normal(
    mean: float, std: float, low: float | None = None, high: float | None = None
) -> Recipe | None:
    """Return the recipe of a normal with this deviation, clamped where a bound can be reached."""
    if not (math.isfinite(mean) and math.isfinite(std)):
        return None
    if std == 0:
        return constant(mean)
    if low is not None:
        low = _round(low) if low > mean - REACH * std else None
    if high is not None:
        high = _round(high) if high < mean + REACH * std else None
    return Normal(_round(mean), _round(std / SHRINK), low, high)


def uniform(low: float, high: float) -> Recipe | None:
    """Return the recipe of uniform values; of a constant if the ends are equal."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    return constant(low) if low == high else Uniform(_round(low), _round(high))


def recipe_like(values: torch.Tensor) -> Recipe | None:
    """Return a recipe for these values: themselves if few or all the same, else statistics.

    None if they are not real numbers, or not such as an initialiser would write.
    """
    if not values.is_floating_point() or values.numel() == 0:
        return None
    wide = values.detach().double()
    low, high = float(wide.min()), float(wide.max())
    if not max(-low, high) <= LARGEST:  # NaN is not
        return None
    if low == high:
        return constant(low)
    if values.numel() < LITERAL_ELEMENTS:
        return Literal(tuple(_round(value) for value in wide.reshape(-1).tolist()))
    return normal(float(wide.mean()), float(wide.std()), low, high)


def scale_recipe(recipe: Recipe, factor: float, shift: float = 0.0) -> Recipe | None:
    """Return the recipe of ``factor * values + shift``."""

    def move(value: float | None) -> float | None:
        return None if value is None else factor * value + shift

    if isinstance(recipe, Constant) and not isinstance(recipe.value, complex):
        return constant(factor * recipe.value + shift)
    if isinstance(recipe, Uniform):
        ends = sorted((factor * recipe.low + shift, factor * recipe.high + shift))
        return uniform(*ends)
    if isinstance(recipe, Normal) and recipe.mean is not None and recipe.std is not None:
        bounds = (move(recipe.low), move(recipe.high))
        std = abs(factor) * recipe.std * SHRINK
        return normal(factor * recipe.mean + shift, std, *(bounds if factor > 0 else bounds[::-1]))
    return None


def clamp_recipe(recipe: Recipe, low: float | None, high: float | None) -> Recipe | None:
    """Return the recipe of the clamped values."""
    least = -math.inf if low is None else low
    most = math.inf if high is None else high
    if isinstance(recipe, Constant) and not isinstance(recipe.value, complex):
        return constant(min(max(recipe.value, least), most))
    if isinstance(recipe, Uniform):
        return uniform(max(recipe.low, least), max(least, min(recipe.high, most)))
    if isinstance(recipe, Normal) and recipe.mean is not None and recipe.std is not None:
        below = max(least, -math.inf if recipe.low is None else recipe.low)
        above = min(most, math.inf if recipe.high is None else recipe.high)
        return normal(recipe.mean, recipe.std * SHRINK, below, max(below, above))
    return None


def erfinv_recipe(recipe: Recipe) -> Recipe | None:
    """Return the recipe of ``erfinv`` of uniform values: a truncated normal."""
    if not isinstance(recipe, Uniform) or recipe.low < -1 or recipe.high > 1:
        return None
    low, high = _inverse_error(recipe.low), _inverse_error(recipe.high)
    return normal(0.0, math.sqrt(0.5), low, high)


def _inverse_error(value: float) -> float | None:
    if not -1 < value < 1:
        return None
    return NormalDist().inv_cdf((value + 1) / 2) * math.sqrt(0.5)


def _round(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
