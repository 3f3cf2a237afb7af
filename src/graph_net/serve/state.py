"""State shared by the pages: the holdings, the SQL processes, and recent results."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from graph_net.corpus.pack import Pack
from graph_net.report.page_rows import PageEntry, entry_of, read_entries
from graph_net.roofline.floor import headroom_of
from graph_net.roofline.store import read_rooflines
from graph_net.serve.ask_sql import Answer, SqlLimits, SqlProcess
from graph_net.serve.errors import NotServed
from graph_net.serve.holdings import Held, HeldKind, Holdings, find_holdings
from graph_net.serve.picture import GraphPictures
from graph_net.store.record_columns import SCHEMA, record_of
from graph_net.store.records import RecordStore

FRESH = 2.0
"""Seconds after which directories are scanned again."""
OWN = SqlLimits(rows=100_000, seconds=120.0)
"""Limits of the pages' own queries."""
Value = TypeVar("Value")


class Recent(Generic[Value]):
    """The last few values, each computed once; requests for other keys do not wait."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: OrderedDict[Hashable, Value] = OrderedDict()
        self._making: dict[Hashable, threading.Lock] = {}
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return the value of a key, computing it if it is not cached."""
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key]
            making = self._making.setdefault(key, threading.Lock())
        with making:
            with self._lock:
                if key in self._held:
                    return self._held[key]
            value = make()
            with self._lock:
                self._held[key] = value
                self._making.pop(key, None)
                while len(self._held) > self._most:
                    self._held.popitem(last=False)
            return value


@dataclass(frozen=True)
class GraphPlace:
    """A graph of a pack, and its columns."""

    pack: Held
    name: str
    row: dict[str, Any]

    @property
    def id(self) -> str:
        """The id of the graph."""
        return str(self.row["id"])


@dataclass
class ServedState:
    """What is served, with caches of recent results."""

    roots: Sequence[Path]
    _found: tuple[float, Holdings] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _pictures: Recent[GraphPictures] = field(default_factory=lambda: Recent(8))
    _places: Recent[GraphPlace] = field(default_factory=lambda: Recent(64))
    _entries: Recent[list[PageEntry]] = field(default_factory=lambda: Recent(4))
    made: Recent[Any] = field(default_factory=lambda: Recent(16))
    """Pages that are slow to make, by their inputs."""

    def __post_init__(self) -> None:
        self.own = SqlProcess(self.roots)
        self.users = SqlProcess(self.roots)

    def holdings(self) -> Holdings:
        """Return what is served now."""
        with self._lock:
            now = time.monotonic()
            if self._found is None or now - self._found[0] > FRESH:
                self._found = (now, find_holdings(self.roots))
            return self._found[1]

    def ask(self, query: str, parameters: Sequence[Any] = (), limits: SqlLimits = OWN) -> Answer:
        """Return the answer to one of the pages' own queries."""
        return self.own.ask(self.holdings(), query, parameters, limits)

    def rows(self, query: str, parameters: Sequence[Any] = ()) -> list[dict[str, Any]]:
        """Return the rows of one of the pages' own queries."""
        return list(self.ask(query, parameters).table.to_pylist())

    def counted(self, kind: HeldKind, query: str) -> list[dict[str, Any]]:
        """Return the rows of a query, cached until its data changes."""
        state = tuple((held.path, held.signature) for held in self.holdings().of(kind))
        found: list[dict[str, Any]] = self.made.get((query, state), lambda: self.rows(query))
        return found

    def held(self, name: str, kind: HeldKind) -> Held:
        """Return a pack, run or model by name."""
        return self.holdings().named(name, kind)

    def find_graph(self, graph_id: str, pack: str = "") -> GraphPlace:
        """Return the location of a graph, by id or name; raise NotServed if no pack holds it."""
        packs = tuple((held.path, held.signature) for held in self.holdings().of(HeldKind.PACK))
        key = graph_id, pack, packs
        return self._places.get(key, lambda: self._find_graph(graph_id, pack))

    def _find_graph(self, graph_id: str, pack: str) -> GraphPlace:
        chosen = "AND pack = ?" if pack else ""
        parameters = [graph_id, graph_id, *([pack] if pack else [])]
        rows = self.rows(
            f"SELECT * FROM graphs WHERE (id = ? OR name = ?) {chosen} LIMIT 1",  # noqa: S608
            parameters,
        )
        if not rows:
            raise NotServed(f"no pack that is served holds the graph {graph_id!r}")
        return GraphPlace(self.held(rows[0]["pack"], HeldKind.PACK), rows[0]["name"], rows[0])

    def pictures(self, place: GraphPlace) -> GraphPictures:
        """Return the pictures of a graph."""
        key = place.pack.path, place.name, place.pack.signature
        return self._pictures.get(
            key, lambda: GraphPictures(Pack(place.pack.path).graph(place.name))
        )

    def entries(self, run: Held) -> list[PageEntry]:
        """Return the measurements of a run."""
        return self._entries.get(
            (run.path, run.signature),
            lambda: read_entries(RecordStore(run.path), read_rooflines(run.path)),
        )

    def entries_of_graph(self, graph_id: str) -> list[tuple[Held, PageEntry]]:
        """Return the measurements of one graph in every run, with its raw samples."""
        rows = self.rows("SELECT * FROM records WHERE graph_id = ?", [graph_id])
        found = []
        for row in rows:
            run = self.held(row["run"], HeldKind.RECORDS)
            record = record_of({name: row[name] for name in SCHEMA.names})
            headroom = headroom_of(record, read_rooflines(run.path))
            found.append((run, entry_of(record, headroom)))
        return sorted(found, key=lambda pair: (pair[0].name, pair[1].config.label))

    def close(self) -> None:
        """End the processes."""
        self.own.close()
        self.users.close()
