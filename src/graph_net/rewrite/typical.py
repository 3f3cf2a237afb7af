"""Operator sequences that recur over a whole corpus.

Every graph is a line of tokens, one a call in the order they are made: target and attributes.
All lines together are one text, and a suffix array finds what occurs again in it. Of that are
chosen, at each scale (4 to 8 calls, to 16, to 32, to 64), sequences that do not overlap and that
occur in two graphs at least: the longest first, among equally long ones the most frequent.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from graph_net.graph.graph import Graph
from graph_net.graph.hashing import call_token
from graph_net.rewrite.repeated import Ints, Repeat, repeats, suffixes

SHORTEST, LONGEST = 4, 64


@dataclass(frozen=True)
class Sequence:
    """A recurring sequence: its length, and where it was chosen, as (graph, first node)."""

    length: int
    places: tuple[tuple[int, int], ...]

    @property
    def graphs(self) -> int:
        """In how many graphs it occurs."""
        return len({graph for graph, _ in self.places})


class Text:
    """The calls of many graphs as one text, a line a graph; a few bytes a call."""

    def __init__(self, *, sizes: bool = False) -> None:
        self.sizes = sizes
        self.starts: list[int] = []
        self._known: dict[bytes, int] = {}
        self._lines: list[Ints] = []
        self._length = 0

    def add(self, graph: Graph) -> None:
        """Append a graph."""
        known = self._known
        tokens = (call_token(node, sizes=self.sizes) for node in graph.nodes)
        self.append([known.setdefault(token, len(known)) for token in tokens])

    def append(self, line: list[int]) -> None:
        """Append a line of tokens, which are small whole numbers."""
        self.starts.append(self._length)
        self._lines.append(np.array(line, np.int32))
        self._length += len(line) + 1

    def tokens(self) -> Ints:
        """The text; every line ends with a token that occurs nowhere else."""
        largest = max((int(line.max(initial=-1)) for line in self._lines), default=-1)
        parts = []
        for number, line in enumerate(self._lines, 1):
            parts += [line, np.array([largest + number], np.int32)]
        return np.concatenate(parts) if parts else np.zeros(0, np.int32)

    def owners(self) -> Ints:
        """For each position the line it is in."""
        lengths = [len(line) + 1 for line in self._lines]
        return np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)


def sequences(
    text: Text, shortest: int = SHORTEST, longest: int = LONGEST, least: int = 2
) -> Iterator[Sequence]:
    """What recurs in a text, in at least ``least`` lines, longest first."""
    if not 2 <= shortest <= longest:
        raise ValueError(f"sequences of {shortest} to {longest} calls: from 2 on, shortest first")
    tokens = text.tokens()
    if not len(tokens):
        return
    owner, found = text.owners(), suffixes(tokens, longest)
    starts = np.array(text.starts, np.int32)
    for lengths in _scales(shortest, longest):
        covered = np.zeros(len(tokens) + longest, bool)
        for length in lengths:
            # What goes on beyond the longest is cut there: then it matters where it begins.
            whole = length == longest
            candidates = repeats(tokens, found, length, owner, maximal=not whole)
            for repeat in _in_text_order(candidates) if whole else candidates:
                places = _chosen(repeat, covered)
                lines = owner[places]
                if len(places) and len(np.unique(lines)) >= max(least, 2):
                    covered[places[:, None] + np.arange(length)] = True
                    first = places - starts[lines]
                    where = zip(lines.tolist(), first.tolist(), strict=True)
                    yield Sequence(length, tuple(where))


def _scales(shortest: int, longest: int) -> Iterator[range]:
    """Lengths from long to short, in groups of which each begins at half the one before."""
    while longest >= shortest:
        below = longest // 2 if longest // 2 > shortest else shortest - 1
        yield range(longest, below, -1)
        longest = below


def _in_text_order(found: Iterable[Repeat]) -> list[Repeat]:
    return sorted(found, key=lambda repeat: int(repeat.places.min()))


def _chosen(repeat: Repeat, covered: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Ints:
    """The occurrences that touch nothing covered and not each other, in text order.

    What is covered is covered by sequences at least as long, so the two ends tell.
    """
    ends = repeat.places + np.int32(repeat.length - 1)
    free = np.sort(repeat.places[~(covered[repeat.places] | covered[ends])])
    if len(free) < 2 or int(np.diff(free).min()) >= repeat.length:
        return free
    kept = [int(free[0])]
    for place in free.tolist():
        if place >= kept[-1] + repeat.length:
            kept.append(place)
    return np.array(kept, np.int32)


@dataclass(frozen=True)
class Typical:
    """The kind ``typical``, for the graphs it was made from: their sequences, each once."""

    ranges: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    """By the id of a graph: first node and length of each sequence that is cut out there."""

    @classmethod
    def of(
        cls,
        graphs: Iterable[Graph],
        *,
        shortest: int = SHORTEST,
        longest: int = LONGEST,
        least: int = 2,
        sizes: bool = False,
        most: int = 1,
    ) -> Typical:
        """What recurs in these graphs, which are read once, each cut out at ``most`` places.

        With ``sizes``, calls are alike only where the shapes and dtypes of their results are.
        """
        text, ids = Text(sizes=sizes), []
        for graph in graphs:
            text.add(graph)
            ids.append(graph.id)
        ranges: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        for sequence in sequences(text, shortest, longest, least):
            for line, first in sequence.places[:most]:
                ranges[ids[line]].append((first, sequence.length))
        return cls(dict(ranges))

    def __call__(self, graph: Graph) -> list[tuple[str, ...]]:
        """The groups of calls to cut out of one of the graphs."""
        names = [node.name for node in graph.nodes]
        found = self.ranges.get(graph.id, ())
        return [tuple(names[first : first + length]) for first, length in found]
