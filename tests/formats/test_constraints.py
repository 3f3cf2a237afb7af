"""``input_tensor_constraints.py``: symbols, example values, relations, shapes."""

from __future__ import annotations

from pathlib import Path

import pytest

from formats.bad_samples import write
from graph_net.formats.graphnet import read_sample
from graph_net.formats.graphnet.constraints_source import Constraints, read_constraints
from graph_net.graph import Expr, GraphError, Symbol, TensorSpec

PREFIX = "dynamic_dim_constraint_"
WHOLE = f"""
from sympy import Symbol, Expr, Rel, Eq

S0 = Symbol("S0")
S1 = Symbol("S1")

{PREFIX}symbols = [S0, S1]

{PREFIX}symbol2example_value = {{S0: 2, S1: 3}}

{PREFIX}relations = [Eq(S1, S0 + 1), S0 < S1, True]

{PREFIX}input_shapes = [
    ([S0, S1], "x"),
    ([2*S0 - 2], "i"),
    (
        [2],
        "b",
    ),
    ([], "s"),
]
"""


def test_all_of_it() -> None:
    assert read_constraints(WHOLE) == Constraints(
        (Symbol("S0", 2), Symbol("S1", 3)),
        (Expr("Eq(S1, S0 + 1)"), Expr("S0 < S1")),
        {
            "x": (Expr("S0"), Expr("S1")),
            "i": (Expr("2*S0 - 2"),),
            "b": (2,),
            "s": (),
        },
    )


@pytest.mark.parametrize("source", ["", "\n \n", "# nothing\n", "from sympy import Symbol\n"])
def test_a_file_that_says_nothing(source: str) -> None:
    assert read_constraints(source) == Constraints()


def test_example_values_may_be_pairs() -> None:
    """Some samples list pairs where others have a dictionary."""
    source = WHOLE.replace("{S0: 2, S1: 3}", "[(S0, 2), (S1, 3)]")
    assert read_constraints(source) == read_constraints(WHOLE)


def test_symbols_that_are_not_listed_are_still_declared() -> None:
    source = 'N = Symbol("S7")\n' + f"{PREFIX}symbol2example_value = {{N: 5}}\n"
    assert read_constraints(source).symbols == (Symbol("S7", 5),)


@pytest.mark.parametrize(
    ("bounds", "low", "high"),
    [
        ("(1, 8)", 1, 8),
        ("(None, 8)", None, 8),
        ("(-2, None)", -2, None),
        ("(None, None)", None, None),
    ],
)
def test_ranges(bounds: str, low: int | None, high: int | None) -> None:
    source = WHOLE + f"{PREFIX}symbol_ranges = {{S0: {bounds}}}\n"
    assert read_constraints(source).symbols[0] == Symbol("S0", 2, low, high)


def test_an_expression_over_two_lines() -> None:
    source = WHOLE.replace("2*S0 - 2", "2*S0\n    - 2")
    assert read_constraints(source).shapes["i"] == (Expr("2 * S0 - 2"),)


@pytest.mark.parametrize("line_end", ["\r\n", "\r", "\n# ä\n"])
def test_other_line_ends(line_end: str) -> None:
    assert read_constraints(WHOLE.replace("\n", line_end)) == read_constraints(WHOLE)


# -- in a sample --------------------------------------------------------------------------------


def test_shapes_of_a_sample_become_symbolic(tmp_path: Path) -> None:
    graph = read_sample(write(tmp_path / "sample", input_tensor_constraints=WHOLE))
    shapes = {e.name: e.spec.shape for e in graph.inputs if isinstance(e.spec, TensorSpec)}
    assert shapes["x"] == (Expr("S0"), Expr("S1"))
    assert shapes["i"] == (Expr("2*S0 - 2"),)
    assert shapes["b"] == (2,)
    assert graph.bindings == {"S0": 2, "S1": 3}
    assert graph.constraints == (Expr("Eq(S1, S0 + 1)"), Expr("S0 < S1"))


def test_a_shape_that_its_example_values_do_not_give_is_passed_over(tmp_path: Path) -> None:
    source = WHOLE.replace("{S0: 2, S1: 3}", "{S0: 2, S1: 4}")
    graph = read_sample(write(tmp_path / "sample", input_tensor_constraints=source))
    shapes = [e.spec.shape for e in graph.inputs if isinstance(e.spec, TensorSpec)]
    assert shapes == [(2, 3), (Expr("2*S0 - 2"),), (2,)]


# -- what is refused ----------------------------------------------------------------------------

REFUSED = {
    "a call that is no Symbol": 'S0 = open("S0")\n',
    "a call of an attribute": 'S0 = os.system("touch SENTINEL")\n',
    "an evaluation": "S0 = eval(\"Symbol('S0')\")\n",
    "a statement": 'print("a")\n',
    "a loop": "for x in y:\n    pass\n",
    "a function": "def f():\n    pass\n",
    "an unknown list": "somewhere = 3\n",
    "a symbol without a name": "S0 = Symbol()\n",
    "a fraction as an example": WHOLE.replace("S0: 2", "S0: 2.5"),
    "a truth as an example": WHOLE.replace("S0: 2", "S0: True"),
    "a call as an example": WHOLE.replace("S0: 2", "S0: f(2)"),
    "an example of no symbol": WHOLE.replace("S0: 2", "3: 2"),
    "a range that is none": WHOLE + f"{PREFIX}symbol_ranges = {{S0: 3}}\n",
    "a range of words": WHOLE + f"{PREFIX}symbol_ranges = {{S0: ('a', 'b')}}\n",
    "a shape that is none": WHOLE.replace('([], "s")', '"s"'),
    "a shape of nothing": WHOLE.replace('([], "s")', "([], s)"),
    "a call in a shape": WHOLE.replace("2*S0 - 2", "open('SENTINEL', 'w')"),
    "an attribute in a shape": WHOLE.replace("2*S0 - 2", "S0.__class__"),
    "a word in a shape": WHOLE.replace("2*S0 - 2", "'a'"),
    "a call in a relation": WHOLE.replace("S0 < S1", "exit()"),
    "a chain in a relation": WHOLE.replace("S0 < S1", "0 < S0 < S1"),
}


@pytest.mark.parametrize("source", REFUSED.values(), ids=REFUSED)
def test_what_is_no_constraint(tmp_path: Path, source: str) -> None:
    with pytest.raises(GraphError, match=r"line|field constraints"):
        read_sample(write(tmp_path / "sample", input_tensor_constraints=source))
    assert not Path("SENTINEL").exists()


@pytest.mark.parametrize(
    "source",
    [
        WHOLE.replace("[Eq(S1, S0 + 1), S0 < S1, True]", "[Eq(S9, 1)]"),
        WHOLE.replace("2*S0 - 2", "S9 + 1"),
        WHOLE.replace('Symbol("S0")', 'Symbol("not a name")'),
        WHOLE.replace('Symbol("S1")', 'Symbol("S0")'),
    ],
)
def test_symbols_that_fit_no_graph(tmp_path: Path, source: str) -> None:
    with pytest.raises(GraphError):
        read_sample(write(tmp_path / "sample", input_tensor_constraints=source))
