"""Align two sequences: pair equal items in order."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence

MOST_EDITS = 1_200
"""Most edits for which the shortest edit script is searched; the cost is quadratic."""
Pairs = list[tuple[int, int]]


def align(first: Sequence[str], second: Sequence[str]) -> Pairs:
    """Return pairs of positions that hold equal items, ascending in both.

    The longest such list, as in a shortest edit script (Myers, 1986). If sequences differ by more
    than MOST_EDITS, items that occur once in both are paired first (patience diff), then the
    stretches between them; a stretch that differs too much stays unpaired.
    """
    begin = 0
    while begin < min(len(first), len(second)) and first[begin] == second[begin]:
        begin += 1
    end = 0
    while end < min(len(first), len(second)) - begin and first[-1 - end] == second[-1 - end]:
        end += 1
    inner = _align(first[begin : len(first) - end], second[begin : len(second) - end])
    head = [(place, place) for place in range(begin)]
    tail = [(len(first) - place, len(second) - place) for place in range(end, 0, -1)]
    return [*head, *((a + begin, b + begin) for a, b in inner), *tail]


def _align(first: Sequence[str], second: Sequence[str]) -> Pairs:
    found = shortest_edits(first, second, MOST_EDITS)
    if found is not None:
        return found
    pairs: Pairs = []
    last = (-1, -1)
    for a, b in [*_anchors(first, second), (len(first), len(second))]:
        one, other = first[last[0] + 1 : a], second[last[1] + 1 : b]
        inner = shortest_edits(one, other, MOST_EDITS // 4) or []
        pairs += [(x + last[0] + 1, y + last[1] + 1) for x, y in inner]
        if a < len(first):
            pairs.append((a, b))
        last = (a, b)
    return pairs


def shortest_edits(first: Sequence[str], second: Sequence[str], most: int) -> Pairs | None:
    """Return the pairs of a shortest script; None if it has more than ``most`` edits."""
    n, m = len(first), len(second)
    if not n or not m:
        return []
    reach = {1: 0}
    trail: list[dict[int, int]] = []
    for edits in range(min(n + m, most) + 1):
        trail.append(dict(reach))
        for diagonal in range(-edits, edits + 1, 2):
            down = diagonal == -edits or (
                diagonal != edits and reach[diagonal - 1] < reach[diagonal + 1]
            )
            x = reach[diagonal + 1] if down else reach[diagonal - 1] + 1
            y = x - diagonal
            while x < n and y < m and first[x] == second[y]:
                x, y = x + 1, y + 1
            reach[diagonal] = x
            if x >= n and y >= m:
                return _walk_back(trail, n, m)
    return None


def _walk_back(trail: list[dict[int, int]], x: int, y: int) -> Pairs:
    """Return the pairs of a script: the diagonal steps between edits, traced from the end."""
    pairs: Pairs = []
    for edits in range(len(trail) - 1, -1, -1):
        reach, diagonal = trail[edits], x - y
        down = diagonal == -edits or (
            diagonal != edits and reach[diagonal - 1] < reach[diagonal + 1]
        )
        before = diagonal + 1 if down else diagonal - 1
        start = reach[before]
        while x > start and y > start - before:
            x, y = x - 1, y - 1
            pairs.append((x, y))
        x, y = start, start - before
    return pairs[::-1]


def _anchors(first: Sequence[str], second: Sequence[str]) -> Pairs:
    """Return items that occur once in both, the longest list that ascends in both."""
    once = {item for item, count in Counter(first).items() if count == 1}
    place = {item: number for number, item in enumerate(second)}
    once &= {item for item, count in Counter(second).items() if count == 1}
    both = [(a, place[item]) for a, item in enumerate(first) if item in once]
    tails: list[int] = []
    ends: list[int] = []
    back: list[int] = []
    for number, (_, b) in enumerate(both):
        rank = bisect_left(tails, b)
        back.append(ends[rank - 1] if rank else -1)
        tails[rank : rank + 1], ends[rank : rank + 1] = [b], [number]
    chain, number = [], ends[-1] if ends else -1
    while number >= 0:
        chain.append(both[number])
        number = back[number]
    return chain[::-1]
