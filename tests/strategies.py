"""Hypothesis strategies: graphs of every shape that the types allow, and the same graph again.

A drawn graph is well formed, not meaningful: what a codec or a hash must survive is the data, and
no test here runs one. Calls are drawn as templates whose references are distances, so that a block
can be repeated as a transformer's layers are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache

from hypothesis import strategies as st

from graph_net.graph import (
    Bernoulli,
    Constant,
    DictValue,
    Dim,
    Dtype,
    Expr,
    Graph,
    Input,
    Integers,
    Level,
    ListValue,
    Literal,
    Node,
    Normal,
    Provenance,
    Recipe,
    Ref,
    Role,
    RunDevice,
    ScalarSpec,
    Slice,
    Symbol,
    TensorSpec,
    TorchConstant,
    Uniform,
    Value,
)
from graph_net.graph.spec import Result
from graph_net.graph.targets import is_aten_level
from graph_net.graph.values import DTYPES, TORCH_CONSTANTS, map_refs

LARGEST = 2**64 - 1
Words = tuple[str, ...]
BASES = ("x", "relu", "L_self_modules_0_parameters_weight_", "h00_12", "größe", "add_", "s3_4")
TARGETS = (
    "torch.relu",
    "torch.nn.functional.linear",
    "method:view",
    "operator.getitem",
    "builtins.max",
    "math.floor",
    "aten.add.Tensor",
    "torchvision.nms.default",
)
texts = st.text(max_size=8)
whole_numbers = st.integers(-9, 300) | st.integers(-LARGEST, LARGEST)
floats = st.floats(allow_nan=False) | st.sampled_from((0.1, 1e-5, -0.0, math.nan))
complexes = st.complex_numbers(allow_nan=False)
numbers: st.SearchStrategy[bool | int | float | complex] = (
    st.booleans() | whole_numbers | floats | complexes
)
dtypes = st.sampled_from(sorted(DTYPES))


@cache
def names(least: int, most: int) -> st.SearchStrategy[list[str]]:
    """Different names, numbered as FX numbers them, or not at all."""
    numbered = st.builds(lambda base, n: f"{base}_{n}", st.sampled_from(BASES), st.integers(0, 12))
    one = st.sampled_from(BASES) | numbered
    return st.lists(one, min_size=least, max_size=most, unique=True)


@cache
def constants() -> st.SearchStrategy[Value]:
    """Values that hold no other value."""
    return st.one_of(
        st.none(),
        numbers,
        texts,
        st.just(...),
        st.builds(Dtype, dtypes),
        st.builds(TorchConstant, st.sampled_from(sorted(TORCH_CONSTANTS))),
        st.builds(RunDevice, st.booleans()),
    )


@cache
def values(leaves: st.SearchStrategy[Value], size: int = 6) -> st.SearchStrategy[Value]:
    """Leaves, and containers of every kind around them."""

    def around(inner: st.SearchStrategy[Value]) -> st.SearchStrategy[Value]:
        items = st.lists(inner, max_size=3).map(tuple)
        pairs = st.lists(st.tuples(texts, inner), max_size=2, unique_by=lambda pair: pair[0])
        return st.one_of(
            items,
            st.builds(ListValue, items),
            st.builds(DictValue, pairs.map(tuple)),
            st.builds(Slice, inner, inner, inner),
        )

    return st.recursive(leaves, around, max_leaves=size)


distances: st.SearchStrategy[Value] = st.integers(0, 6).map(lambda back: Ref(str(back)))


@cache
def exprs(symbols: Words) -> st.SearchStrategy[Expr]:
    """Sizes over these symbols that are never negative."""
    atoms = st.sampled_from(tuple(symbols)) | st.integers(1, 9).map(str)
    forms = ("{} + {}", "{}*{}", "({} + 1)//{}", "Mod({}, {})", "Max({}, {})", "{}*({} + 2)")
    return st.builds(
        lambda form, a, b: Expr(form.format(a, b)), st.sampled_from(forms), atoms, atoms
    )


@cache
def dims(symbols: Words) -> st.SearchStrategy[Dim]:
    """One size."""
    plain = st.integers(0, 9) | st.just(4096)
    return plain | exprs(symbols) if symbols else plain


@st.composite
def tensor_specs(draw: st.DrawFn, symbols: Words = ()) -> TensorSpec:
    """Shapes up to rank three, with a stride now and then."""
    shape = tuple(draw(st.lists(dims(symbols), max_size=3)))
    rank = len(shape)
    stride = st.lists(dims(symbols), min_size=rank, max_size=rank).map(tuple)
    return TensorSpec(shape, draw(dtypes), draw(st.none() | stride))


@cache
def scalar_specs(symbols: Words = ()) -> st.SearchStrategy[ScalarSpec]:
    """Numbers that are passed in or computed."""
    known = st.none() | exprs(symbols) if symbols else st.none()
    return st.builds(ScalarSpec, st.sampled_from(("int", "float", "bool")), known)


@cache
def results(symbols: Words) -> st.SearchStrategy[Result]:
    """What a call gives: nothing known, one value, or several."""
    one = st.none() | tensor_specs(symbols) | scalar_specs(symbols)
    return st.recursive(one, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=4)


@st.composite
def ordered(draw: st.DrawFn, one: st.SearchStrategy[float]) -> tuple[float, float]:
    """Two numbers, the smaller first."""
    low, high = sorted((draw(one), draw(one)))
    return low, high


@cache
def recipes() -> st.SearchStrategy[Recipe]:
    """Every kind of recipe."""
    real = st.floats(-1e6, 1e6) | st.integers(-99, 99)
    statistic = st.none() | real | st.sampled_from((math.nan, math.inf))
    positive = st.none() | st.floats(0, 9) | st.just(math.nan)
    bounds = ordered(real) | st.sampled_from(((None, 1.0), (-1.0, None), (None, None)))
    return st.one_of(
        st.builds(lambda m, s, b: Normal(m, s, *b), statistic, positive, bounds),
        ordered(real).map(lambda b: Uniform(*b)),
        ordered(whole_numbers).map(lambda b: Integers(int(b[0]), int(b[1]))),
        st.floats(0, 1).map(Bernoulli),
        st.builds(Constant, numbers),
        st.lists(numbers, max_size=5).map(lambda found: Literal(tuple(found))),
    )


Parts = tuple[str, tuple[Value, ...], tuple[tuple[str, Value], ...]]
Call = tuple[*Parts, Result]


@cache
def real_calls() -> st.SearchStrategy[Parts]:
    """Calls as captured graphs have them: views, in place, random, several results."""
    a, b = Ref("0"), Ref("1")
    size = st.integers(1, 8)
    return st.one_of(
        st.sampled_from(
            [
                ("torch.relu", (a,), ()),
                ("operator.sub", (a, b), ()),
                ("operator.iadd", (a, b), ()),
                ("method:mul_", (a, 0.5), ()),
                ("torch.nn.functional.relu", (a,), (("inplace", True),)),
                ("operator.setitem", (a, (..., Slice(None, 2, None)), b), ()),
                ("torch.nn.functional.dropout", (a, 0.1, True), ()),
                ("method:chunk", (a, 2), (("dim", -1),)),
                ("operator.getitem", (a, 0), ()),
                ("builtins.getattr", (a, "shape"), ()),
                ("torch.cat", (ListValue((a, b, a)),), (("dim", 1),)),
                ("method:to", (a, RunDevice(), Dtype("float16")), ()),
                ("aten.add.Tensor", (a, b), (("alpha", 2),)),
                ("torch.amp.autocast_mode._enter_autocast", (RunDevice(True), None, True), ()),
            ]
        ),
        st.builds(lambda n, m: ("method:view", (a, n, m), ()), size, size),
        st.builds(lambda n: ("torch.rand", (ListValue((n, 3)),), (("device", RunDevice()),)), size),
        st.builds(lambda n: ("operator.getitem", (a, Slice(None, n, None)), ()), size),
    )


@cache
def any_calls() -> st.SearchStrategy[Parts]:
    """Calls with arguments of every kind."""
    one = values(constants() | distances)
    keywords = st.sampled_from(("dim", "size", "out_dtype", "from"))
    return st.tuples(
        st.sampled_from(TARGETS),
        st.lists(one, max_size=3).map(tuple),
        st.lists(st.tuples(keywords, one), max_size=2, unique_by=lambda p: p[0]).map(tuple),
    )


@cache
def calls(symbols: Words) -> st.SearchStrategy[Call]:
    """Calls with what is known of their results."""
    made = real_calls() | any_calls()
    return st.builds(lambda call, result: (*call, result), made, results(symbols))


@st.composite
def blocks(draw: st.DrawFn, symbols: Words) -> list[Call]:
    """Calls in a row, some of them again and again."""
    found: list[Call] = []
    for _ in range(draw(st.integers(0, 3))):
        found += draw(st.lists(calls(symbols), max_size=4)) * draw(st.sampled_from((1, 1, 2, 5)))
    return found


@cache
def provenances() -> st.SearchStrategy[Provenance]:
    """Where a graph came from, with options of any kind."""
    pairs = st.lists(st.tuples(texts, values(constants(), 4)), max_size=2, unique_by=lambda p: p[0])
    return st.builds(
        Provenance, texts, texts, texts, texts, st.lists(texts, max_size=2).map(tuple),
        options=pairs.map(tuple),
    )  # fmt: skip


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Well-formed graphs."""
    symbols = [
        Symbol(f"S{i}", draw(st.integers(1, 64)), draw(st.none() | whole_numbers), None)
        for i in range(draw(st.integers(0, 2)))
    ]
    words = tuple(symbol.name for symbol in symbols)
    inputs = [
        Input(
            name,
            draw(tensor_specs(words) | scalar_specs(words)),
            draw(recipes()),
            draw(st.sampled_from(Role)),
            draw(st.none() | st.just("l_" + name)),
            draw(st.none() | texts),
        )
        for name in draw(names(1, 4))
    ]
    nodes = named([entry.name for entry in inputs], draw(blocks(words)))
    available = [*(entry.name for entry in inputs), *(node.name for node in nodes)]
    lowered = all(is_aten_level(node.target) for node in nodes)
    return Graph(
        inputs=tuple(inputs),
        nodes=nodes,
        output=map_refs(draw(values(constants() | distances)), back_from(available)),
        level=draw(st.sampled_from((Level.TORCH, Level.ATEN))) if lowered else Level.TORCH,
        symbols=tuple(symbols),
        constraints=tuple(draw(st.lists(exprs(words), max_size=2))) if words else (),
        provenance=draw(provenances()),
    )


def back_from(available: Sequence[str]) -> Callable[[Ref], Value]:
    """Turns a distance into the value so far back."""
    return lambda ref: Ref(available[-1 - int(ref.name) % len(available)])


def named(inputs: Sequence[str], found: Sequence[Call]) -> tuple[Node, ...]:
    """The calls as nodes with names like FX's, each reading what came before it."""
    available, taken = list(inputs), set(inputs)
    nodes = []
    for target, args, kwargs, result in found:
        stem = target.rpartition(".")[2].rpartition(":")[2].strip("_")
        tries = (stem, *(f"{stem}_{n}" for n in range(1, len(taken) + 2)))
        name = next(name for name in tries if name not in taken)
        taken.add(name)
        change = back_from(available)
        moved = tuple((key, map_refs(value, change)) for key, value in kwargs)
        nodes.append(Node(name, target, tuple(map_refs(v, change) for v in args), moved, result))
        available.append(name)
    return tuple(nodes)
