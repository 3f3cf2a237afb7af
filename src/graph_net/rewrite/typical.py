"""Find operator sequences that recur over a whole corpus.

Every graph is a line of tokens, one per call in order: target and attributes. All lines together
are one text, and a suffix array finds what recurs in it. At each scale (4 to 8 calls, to 16, to 32,
to 64) sequences are chosen that do not overlap and occur in at least two graphs: the longest first,
among equally long ones the most frequent.
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
    occurrences: tuple[tuple[int, int], ...]

    @property
    def graphs(self) -> int:
        """The number of graphs it occurs in."""
        return len({graph for graph, _ in self.occurrences})


class Text:
    """The calls of many graphs as one text, a line per graph; a few bytes per call."""

    def __init__(self, *, sizes: bool = False) -> None:
        self.sizes = sizes
        self.starts: list[int] = []
        self._token_ids: dict[bytes, int] = {}
        self._lines: list[Ints] = []
        self._length = 0

    def add(self, graph: Graph) -> None:
        """Append a graph."""
        ids = self._token_ids
        tokens = (call_token(node, sizes=self.sizes) for node in graph.nodes)
        self.append([ids.setdefault(token, len(ids)) for token in tokens])

    def append(self, line: list[int]) -> None:
        """Append a line of tokens, which are small integers."""
        self.starts.append(self._length)
        self._lines.append(np.array(line, np.int32))
        self._length += len(line) + 1

    def tokens(self) -> Ints:
        """Return the text; every line ends with a token that occurs nowhere else."""
        largest = max((int(line.max(initial=-1)) for line in self._lines), default=-1)
        parts = []
        for number, line in enumerate(self._lines, 1):
            parts += [line, np.array([largest + number], np.int32)]
        return np.concatenate(parts) if parts else np.zeros(0, np.int32)

    def owners(self) -> Ints:
        """Return the line of each position."""
        lengths = [len(line) + 1 for line in self._lines]
        return np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)


def sequences(
    text: Text, shortest: int = SHORTEST, longest: int = LONGEST, least: int = 2
) -> Iterator[Sequence]:
    """Yield the sequences that recur in a text, in at least ``least`` lines, longest first."""
    if not 2 <= shortest <= longest:
        raise ValueError(
            f"no sequence has {shortest} to {longest} calls; choose 2 <= shortest <= longest"
        )
    tokens = text.tokens()
    if not len(tokens):
        return
    owner, suffix_array = text.owners(), suffixes(tokens, longest)
    starts = np.array(text.starts, np.int32)
    for lengths in _scales(shortest, longest):
        covered = np.zeros(len(tokens) + longest, bool)
        for length in lengths:
            # Sequences beyond the longest are cut there: then their starts matter.
            whole = length == longest
            candidates = repeats(tokens, suffix_array, length, owner, maximal=not whole)
            for repeat in _in_text_order(candidates) if whole else candidates:
                positions = _choose(repeat, covered)
                lines = owner[positions]
                if len(positions) and len(np.unique(lines)) >= max(least, 2):
                    covered[positions[:, None] + np.arange(length)] = True
                    first = positions - starts[lines]
                    occurrences = zip(lines.tolist(), first.tolist(), strict=True)
                    yield Sequence(length, tuple(occurrences))


def _scales(shortest: int, longest: int) -> Iterator[range]:
    """Yield lengths from long to short, in groups that each begin at half the one before."""
    while longest >= shortest:
        below = longest // 2 if longest // 2 > shortest else shortest - 1
        yield range(longest, below, -1)
        longest = below


def _in_text_order(candidates: Iterable[Repeat]) -> list[Repeat]:
    return sorted(candidates, key=lambda repeat: int(repeat.positions.min()))


def _choose(repeat: Repeat, covered: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Ints:
    """Return the occurrences that overlap neither covered tokens nor each other, in text order.

    Covering sequences are at least as long, so checking the two ends suffices.
    """
    ends = repeat.positions + np.int32(repeat.length - 1)
    free = np.sort(repeat.positions[~(covered[repeat.positions] | covered[ends])])
    if len(free) < 2 or int(np.diff(free).min()) >= repeat.length:
        return free
    chosen = [int(free[0])]
    for position in free.tolist():
        if position >= chosen[-1] + repeat.length:
            chosen.append(position)
    return np.array(chosen, np.int32)


@dataclass(frozen=True)
class Typical:
    """The kind ``typical``, for the graphs it was made from: their sequences, each once."""

    ranges: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    """First node and length of each sequence to cut out, by the id of a graph."""

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
        """Return the kind for these graphs, read once; a sequence is cut out up to ``most`` times.

        With ``sizes``, calls are alike only if the shapes and dtypes of their results are.
        """
        text, ids = Text(sizes=sizes), []
        for graph in graphs:
            text.add(graph)
            ids.append(graph.id)
        ranges: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        for sequence in sequences(text, shortest, longest, least):
            for line, first in sequence.occurrences[:most]:
                ranges[ids[line]].append((first, sequence.length))
        return cls(dict(ranges))

    def __call__(self, graph: Graph) -> list[tuple[str, ...]]:
        """Return the groups of calls to cut out of one of the graphs."""
        names = [node.name for node in graph.nodes]
        cuts = self.ranges.get(graph.id, ())
        return [tuple(names[first : first + length]) for first, length in cuts]
