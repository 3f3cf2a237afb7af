"""A reproducible stratified sample of a pack."""

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
    """Return ``count`` names, each kind (one value of ``by``) with its share, alphabetically.

    Every kind has at least one if ``count`` allows. The result depends on the rows and the seed,
    not on the order of the rows; a name keeps its rank when other rows come or go.
    """
    unknown = [column for column in by if column not in COLUMNS]
    if unknown:
        raise PackError(f"no column {unknown[0]!r}; columns: {', '.join(COLUMNS)}")
    if count < 0:
        raise PackError(f"{count} is not a number of graphs; give 0 or more")
    kinds: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for row in rows:
        kinds[tuple(str(row[column]) for column in by)].append(row["name"])
    chosen: list[str] = []
    for kind, share in allot({kind: len(names) for kind, names in kinds.items()}, count).items():
        chosen += sorted(kinds[kind], key=lambda name: _rank(name, seed))[:share]
    return sorted(chosen)


def allot(sizes: Mapping[Kind, int], count: int) -> dict[Kind, int]:
    """Divide ``count`` among kinds: one each as far as possible, the rest by size."""
    kinds = sorted(sizes, key=lambda kind: (-sizes[kind], kind))
    allotted = {kind: int(i < count) for i, kind in enumerate(kinds)}
    count = min(count, sum(sizes.values()))
    total = sum(sizes.values()) or 1
    while (left := count - sum(allotted.values())) > 0:
        # The kind furthest below its proportional share is next; whole parts at once.
        wanting = {
            k: sizes[k] * count / total - allotted[k] for k in kinds if allotted[k] < sizes[k]
        }
        whole = {k: min(int(w), sizes[k] - allotted[k]) for k, w in wanting.items() if w >= 1}
        if whole:
            for kind, more in sorted(whole.items(), key=lambda item: (-item[1], item[0])):
                more = min(more, left)
                allotted[kind] += more
                left -= more
        else:
            allotted[min(wanting, key=lambda kind: (-wanting[kind], kind))] += 1
    return allotted


def _rank(name: str, seed: int) -> str:
    return sha256(f"{seed}/{name}".encode()).hexdigest()
