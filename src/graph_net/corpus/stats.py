"""What a pack is made of, counted."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from statistics import quantiles
from typing import Any

from graph_net.corpus.columns import COLUMNS
from graph_net.corpus.pack import Pack, PackError
from graph_net.graph import Graph, Role, TensorSpec
from graph_net.graph.hashing import code_hash
from graph_net.store.files import read_bytes, read_text

FILE = "stats.json"
TRAINING_TAG = "training"
"""A graph with this tag holds a backward pass; such graphs are counted apart."""


@dataclass(frozen=True, slots=True)
class Stats:
    """The composition of a pack. ``codes`` is the number of graphs distinct as GraphNet counts.

    ``operators`` has for each the number of graphs that use it, ``batches`` for each leading size
    of the first input the number of graphs, ``nodes`` and ``tensor_bytes`` their quartiles with
    the ends, ``decades`` the number of graphs with up to 10, 10^1.5, 10^2, … nodes, ``parts`` the
    digest of each file these counts were made from.
    """

    graphs: int
    codes: int
    structures: int
    training: int
    libraries: dict[str, dict[str, int]]
    subcategories: dict[str, int]
    operators: dict[str, int]
    dtypes: dict[str, int]
    batches: dict[str, int]
    levels: dict[str, int]
    versions: dict[str, int]
    nodes: list[int]
    tensor_bytes: list[int]
    decades: dict[str, int]
    largest: dict[str, Any]
    longest: dict[str, Any]
    total_nodes: int
    pack_bytes: int
    parts: dict[str, str]

    @property
    def categories(self) -> dict[str, int]:
        """The number of graphs of each category."""
        found: Counter[str] = Counter()
        for kinds in self.libraries.values():
            found.update(kinds)
        return dict(found.most_common())

    def save(self, path: Path) -> None:
        """Write it where ``load`` finds it."""
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", "utf-8")


def load(path: Path) -> Stats:
    """What ``save`` wrote."""
    if not path.is_file():
        raise PackError(f"no counts at {path}; `graph-net corpus stats` writes them")
    return Stats(**json.loads(read_text(path)))


def count(pack: Pack) -> Stats:
    """Count everything; reads every graph once."""
    rows = pack.rows(COLUMNS).to_pylist()
    if not rows:
        raise PackError(f"{pack.path} has no graphs")
    rows.sort(key=lambda row: row["name"])
    libraries: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        libraries[row["library"] or ""][row["category"] or ""] += 1
    structures = Counter(row["structure"] for row in rows)
    repeated = {row["name"]: row["structure"] for row in rows if structures[row["structure"]] > 1}
    codes, batches = _look_inside(pack, repeated)
    largest = max(rows, key=lambda row: row["parameters"])
    longest = max(rows, key=lambda row: row["nodes"])
    return Stats(
        graphs=len(rows),
        codes=sum(number == 1 for number in structures.values()) + codes,
        structures=len(structures),
        training=sum(TRAINING_TAG in row["tags"] for row in rows),
        libraries={name: _common(libraries[name]) for name in sorted(libraries)},
        subcategories=_common(row["subcategory"] or "" for row in rows),
        operators=_common(name for row in rows for name in row["operators"]),
        dtypes=_common(name for row in rows for name in row["dtypes"]),
        batches=_common(batches),
        levels=_common(row["level"] for row in rows),
        versions=_common(row["framework_version"] or "" for row in rows),
        nodes=_quartiles([row["nodes"] for row in rows]),
        tensor_bytes=_quartiles([row["tensor_bytes"] for row in rows]),
        decades=_decades([row["nodes"] for row in rows]),
        largest={key: largest[key] for key in ("name", "parameters", "nodes")},
        longest={key: longest[key] for key in ("name", "parameters", "nodes")},
        total_nodes=sum(row["nodes"] for row in rows),
        pack_bytes=sum(part.stat().st_size for part in pack.parts),
        parts=digests(pack),
    )


def digests(pack: Pack) -> dict[str, str]:
    """The sha256 of each part: counts belong to these files and no others."""
    return {part.name: sha256(read_bytes(part)).hexdigest() for part in pack.parts}


def _look_inside(pack: Pack, repeated: Mapping[str, str]) -> tuple[int, list[str]]:
    """How many codes the graphs with a repeated structure have, and every graph's batch size."""
    codes: set[str] = set()
    batches = []
    for name, graph in pack.graphs():
        if name in repeated:
            codes.add(code_hash(graph))
        batches.append(batch_size(graph))
    return len(codes), batches


def batch_size(graph: Graph) -> str:
    """The leading size of the first tensor a graph is called with, or ``none``."""
    for entry in graph.inputs:
        if entry.role is Role.INPUT and isinstance(entry.spec, TensorSpec) and entry.spec.shape:
            return str(entry.spec.sizes(graph.bindings)[0])
    return "none"


def _common(words: Iterable[str] | Counter[str]) -> dict[str, int]:
    """Counts, the most frequent first, equal ones by name: the same in any order of rows."""
    return dict(sorted(Counter(words).items(), key=lambda item: (-item[1], item[0])))


def _quartiles(numbers: list[int]) -> list[int]:
    inner = quantiles(numbers, n=4, method="inclusive") if len(numbers) > 1 else numbers * 3
    return [min(numbers), *(round(number) for number in inner), max(numbers)]


def _decades(numbers: list[int]) -> dict[str, int]:
    """How many lie in each half decade, by the number it ends with."""
    edges = [round(10 ** (step / 2)) for step in range(2, 14)]
    found = dict.fromkeys(map(str, edges), 0)
    for number in numbers:
        found[str(next((edge for edge in edges if number <= edge), edges[-1]))] += 1
    while found and list(found.values())[-1] == 0:
        found.popitem()
    return found
