"""Operator sequences that recur over a corpus."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_net.graph import Graph, Input, Node, Normal, Ref, TensorSpec
from graph_net.graph.graph import Level
from graph_net.rewrite.carve import Carver
from graph_net.rewrite.repeated import repeats, suffixes
from graph_net.rewrite.typical import Text, Typical, sequences

LINES = st.lists(st.lists(st.integers(0, 3), max_size=30), min_size=1, max_size=6)


def text_of(lines: list[list[int]]) -> Text:
    text = Text()
    for line in lines:
        text.append(line)
    return text


def by_hand(lines: list[list[int]], length: int) -> dict[tuple[int, ...], list[tuple[int, int]]]:
    """Every sequence of a length, with all its occurrences, looked for one after another."""
    found = defaultdict(list)
    for number, line in enumerate(lines):
        for first in range(len(line) - length + 1):
            found[tuple(line[first : first + length])].append((number, first))
    return dict(found)


def is_maximal(lines: list[list[int]], places: list[tuple[int, int]], length: int) -> bool:
    """Whether what stands before differs somewhere, and what stands behind; an end differs."""

    def around(step: int) -> set[object]:
        return {
            lines[n][first + step] if 0 <= first + step < len(lines[n]) else (n, first)
            for n, first in places
        }

    return len(around(-1)) > 1 and len(around(length)) > 1


@given(LINES, st.integers(2, 9))
def test_the_suffix_array_is_in_order_and_knows_what_neighbours_share(
    lines: list[list[int]], longest: int
) -> None:
    tokens = text_of(lines).tokens()
    found = suffixes(tokens, longest)
    assert sorted(found.order.tolist()) == list(range(len(tokens)))
    begins = [tuple(tokens[i : i + longest].tolist()) for i in found.order]
    assert begins == sorted(begins)
    for (a, b), lcp in zip(pairwise(begins), found.lcp[1:], strict=True):
        shared = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), longest)
        assert min(shared, longest) == lcp


@given(LINES, st.integers(2, 6), st.booleans())
def test_repeats_are_those_a_search_by_hand_finds(
    lines: list[list[int]], length: int, maximal: bool
) -> None:
    text = text_of(lines)
    tokens, owner = text.tokens(), text.owners()
    found = {
        tuple(tokens[r.positions[0] : r.positions[0] + length].tolist()): sorted(
            (int(owner[p]), int(p) - text.starts[owner[p]]) for p in r.positions
        )
        for r in repeats(tokens, suffixes(tokens, 9), length, owner, maximal=maximal)
    }
    wanted = {
        words: places
        for words, places in by_hand(lines, length).items()
        if len({n for n, _ in places}) > 1 and (not maximal or is_maximal(lines, places, length))
    }
    assert found == wanted


@given(LINES, st.integers(2, 4), st.integers(4, 9), st.integers(2, 3))
def test_chosen_sequences_recur_and_do_not_overlap_within_a_scale(
    lines: list[list[int]], shortest: int, longest: int, least: int
) -> None:
    used: defaultdict[int, set[tuple[int, int]]] = defaultdict(set)
    for sequence in sequences(text_of(lines), shortest, longest, least):
        assert shortest <= sequence.length <= longest
        words = {tuple(lines[n][f : f + sequence.length]) for n, f in sequence.occurrences}
        assert len(words) == 1
        assert sequence.graphs >= least
        scale = 0
        top = longest
        while top // 2 > shortest and sequence.length <= top // 2:
            top, scale = top // 2, scale + 1
        for n, first in sequence.occurrences:
            touched = {(n, first + i) for i in range(sequence.length)}
            assert not touched & used[scale]
            used[scale] |= touched


@given(st.lists(st.integers(0, 3), min_size=4, max_size=40))
def test_what_two_lines_share_completely_is_covered_up_to_a_rest(line: list[int]) -> None:
    """Two equal lines: what is longer than the longest sequence is cut into several."""
    found = list(sequences(text_of([line, line]), 4, 8))
    covered = {
        first + i for s in found for n, first in s.occurrences if n == 0 for i in range(s.length)
    }
    assert len(covered) >= len(line) - len(line) % 8


def test_the_longest_of_several_is_taken_whole() -> None:
    shared = [5, 6, 7, 8, 9, 5, 7]
    found = list(sequences(text_of([[1, *shared, 2], [3, *shared, 4], shared])))
    assert [(s.length, s.graphs) for s in found] == [(7, 3)]
    assert found[0].occurrences == ((0, 1), (1, 1), (2, 0))


def test_nothing_recurs_in_one_line_alone() -> None:
    assert list(sequences(text_of([[1, 2, 3, 4] * 4]))) == []
    assert list(sequences(Text())) == []


def test_lengths_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="8 to 4 calls"):
        list(sequences(text_of([[1]]), 8, 4))


def test_a_text_of_many_tokens_sorts_by_more_than_one_digit() -> None:
    """More ranks than a radix pass has values: the second digit counts."""
    half = np.arange(70_000)
    found = list(sequences(text_of([half.tolist(), half[60_000:].tolist()]), 4, 64))
    covered = sum(s.length for s in found if s.length > 32)
    assert covered >= 10_000 - 64


# -- on graphs --------------------------------------------------------------------------------


def chain(*targets: str, size: int = 4) -> Graph:
    spec = TensorSpec((size,), "float32")
    nodes, before = [], "x"
    for i, target in enumerate(targets):
        nodes.append(Node(f"n{i}", f"aten.{target}.default", (Ref(before),), result=spec))
        before = f"n{i}"
    return Graph((Input("x", spec, Normal(0.0, 1.0)),), tuple(nodes), (Ref(before),), Level.ATEN)


SHARED = ("relu", "exp", "sin", "cos")
GRAPHS = [chain("tanh", *SHARED), chain(*SHARED, "tanh"), chain("log", *SHARED, "log", size=8)]


def test_a_sequence_is_cut_out_once_at_its_first_place() -> None:
    kind = Typical.of(iter(GRAPHS))
    assert [kind(graph) for graph in GRAPHS] == [[("n1", "n2", "n3", "n4")], [], []]
    piece = Carver(GRAPHS[0]).carve(kind(GRAPHS[0])[0], kind="typical")
    assert [node.target for node in piece.nodes] == [f"aten.{name}.default" for name in SHARED]


def test_or_at_several_places() -> None:
    kind = Typical.of(GRAPHS, most=3)
    assert [len(kind(graph)) for graph in GRAPHS] == [1, 1, 1]


def test_with_sizes_only_equal_ones_are_alike() -> None:
    kind = Typical.of(GRAPHS, sizes=True, most=3)
    assert [len(kind(graph)) for graph in GRAPHS] == [1, 1, 0]


def test_another_graph_has_none() -> None:
    assert Typical.of(GRAPHS)(chain("neg")) == []
