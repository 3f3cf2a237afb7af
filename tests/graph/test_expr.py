"""Sizes as expressions over symbols: walked, never executed, and always a whole number."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from graph_net.graph import Expr, GraphError
from graph_net.graph.expr import MAX_EXPR_DEPTH, MAX_EXPR_TEXT, dim_value

S = {"S0": 7, "S1": 2}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12", 12),
        ("-S0 + 10", 3),
        ("S0*S1 - 4", 10),
        ("S0//S1", 3),
        ("S0 % 4", 3),
        ("S0**S1", 49),
        ("2*(S0 + 1)", 16),
        ("(S0 + 1)/S1", 4),
        ("Mod(S0, 4)", 3),
        ("FloorDiv(S0, 2)", 3),
        ("CeilDiv(S0, 2)", 4),
        ("ceiling(S0/2)", 4),
        ("floor(S0/2)", 3),
        ("TruncToInt(IntTrueDiv(S0, 2))", 3),
        ("Max(S0, S1, 9)", 9),
        ("Min(S0)", 7),
        ("Abs(S1 - S0)", 5),
        ("PowByNatural(S1, 10)", 1024),
        ("S0 < S1", 0),
        ("S0 != S1", 1),
        ("Eq(S0, 7)", 1),
        ("Ge(S1, 3)", 0),
        ("not S0", 0),
    ],
)
def test_an_expression_has_a_value(text: str, expected: int) -> None:
    assert Expr(text).value(S) == expected


def test_symbols_are_the_names_that_are_no_functions() -> None:
    assert Expr("Max(S0, Mod(S1, 4)) + 1").symbols == {"S0", "S1"}


def test_a_plain_size_is_its_own_value() -> None:
    assert dim_value(5, {}) == 5
    assert dim_value(Expr("S0"), S) == 7


@pytest.mark.parametrize(
    "text",
    [
        "",
        "S0 +",
        "S0; S1",
        "S0 = 1",
        "lambda: 1",
        "print(1)",
        "__import__('os')",
        "S0.__class__",
        "S0[0]",
        "(S0).bit_length()",
        "Max()",
        "Mod(1)",
        "Mod(1, 2, 3)",
        "Max(*S)",
        "Max(S0, key=abs)",
        "'text'",
        "1j",
        "[1]",
        "S0 < S1 < 3",
        "S0 if S1 else 2",
        "~S0",
        "S0 << 9",
        "x := 3",
        "\x00",
        "\ud800",
        "S0 + " * 700 + "S0",
        "-" * 1900 + "1",
        "~" * 1900 + "1",
        "(" * 150 + "1" + ")" * 150 + "+ [",
        "1" * (MAX_EXPR_TEXT + 1),
    ],
)
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(GraphError):
        Expr(text)


def test_nesting_is_bounded() -> None:
    assert Expr("-" * (MAX_EXPR_DEPTH - 1) + "S0").value(S) == -7
    with pytest.raises(GraphError, match="nested"):
        Expr("-" * MAX_EXPR_DEPTH + "S0")


@pytest.mark.parametrize(
    "text",
    [
        "S0 // (S1 - 2)",
        "Mod(S0, 0)",
        "1e308*10",
        "1e308*10 - 1e308*10",
        "(-8.0)**0.5",
        "S0**65",
        "S0**64*S0",
        "(2**63)**2",
    ],
)
def test_no_value_is_an_error_that_names_the_expression(text: str) -> None:
    with pytest.raises(GraphError, match=re.escape(repr(text))):
        Expr(text).value(S)


def test_an_unknown_symbol_is_named_beside_the_known() -> None:
    with pytest.raises(GraphError, match=r"'S9'; known: S0, S1"):
        Expr("S9 + 1").value(S)


@given(st.text(alphabet="S01+-*/%()<>=!,. eMaxodfl", max_size=40) | st.text(max_size=20))
@example("Max(S0")
def test_any_text_is_an_expression_or_a_graph_error(text: str) -> None:
    try:
        expr = Expr(text)
        value = expr.value(dict.fromkeys(expr.symbols, 3))
    except GraphError:
        return
    assert type(value) is int
