"""A small selection of quick graphs that covers the categories and the operators."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from graph_net.corpus.pack import PackError
from graph_net.corpus.sample import allot
from graph_net.graph.operators import Trait, base_name, names
from graph_net.store.atomic import write_text
from graph_net.store.files import read_text

FILE = "mini.json"
COUNT = 24
"""Graphs to select: two compilers take ten minutes for so many, on two cores."""
MOST_BYTES = 80_000_000
MOST_NODES = 400
"""Compiling larger graphs takes too long for a first comparison of compilers."""
MOST_FLOPS = 4e9
"""Operations; two cores do not compute more within ``MOST_SECONDS``."""
LEAST_SECONDS, MOST_SECONDS = 0.002, 0.045
"""Range of eager times that can be measured precisely and quickly."""
NEW_LIBRARY, NEW_KIND = 3.0, 1.0
"""The value, in new operators, of the first graph of a library, or of a subcategory."""
_RANDOM = names(Trait.RANDOM)
"""Calls with random results: two runs of such a graph differ, so no compiler can be judged."""


@dataclass(frozen=True, slots=True)
class MiniGraph:
    """A graph of the selection; ``adds`` counts operators that no earlier graph has."""

    name: str
    library: str
    category: str
    tensor_bytes: int
    seconds: float
    adds: int


@dataclass(frozen=True, slots=True)
class Mini:
    """A selection, and the machine it was measured on."""

    graphs: tuple[MiniGraph, ...]
    operators: int
    of_operators: int
    machine: str

    def save(self, path: Path) -> None:
        """Write it for ``load_mini``."""
        write_text(path, json.dumps(asdict(self), indent=1) + "\n")


def load_mini(path: Path) -> Mini:
    """Read what ``save`` wrote."""
    if not path.is_file():
        raise PackError(f"no selection at {path}; make one with `graph-net corpus mini`")
    tree = json.loads(read_text(path))
    return Mini(**{**tree, "graphs": tuple(MiniGraph(**graph) for graph in tree["graphs"])})


def select_mini(
    rows: Iterable[Mapping[str, Any]],
    seconds_of: Callable[[str], float | None],
    count: int = COUNT,
    machine: str = "",
) -> Mini:
    """Select graphs greedily by what they add, within the quota of their category.

    A graph adds operators that none before it has, and a bonus for the first of its library or
    subcategory. Each category has an equal quota; what one cannot fill goes to the others.
    ``seconds_of`` measures a graph (None if it cannot run); only candidates are measured, each
    once.
    """
    everything = list(rows)
    left = {
        row["name"]: row
        for row in everything
        if row["tensor_bytes"] <= MOST_BYTES
        and row["nodes"] <= MOST_NODES
        and _RANDOM.isdisjoint(map(base_name, row["operators"]))
    }
    operators = {name for row in everything for name in row["operators"]}
    chosen: list[MiniGraph] = []
    covered: set[str] = set()
    represented: set[str] = set()
    while len(chosen) < count and left:
        open_to = _open_categories(left, chosen, count)
        candidates = [row for row in left.values() if row["category"] in open_to]
        best = max(
            candidates,
            key=lambda row: (_gain(row, covered, represented), _tie_break(row["name"])),
        )
        del left[best["name"]]
        seconds = seconds_of(best["name"])
        if seconds is None or not LEAST_SECONDS <= seconds <= MOST_SECONDS:
            continue
        new = set(best["operators"]) - covered
        covered |= new
        represented |= {best["library"], f"{best['category']}/{best['subcategory']}"}
        fields = {key: best[key] for key in ("name", "library", "category", "tensor_bytes")}
        chosen.append(MiniGraph(**fields, seconds=round(seconds, 4), adds=len(new)))
    chosen.sort(key=lambda graph: graph.name)
    return Mini(tuple(chosen), len(covered), len(operators), machine)


def _open_categories(
    left: Mapping[str, Mapping[str, Any]], chosen: Sequence[MiniGraph], count: int
) -> set[str]:
    """Return the categories below their quota, among those with graphs left."""
    has = Counter(graph.category for graph in chosen)
    remains = Counter(row["category"] for row in left.values())
    names = sorted(set(has) | set(remains))
    equal = -(-count // max(len(names), 1))
    sizes = {(name,): min(equal, has[name] + remains[name]) for name in names}
    quota = allot(sizes, min(count, sum(sizes.values())))
    wanting = {name for name in names if remains[name] and has[name] < quota[(name,)]}
    return wanting or set(remains)


def _gain(row: Mapping[str, Any], covered: set[str], represented: set[str]) -> float:
    kind = f"{row['category']}/{row['subcategory']}"
    bonus = NEW_LIBRARY * (row["library"] not in represented)
    bonus += NEW_KIND * (kind not in represented)
    return len(set(row["operators"]) - covered) + bonus


def _tie_break(name: str) -> str:
    """Return an order of equals that depends on the name only."""
    return sha256(name.encode()).hexdigest()
