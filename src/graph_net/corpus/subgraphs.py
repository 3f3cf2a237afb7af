"""Packs of subgraphs: their schema, and how they are written.

A row is a subgraph of one kind; the same subgraph under two kinds is two rows with one id.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

from graph_net.corpus.columns import SCHEMA, SUBGRAPH_COLUMNS, row_of
from graph_net.corpus.pack import SUFFIX, write_part
from graph_net.graph import Graph
from graph_net.store.lock import hold_lock

SUBGRAPH_SCHEMA = pa.schema(
    [*list(SCHEMA)[:-1], *SUBGRAPH_COLUMNS, SCHEMA.field("graph")],
    metadata=SCHEMA.metadata,
)
PART_ROWS = 1 << 17
ROW_GROUP = 1 << 13
COMPRESSION_LEVEL = 19
"""Rows are small and similar: long row groups and a high level halve their size."""
MODELS_NAMED = 8
NAME_DIGITS = 16


def subgraph_row(kind: str, graph: Graph, occurrences: int, source: str) -> dict[str, Any]:
    """Return the row of a subgraph of one graph in a pack, named ``source``."""
    row = row_of(f"{kind}/{graph.id[:NAME_DIGITS]}", graph)
    return row | {
        "kind": kind, "occurrences": occurrences, "models": 1, "in_models": [source],
    }  # fmt: skip


def merge_rows(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Merge rows of many graphs into one per kind and id, with occurrences and models summed."""
    merged: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        first = merged.setdefault((row["kind"], row["id"]), row)
        if first is not row:
            first["occurrences"] += row["occurrences"]
            first["models"] += row["models"]
            first["in_models"] = (first["in_models"] + row["in_models"])[:MODELS_NAMED]
    # Similar neighbours compress well: sort by operators, then by size.
    return sorted(
        merged.values(),
        key=lambda row: (row["operators"], row["nodes"], row["structure"], row["id"], row["kind"]),
    )


def write_subgraphs(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write a pack of exactly these rows; old parts are removed once the new ones are written."""
    with hold_lock(path):
        _replace_parts(path, rows)


def _replace_parts(path: Path, rows: list[dict[str, Any]]) -> None:
    aside = path / ".new"
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()
    for number, start in enumerate(range(0, len(rows), PART_ROWS)):
        table = pa.Table.from_pylist(rows[start : start + PART_ROWS], schema=SUBGRAPH_SCHEMA)
        target = aside / f"part-{number:05d}{SUFFIX}"
        write_part(target, table, row_group=ROW_GROUP, level=COMPRESSION_LEVEL)
    for old in path.glob(f"part-*{SUFFIX}"):
        old.unlink()
    for new in sorted(aside.iterdir()):
        new.rename(path / new.name)
    aside.rmdir()
