"""The composition of a pack in numbers."""

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
from graph_net.store.atomic import write_text
from graph_net.store.files import read_bytes, read_text

FILE = "stats.json"
TRAINING_TAG = "training"
"""A graph with this tag holds a backward pass; such graphs are counted separately."""


@dataclass(frozen=True, slots=True)
class Stats:
    """The composition of a pack. ``codes`` counts graphs that GraphNet considers distinct.

    ``operators`` has the number of graphs that use each, ``batches`` the number of graphs by
    leading size of the first input, ``nodes`` and ``tensor_bytes`` the quartiles with minimum and
    maximum, ``decades`` the number of graphs with up to 10, 10^1.5, 10^2, … nodes, ``parts`` the
    digest of each counted file.
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
        counts: Counter[str] = Counter()
        for categories in self.libraries.values():
            counts.update(categories)
        return dict(counts.most_common())

    def save(self, path: Path) -> None:
        """Write it for ``load_stats``."""
        write_text(path, json.dumps(asdict(self), indent=1) + "\n")


def load_stats(path: Path) -> Stats:
    """Read what ``save`` wrote."""
    if not path.is_file():
        raise PackError(f"no counts at {path}; write them with `graph-net corpus stats`")
    return Stats(**json.loads(read_text(path)))


def count_pack(pack: Pack) -> Stats:
    """Count everything; read every graph once."""
    rows = pack.rows(COLUMNS).to_pylist()
    if not rows:
        raise PackError(f"{pack.path} has no graphs")
    rows.sort(key=lambda row: row["name"])
    libraries: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        libraries[row["library"] or ""][row["category"] or ""] += 1
    structures = Counter(row["structure"] for row in rows)
    repeated = {row["name"]: row["structure"] for row in rows if structures[row["structure"]] > 1}
    codes, batches = _read_graphs(pack, repeated)
    largest = max(rows, key=lambda row: row["parameters"])
    longest = max(rows, key=lambda row: row["nodes"])
    return Stats(
        graphs=len(rows),
        codes=sum(number == 1 for number in structures.values()) + codes,
        structures=len(structures),
        training=sum(TRAINING_TAG in row["tags"] for row in rows),
        libraries={name: _count_common(libraries[name]) for name in sorted(libraries)},
        subcategories=_count_common(row["subcategory"] or "" for row in rows),
        operators=_count_common(name for row in rows for name in row["operators"]),
        dtypes=_count_common(name for row in rows for name in row["dtypes"]),
        batches=_count_common(batches),
        levels=_count_common(row["level"] for row in rows),
        versions=_count_common(row["framework_version"] or "" for row in rows),
        nodes=_quartiles([row["nodes"] for row in rows]),
        tensor_bytes=_quartiles([row["tensor_bytes"] for row in rows]),
        decades=_count_decades([row["nodes"] for row in rows]),
        largest={key: largest[key] for key in ("name", "parameters", "nodes")},
        longest={key: longest[key] for key in ("name", "parameters", "nodes")},
        total_nodes=sum(row["nodes"] for row in rows),
        pack_bytes=sum(part.stat().st_size for part in pack.parts),
        parts=hash_parts(pack),
    )


def hash_parts(pack: Pack) -> dict[str, str]:
    """Return the SHA-256 of each part, to which counts belong."""
    return {part.name: sha256(read_bytes(part)).hexdigest() for part in pack.parts}


def _read_graphs(pack: Pack, repeated: Mapping[str, str]) -> tuple[int, list[str]]:
    """Count the codes of graphs with a repeated structure, and list every graph's batch size."""
    codes: set[str] = set()
    batches = []
    for name, graph in pack.graphs():
        if name in repeated:
            codes.add(code_hash(graph))
        batches.append(batch_size(graph))
    return len(codes), batches


def batch_size(graph: Graph) -> str:
    """Return the leading size of a graph's first input tensor, or ``none``."""
    for entry in graph.inputs:
        if entry.role is Role.INPUT and isinstance(entry.spec, TensorSpec) and entry.spec.shape:
            return str(entry.spec.sizes(graph.bindings)[0])
    return "none"


def _count_common(names: Iterable[str] | Counter[str]) -> dict[str, int]:
    """Count names, the most frequent first, then alphabetically."""
    return dict(sorted(Counter(names).items(), key=lambda item: (-item[1], item[0])))


def _quartiles(numbers: list[int]) -> list[int]:
    inner = quantiles(numbers, n=4, method="inclusive") if len(numbers) > 1 else numbers * 3
    return [min(numbers), *(round(number) for number in inner), max(numbers)]


def _count_decades(numbers: list[int]) -> dict[str, int]:
    """Count the numbers in each half decade, by its upper end."""
    edges = [round(10 ** (step / 2)) for step in range(2, 14)]
    counts = dict.fromkeys(map(str, edges), 0)
    for number in numbers:
        counts[str(next((edge for edge in edges if number <= edge), edges[-1]))] += 1
    while counts and list(counts.values())[-1] == 0:
        counts.popitem()
    return counts
