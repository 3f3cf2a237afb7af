"""Values: plain data, with references that can be listed and replaced."""

from __future__ import annotations

import math

import pytest
from hypothesis import given

from graph_net.graph import (
    DictValue,
    Dtype,
    GraphError,
    ListValue,
    Ref,
    Slice,
    TorchConstant,
    Value,
)
from graph_net.graph.values import DTYPES, item_bytes, items_of, map_refs, plain_float, refs
from strategies import constants, distances, values

NESTED: Value = (
    Ref("a"),
    ListValue((Ref("b"), 1)),
    DictValue((("k", Slice(Ref("c"), None, (Ref("d"), Ref("a")))),)),
)
anything = values(constants() | distances)


def test_references_are_found_left_to_right_with_repeats() -> None:
    assert [ref.name for ref in refs(NESTED)] == ["a", "b", "c", "d", "a"]


def test_references_are_replaced_wherever_they_are() -> None:
    assert map_refs(NESTED, lambda ref: ref.name.upper()) == (
        "A",
        ListValue(("B", 1)),
        DictValue((("k", Slice("C", None, ("D", "A"))),)),
    )


@given(anything)
def test_replacing_references_by_themselves_changes_nothing(value: Value) -> None:
    assert map_refs(value, lambda ref: ref) == value


@given(anything)
def test_a_value_can_be_compared_and_hashed(value: Value) -> None:
    assert hash(value) == hash(map_refs(value, lambda ref: ref))


@given(anything)
def test_references_are_those_of_the_parts(value: Value) -> None:
    parts = [ref for item in items_of(value) for ref in refs(item)]
    assert list(refs(value)) == ([value] if isinstance(value, Ref) else parts)


def test_a_list_is_no_tuple() -> None:
    one, other = ListValue((1, 2)), (1, 2)
    assert len({one, other}) == 2


def test_every_not_a_number_is_the_same() -> None:
    assert (plain_float(float("nan")),) == (plain_float(-math.nan),)
    assert plain_float(1.5) == 1.5


@pytest.mark.parametrize("name", ["float33", "torch.float32", "", "__class__"])
def test_an_unknown_constant_of_torch_is_refused(name: str) -> None:
    with pytest.raises(GraphError, match="unknown"):
        Dtype(name)
    with pytest.raises(GraphError, match="unknown"):
        TorchConstant(name)


def test_the_size_of_elements_agrees_with_torch() -> None:
    torch = pytest.importorskip("torch")
    known = {name: getattr(torch, name) for name in DTYPES if hasattr(torch, name)}
    assert {name: item_bytes(name) for name in known} == {n: d.itemsize for n, d in known.items()}
