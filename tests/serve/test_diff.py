"""Two graphs side by side: what is in one alone, and what is not the same."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from graph_net.serve.align import MOST_EDITS, align
from graph_net.serve.diff import CallDifference, GraphDiff, describe
from serve.drawn_graphs import LAYER, chain, layers

words = st.lists(st.sampled_from("abcd"), max_size=14)


def longest(first: list[str], second: list[str]) -> int:
    """The length of the longest common subsequence, by the textbook's table."""
    row = [0] * (len(second) + 1)
    for item in first:
        before = 0
        for place, other in enumerate(second, 1):
            before, row[place] = (
                row[place],
                (before + 1 if item == other else max(row[place], row[place - 1])),
            )
    return row[-1]


@given(words, words)
def test_the_longest_alignment_is_found(first: list[str], second: list[str]) -> None:
    pairs = align(first, second)
    assert all(first[a] == second[b] for a, b in pairs)
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in pairwise(pairs))
    assert len(pairs) == longest(first, second)


def test_long_sequences_that_have_little_in_common_are_aligned_by_what_is_rare() -> None:
    first = [f"a{n}" for n in range(MOST_EDITS)] + ["once"] + [f"b{n}" for n in range(MOST_EDITS)]
    second = [f"c{n}" for n in range(MOST_EDITS)] + ["once"] + [f"d{n}" for n in range(MOST_EDITS)]
    assert align(first, second) == [(MOST_EDITS, MOST_EDITS)]


def test_a_graph_does_not_differ_from_itself() -> None:
    found = GraphDiff.of(layers(20), layers(20))
    assert found.is_equal
    assert found.differences == ()
    assert found.marks(0) == {}


def test_an_inserted_call_is_the_only_difference_but_for_its_reader() -> None:
    found = GraphDiff.of(chain(LAYER), chain((*LAYER[:2], "torch.exp", *LAYER[2:])))
    assert found.differences == (
        CallDifference(None, 2, "only in the second"),
        CallDifference(2, 3, "reading other values"),
    )
    assert found.marks(1) == {2: "only", 3: "changed"}
    assert found.operators == [("exp", 0, 1)]


def test_a_replaced_operator_is_missing_on_both_sides() -> None:
    found = GraphDiff.of(chain(LAYER), chain(("torch.exp", *LAYER[1:])))
    assert {one.what for one in found.differences} >= {"only in the first", "only in the second"}
    assert describe(found.first, 0) == "0: n0 = relu → float32[2, 4]"
    assert describe(found.first, None) == ""
