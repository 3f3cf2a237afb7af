"""The subgraphs of one graph, one kind at a time, and the files that spool them.

The subgraphs of a graph are in one file, written aside and renamed: a killed decomposition resumes
with the graphs that have no file.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from graph_net.corpus.subgraphs import SUBGRAPH_SCHEMA, subgraph_row
from graph_net.graph import Graph, GraphError
from graph_net.results.signature import signature_of
from graph_net.rewrite.anonymous import plain_names
from graph_net.rewrite.carve import Carver
from graph_net.rewrite.kinds import SubgraphKind
from graph_net.rewrite.operator_weight import computes
from graph_net.store.atomic import write_bytes

_NOTES = b"graph_net.pieces"


@dataclass
class Notes:
    """Counts of a graph's groups: all, trivial ones, and those that could not be cut.

    ``composed`` says whether the pieces gave the whole graph's outputs, if checked.
    """

    source: str = ""
    kind: str = ""
    groups: int = 0
    trivial: int = 0
    refused: dict[str, int] = field(default_factory=dict)
    failed: str = ""
    composed: bool | None = None


@dataclass(frozen=True, slots=True)
class Subgraphs:
    """The distinct subgraphs of one kind in one graph."""

    rows: list[dict[str, Any]]
    notes: Notes


def cut_pieces(source: str, graph: Graph, kind: str, groups: SubgraphKind) -> Subgraphs:
    """Cut a graph into subgraphs; equal ones are one row with the number of occurrences.

    A group in which no call computes (views and new tensors only) is trivial and is dropped.
    """
    carver = Carver(graph)
    notes = Notes(source, kind)
    refused: Counter[str] = Counter()
    found: Counter[tuple[Any, ...]] = Counter()
    pieces: dict[tuple[Any, ...], Graph | None] = {}
    for group in groups(graph):
        notes.groups += 1
        positions = sorted(carver.position[name] for name in group)
        if not any(computes(graph.nodes[position]) for position in positions):
            notes.trivial += 1
            continue
        key = _key(carver, positions)
        if key not in pieces:
            try:
                pieces[key] = plain_names(carver.carve(group, kind=kind))
            except GraphError as error:
                pieces[key] = None
                refused[signature_of(error.reason)] += 1
                continue
        found[key] += 1
    notes.refused = dict(refused)
    rows: dict[str, dict[str, Any]] = {}
    for key, count in found.items():
        piece = pieces[key]
        if piece is None:
            continue
        if piece.id in rows:
            rows[piece.id]["occurrences"] += count
        else:
            rows[piece.id] = subgraph_row(kind, piece, count, source)
    return Subgraphs(list(rows.values()), notes)


def _key(carver: Carver, positions: Sequence[int]) -> tuple[Any, ...]:
    """Return a key that is equal for groups with equal subgraphs, faster than their hash."""
    inside = set(positions)
    outputs = tuple(
        i
        for i, position in enumerate(positions)
        if carver.graph.nodes[position].name in carver.returned
        or any(reader not in inside for reader in carver.after[position])
    )
    return tuple(carver.items[i] for i in positions), carver.wiring(positions), outputs


class SubgraphSpool:
    """A directory with a file for each graph and kind, and for each graph that was lowered."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)

    def _file(self, graph: str, kind: str) -> Path:
        return self.path / f"{graph}-{kind}.arrow"

    def notes(self, graph: str, kind: str) -> Notes | None:
        """Return the notes of a graph, by its id; None without a readable file."""
        try:
            with pa.OSFile(str(self._file(graph, kind))) as file, pa.ipc.open_file(file) as stored:
                return Notes(**json.loads(stored.schema.metadata[_NOTES]))
        except (OSError, pa.ArrowException, KeyError, TypeError, ValueError):
            return None

    def rows(self, graph: str, kind: str) -> list[dict[str, Any]]:
        """Return the rows of a graph's subgraphs."""
        with pa.OSFile(str(self._file(graph, kind))) as file, pa.ipc.open_file(file) as stored:
            return list(stored.read_all().to_pylist())

    def graph(self, graph: str) -> bytes | None:
        """Return the bytes of a graph in the form that is cut, by its id in the pack."""
        try:
            return self._lowered(graph).read_bytes()
        except OSError:
            return None

    def put_graph(self, graph: str, data: bytes) -> None:
        """Store a graph in the form that is cut."""
        write_bytes(self._lowered(graph), data, durable=False)

    def _lowered(self, graph: str) -> Path:
        return self.path / f"{graph}.lowered"

    def put(self, graph: str, kind: str, data: bytes) -> None:
        """Store the subgraphs of a graph, as ``encode_pieces`` returns them."""
        write_bytes(self._file(graph, kind), data, durable=False)


def encode_pieces(rows: Iterable[dict[str, Any]], notes: Notes) -> bytes:
    """Return the bytes of a file with the subgraphs of one kind in one graph."""
    schema = SUBGRAPH_SCHEMA.with_metadata({_NOTES: json.dumps(asdict(notes)).encode()})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as file:
        file.write_table(pa.Table.from_pylist(list(rows), schema=schema))
    return bytes(sink.getvalue().to_pybytes())
