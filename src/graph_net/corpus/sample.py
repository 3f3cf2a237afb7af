"""A part of a pack that is like the whole: reproducible, and fair to every kind of graph."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, TypeVar

from graph_net.corpus.columns import COLUMNS
from graph_net.corpus.pack import PackError

Kind = TypeVar("Kind", bound=tuple[str, ...])


def sample(
    rows: Iterable[Mapping[str, Any]], count: int, by: Sequence[str] = (), seed: int = 0
) -> list[str]:
    """Names of so many rows, each kind (one value of ``by``) with its share, in alphabetic order.

    Every kind has at least one where there are enough. The answer depends on the rows and the
    seed, not on the order of the rows; a name keeps its luck when other rows come or go.
    """
    unknown = [column for column in by if column not in COLUMNS]
    if unknown:
        raise PackError(f"no column {unknown[0]!r}; there are {', '.join(COLUMNS)}")
    if count < 0:
        raise PackError(f"{count} graphs cannot be drawn")
    kinds: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for row in rows:
        kinds[tuple(str(row[column]) for column in by)].append(row["name"])
    chosen: list[str] = []
    for kind, share in shares({kind: len(names) for kind, names in kinds.items()}, count).items():
        chosen += sorted(kinds[kind], key=lambda name: _luck(name, seed))[:share]
    return sorted(chosen)


def shares(sizes: Mapping[Kind, int], count: int) -> dict[Kind, int]:
    """How many of each kind make so many in all: one each as far as it goes, the rest by size."""
    kinds = sorted(sizes, key=lambda kind: (-sizes[kind], kind))
    given = {kind: int(i < count) for i, kind in enumerate(kinds)}
    count = min(count, sum(sizes.values()))
    total = sum(sizes.values()) or 1
    while (left := count - sum(given.values())) > 0:
        # Whoever is furthest below what its size entitles it to is next; whole parts at once.
        wanting = {k: sizes[k] * count / total - given[k] for k in kinds if given[k] < sizes[k]}
        whole = {k: min(int(w), sizes[k] - given[k]) for k, w in wanting.items() if w >= 1}
        if whole:
            for kind, more in sorted(whole.items(), key=lambda item: (-item[1], item[0])):
                more = min(more, left)
                given[kind] += more
                left -= more
        else:
            given[min(wanting, key=lambda kind: (-wanting[kind], kind))] += 1
    return given


def _luck(name: str, seed: int) -> str:
    return sha256(f"{seed}/{name}".encode()).hexdigest()
