"""``weight_meta.py``: which recipe its fields give, and which tensors the recipes make."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from formats.bad_samples import meta, write
from graph_net.formats.graphnet import read_sample
from graph_net.formats.graphnet.meta_source import dtype_of, read_meta, recipe_of, shape_of
from graph_net.graph import (
    DEFAULT_LIMITS,
    Bernoulli,
    Constant,
    Expr,
    Integers,
    Literal,
    Normal,
    Recipe,
    Role,
    ScalarSpec,
    TensorSpec,
)
from graph_net.graph.execute import make_inputs
from graph_net.graph.tensors import draw

NAN, INF = math.nan, math.inf


def recipe_for(**changes: str) -> tuple[str, tuple[int, ...], Recipe]:
    fields = read_meta(meta(**changes), "weight_meta.py", DEFAULT_LIMITS)["x"]
    dtype, shape = dtype_of(fields), shape_of(fields)
    return dtype, shape, recipe_of(fields, dtype, shape, DEFAULT_LIMITS)


INT, BOOL, COMPLEX = '"torch.int64"', '"torch.bool"', '"torch.complex64"'
FIELDS: dict[str, tuple[dict[str, str], Recipe]] = {
    "mean and std": ({"mean": "0.25", "std": "1.5"}, Normal(0.25, 1.5)),
    "no mean": ({"mean": ""}, Normal(None, 1.0)),
    "mean None": ({"mean": "None"}, Normal(None, 1.0)),
    "no std": ({"std": ""}, Normal(0.0, None)),
    "std 0": ({"mean": "2.0", "std": "0.000"}, Normal(2.0, 0.0)),
    "whole statistics": ({"mean": "1", "std": "2"}, Normal(1.0, 2.0)),
    "bounds": ({"min_val": "0.0", "max_val": "1.0"}, Normal(0.0, 1.0, 0.0, 1.0)),
    "one bound": ({"min_val": "-3"}, Normal(0.0, 1.0, -3.0, None)),
    "negative mean": ({"mean": "-0.5"}, Normal(-0.5, 1.0)),
    "infinite statistics": (
        {"mean": 'float("-inf")', "std": 'float("inf")'}, Normal(-INF, INF)),
    "names of floats": ({"mean": "-inf", "std": "inf"}, Normal(-INF, INF)),
    "no number": ({"mean": 'float("nan")', "std": "nan"}, Normal(NAN, NAN)),
    "data": ({"data": "[0.5, -1, 2, 1e-3, 4.0, 5]"}, Literal((0.5, -1.0, 2.0, 1e-3, 4.0, 5.0))),
    "data before all else": (
        {"data": "[1.0] ", "shape": "[1]", "min_val": "7.0", "std": "0.0"}, Literal((1.0,))),
    "data that is not a number": (
        {"data": '[float("nan"), -inf, inf]', "shape": "[3]"}, Literal((NAN, -INF, INF))),
    "data of no dimension": ({"data": "[3.5]", "shape": "[]"}, Literal((3.5,))),
    "data without a list": ({"data": "3.5", "shape": "[]"}, Literal((3.5,))),
    "no data at all": ({"data": "[]", "shape": "[0, 4]"}, Literal(())),
    "a tuple of data": ({"data": "(1.0, 2.0)", "shape": "(2,)"}, Literal((1.0, 2.0))),
    "whole numbers": ({"dtype": INT, "min_val": "0", "max_val": "99"}, Integers(0, 99)),
    "negative whole numbers": ({"dtype": INT, "min_val": "-9", "max_val": "-9"}, Integers(-9, -9)),
    "bounds with a point": ({"dtype": INT, "min_val": "0.0", "max_val": "9.0"}, Integers(0, 9)),
    "whole numbers without bounds": ({"dtype": INT, "mean": "None"}, Integers(0, 1)),
    "literal whole numbers": (
        {"dtype": INT, "data": "[1, -2, 3.0]", "shape": "[3]"}, Literal((1, -2, 3))),
    "truths": ({"dtype": BOOL}, Bernoulli()),
    "literal truths": (
        {"dtype": BOOL, "data": "[True, False, 1, 0]", "shape": "[4]"},
        Literal((True, False, True, False))),
    "complex numbers": ({"dtype": COMPLEX}, Normal(0.0, 1.0)),
    "literal complex numbers": (
        {"dtype": COMPLEX, "data": "[1j, (1+2j), (-1.5-0.5j), 3, -2j, complex(-0.0, 1.0)]"},
        Literal((1j, 1 + 2j, -1.5 - 0.5j, 3 + 0j, -2j, complex(-0.0, 1.0)))),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "expected"), FIELDS.values(), ids=FIELDS)
def test_fields_give_this_recipe(changes: dict[str, str], expected: Recipe) -> None:
    _, _, recipe = recipe_for(**changes)
    assert repr(recipe) == repr(expected)


@pytest.mark.parametrize(("changes", "expected"), FIELDS.values(), ids=FIELDS)
def test_every_recipe_makes_a_finite_tensor_or_its_literal(
    changes: dict[str, str], expected: Recipe
) -> None:
    dtype, shape, recipe = recipe_for(**changes)
    tensor = draw(recipe, shape, dtype, name="x")
    assert tensor.shape == shape
    assert str(tensor.dtype) == f"torch.{dtype}"
    if not isinstance(recipe, Literal):
        assert tensor.isfinite().all()
        assert tensor.to(torch.complex64).abs().max() <= 100


def test_std_zero_makes_a_constant() -> None:
    dtype, shape, recipe = recipe_for(mean="2.0", std="0.0")
    assert torch.equal(draw(recipe, shape, dtype, name="x"), torch.full((2, 3), 2.0))


def test_bounds_hold() -> None:
    dtype, _, recipe = recipe_for(std="9.0", min_val="-0.5", max_val="0.5")
    drawn = draw(recipe, (10_000,), dtype, name="x")
    assert (drawn.min().item(), drawn.max().item()) == (-0.5, 0.5)
    dtype, _, recipe = recipe_for(dtype=INT, min_val="3", max_val="5")
    assert set(draw(recipe, (1000,), dtype, name="x").tolist()) == {3, 4, 5}


@pytest.mark.parametrize(
    ("word", "dtype"),
    [
        ("torch.float32", "float32"),
        ("torch.float", "float32"),
        ("torch.half", "float16"),
        ("torch.double", "float64"),
        ("torch.long", "int64"),
        ("torch.int", "int32"),
        ("bfloat16", "bfloat16"),
        ("torch.float8_e4m3fn", "float8_e4m3fn"),
        ("torch.uint16", "uint16"),
        ("torch.complex128", "complex128"),
    ],
)
def test_dtypes(word: str, dtype: str) -> None:
    assert recipe_for(dtype=f'"{word}"', mean="None", std="None")[0] == dtype


def test_names_roles_and_numbers_of_a_sample(tmp_path: Path) -> None:
    source = meta(original_name='"L_self_buffers_mean_"')
    x, i, b, s = read_sample(write(tmp_path / "sample", weight_meta=source)).inputs
    assert (x.original, i.original) == ("L_self_buffers_mean_", None)
    assert (x.spec, x.role) == (TensorSpec((Expr("S0"), 3), "float32"), Role.INPUT)
    assert (b.spec, b.recipe) == (TensorSpec((1,), "float32"), Literal((1.0,)))
    assert (s.spec, s.recipe) == (ScalarSpec("int"), Constant(1))


def test_inputs_may_be_described_in_either_file(tmp_path: Path) -> None:
    first, _, rest = meta().partition("class Mi:")
    directory = write(tmp_path / "sample", weight_meta="class Mi:" + rest, input_meta=first)
    assert [entry.name for entry in read_sample(directory).inputs] == ["x", "i", "b", "s"]


def test_roles_come_from_names_and_annotations(tmp_path: Path) -> None:
    arguments = (
        "a: torch.Tensor, L_self_modules_a_parameters_w_: torch.Tensor, "
        "L_self_modules_a_buffers_m_: torch.Tensor, p: torch.nn.parameter.Parameter, q"
    )
    names = [word.split(":")[0] for word in arguments.split(", ")]
    directory = tmp_path / "sample"
    directory.mkdir()
    (directory / "model.py").write_text(
        f"class GraphModule:\n    def forward(self, {arguments}):\n        return a\n"
    )
    (directory / "weight_meta.py").write_text(
        "\n".join(f"class M{n}:\n    name = '{n}'\n    shape = [100]\n" for n in names)
    )
    graph = read_sample(directory)
    assert [entry.role for entry in graph.inputs] == [
        Role.INPUT,
        Role.PARAMETER,
        Role.BUFFER,
        Role.PARAMETER,
        Role.INPUT,
    ]
    assert all(value.shape == (100,) for value in make_inputs(graph))
