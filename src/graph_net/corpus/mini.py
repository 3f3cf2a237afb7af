"""A selection of few, quick graphs that covers the categories and the operators."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from graph_net.corpus.pack import PackError
from graph_net.corpus.sample import shares
from graph_net.store.files import read_text

FILE = "mini.json"
COUNT = 28
MOST_BYTES = 80_000_000
MOST_NODES = 400
"""A compiler takes long for more, and a first look at compilers should not."""
MOST_FLOPS = 4e9
"""What two cores do not compute within these seconds."""
LEAST_SECONDS, MOST_SECONDS = 0.002, 0.045
"""Eager times that are measured well, and soon."""
NEW_LIBRARY, NEW_KIND = 3.0, 1.0
"""How many new operators a first graph of its library, or of its subcategory, is worth."""


@dataclass(frozen=True, slots=True)
class MiniGraph:
    """A graph of the selection; ``adds`` is how many operators no graph before it has."""

    name: str
    library: str
    category: str
    tensor_bytes: int
    seconds: float
    adds: int


@dataclass(frozen=True, slots=True)
class Mini:
    """A selection and how it was measured."""

    graphs: tuple[MiniGraph, ...]
    operators: int
    of_operators: int
    machine: str

    def save(self, path: Path) -> None:
        """Write it where ``load`` finds it."""
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", "utf-8")


def load(path: Path) -> Mini:
    """What ``save`` wrote."""
    if not path.is_file():
        raise PackError(f"no selection at {path}; `graph-net corpus mini` makes one")
    tree = json.loads(read_text(path))
    return Mini(**{**tree, "graphs": tuple(MiniGraph(**graph) for graph in tree["graphs"])})


def select_mini(
    rows: Iterable[Mapping[str, Any]],
    seconds_of: Callable[[str], float | None],
    count: int = COUNT,
    machine: str = "",
) -> Mini:
    """The selection: again and again the graph that adds most, as far as its category may.

    A graph adds the operators that none before it has, and something for being the first of its
    library or subcategory. Each category has its quota: an equal part, what one cannot fill going
    to the others. ``seconds_of`` measures a graph (None if it cannot be run); only those that
    would be chosen are measured, each once.
    """
    everything = list(rows)
    left = {r["name"]: r for r in everything if _is_small(r)}
    every = {name for row in everything for name in row["operators"]}
    chosen: list[MiniGraph] = []
    covered: set[str] = set()
    seen: set[str] = set()
    while len(chosen) < count and left:
        open_to = _open_categories(left, chosen, count)
        candidates = [row for row in left.values() if row["category"] in open_to]
        best = max(candidates, key=lambda row: (_gain(row, covered, seen), _order(row["name"])))
        del left[best["name"]]
        seconds = seconds_of(best["name"])
        if seconds is None or not LEAST_SECONDS <= seconds <= MOST_SECONDS:
            continue
        new = set(best["operators"]) - covered
        covered |= new
        seen |= {best["library"], f"{best['category']}/{best['subcategory']}"}
        words = {key: best[key] for key in ("name", "library", "category", "tensor_bytes")}
        chosen.append(MiniGraph(**words, seconds=round(seconds, 4), adds=len(new)))
    chosen.sort(key=lambda graph: graph.name)
    return Mini(tuple(chosen), len(covered), len(every), machine)


def _is_small(row: Mapping[str, Any]) -> bool:
    return bool(row["tensor_bytes"] <= MOST_BYTES and row["nodes"] <= MOST_NODES)


def _open_categories(
    left: Mapping[str, Mapping[str, Any]], chosen: Sequence[MiniGraph], count: int
) -> set[str]:
    """The categories that are furthest from their quota, among those with graphs left."""
    has = Counter(graph.category for graph in chosen)
    remains = Counter(row["category"] for row in left.values())
    names = sorted(set(has) | set(remains))
    equal = -(-count // max(len(names), 1))
    sizes = {(name,): min(equal, has[name] + remains[name]) for name in names}
    quota = shares(sizes, min(count, sum(sizes.values())))
    wanting = {name for name in names if remains[name] and has[name] < quota[(name,)]}
    return wanting or set(remains)


def _gain(row: Mapping[str, Any], covered: set[str], seen: set[str]) -> float:
    kind = f"{row['category']}/{row['subcategory']}"
    extra = NEW_LIBRARY * (row["library"] not in seen) + NEW_KIND * (kind not in seen)
    return len(set(row["operators"]) - covered) + extra


def _order(name: str) -> str:
    """An order of equals that depends on nothing but the name."""
    return sha256(name.encode()).hexdigest()
