"""Recipes that say nothing sensible are refused, when they are built or when they are drawn."""

import math

import pytest

from graph_net.graph.recipe import (
    Bernoulli,
    Constant,
    Integers,
    Literal,
    Normal,
    Recipe,
    Uniform,
)
from graph_net.graph.tensors import draw, draw_range


@pytest.mark.parametrize(
    ("recipe", "shape", "dtype", "message"),
    [
        (Literal((1, 2, 3)), (2, 2), "float32", "takes 4 values, not 3"),
        (Constant(1j), (1,), "float32", "does not fit"),
        (Constant(-1), (1,), "uint8", "does not fit"),
        (Literal((0, 300)), (2,), "uint8", "does not fit"),
        (Constant(math.nan), (1,), "int64", "does not fit"),
        (Constant(10**400), (1,), "float64", "does not fit"),
        (Constant(1), (1,), "float31", "dtype 'float31'"),
        (Constant(1), (1,), "quint8", "dtype 'quint8'"),
        (Constant(1), (2, -1), "int64", "negative size"),
    ],
)
def test_what_cannot_be_drawn_is_refused(
    recipe: Recipe, shape: tuple[int, ...], dtype: str, message: str
) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        draw(recipe, shape, dtype, name="weight")
    assert "'weight'" in str(caught.value)


@pytest.mark.parametrize(("start", "stop"), [(-1, 2), (3, 2), (0, 4)])
def test_a_range_outside_the_tensor_is_refused(start: int, stop: int) -> None:
    with pytest.raises(ValueError, match="Tensor 'x'"):
        draw_range(Literal((1, 2, 3)), start, stop, "int64", name="x")


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        (Normal, (0.0, -1.0), "std must not be negative"),
        (Normal, (0.0, 1.0, 2.0, 1.0), "low 2.0 is above high 1.0"),
        (Normal, ("0", 1.0), "mean must be a real number"),
        (Normal, (10**400, 1.0), "too large"),
        (Uniform, (1.0, 0.0), "low 1.0 is above high 0.0"),
        (Uniform, (0.0, math.inf), "must be finite"),
        (Uniform, (0.0, 1j), "high must be a real number"),
        (Integers, (1, 0), "low 1 is above high 0"),
        (Integers, (0.0, 1), "must be integers"),
        (Bernoulli, (1.5,), "between 0 and 1"),
        (Bernoulli, (math.nan,), "between 0 and 1"),
        (Constant, ("1",), "must be a number"),
        (Literal, ([1],), "must be a tuple"),
        (Literal, ((1, None),), "value 1 must be a number"),
    ],
)
def test_a_bad_recipe_cannot_be_built(
    kind: type[Recipe], values: tuple[object, ...], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{kind.__name__}: .*{message}"):
        kind(*values)  # type: ignore[arg-type]
