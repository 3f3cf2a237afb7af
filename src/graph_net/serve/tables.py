"""The tables that SQL queries see: ``graphs``, ``records``, ``programs`` and ``tasks``.

Each is one table over all packs or runs, with a first column that names the source.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graph_net.serve.holdings import Held, HeldKind, Holdings, Signature, signature_of

if TYPE_CHECKING:
    import pyarrow as pa

    from graph_net.store.sql import Sql

SOURCES = {
    "graphs": ("pack", HeldKind.PACK),
    "records": ("run", HeldKind.RECORDS),
    "programs": ("run", HeldKind.PROGRAMS),
    "tasks": ("run", HeldKind.PROGRAMS),
}
"""By table, the column that names the source, and what the source holds."""
Place = tuple[str, str]
"""The name and the path of a source."""


def places(holdings: Holdings) -> dict[str, list[Place]]:
    """Return the sources of each table, for another process."""
    return {
        table: [_place(held) for held in holdings.of(kind)] for table, (_, kind) in SOURCES.items()
    }


def _place(held: Held) -> Place:
    return held.name, str(held.path)


@dataclass
class TableSet:
    """Creates the tables that a query names; packs stay in memory until their files change."""

    _packs: dict[str, tuple[Signature, Any]] = field(default_factory=dict)

    def create(self, sql: Sql, query: str, where: dict[str, list[Place]]) -> None:
        """Create the tables of a connection whose names occur in a query."""
        for table in SOURCES:
            if re.search(rf"\b{table}\b", query, re.IGNORECASE):
                self._create(sql, table, where.get(table, []))

    def _create(self, sql: Sql, table: str, found: Sequence[Place]) -> None:
        column = SOURCES[table][0]
        makers: dict[str, Callable[[Sql, Path, str], None]] = {
            "graphs": self._graphs, "records": _records, "programs": _programs, "tasks": _tasks,
        }  # fmt: skip
        selects = []
        for number, (name, path) in enumerate(found):
            makers[table](sql, Path(path), f"{table}_{number}")
            text = name.replace("'", "''")
            selects.append(f"SELECT '{text}' AS \"{column}\", * FROM {table}_{number}")  # noqa: S608
        if not selects:
            sql.register(f"{table}_none", _empty(table))
            selects = [f"SELECT '' AS \"{column}\", * FROM {table}_none"]  # noqa: S608
        sql.execute(f'CREATE VIEW "{table}" AS {" UNION ALL BY NAME ".join(selects)}')

    def _graphs(self, sql: Sql, path: Path, view: str) -> None:
        from graph_net.corpus.pack import Pack

        state = signature_of(path)
        held = self._packs.get(str(path))
        if held is None or held[0] != state:
            pack = Pack(path)
            held = self._packs[str(path)] = (state, pack.rows(pack.columns))
        sql.register(view, held[1])


def _records(sql: Sql, path: Path, view: str) -> None:
    from graph_net.store.record_sql import create_records
    from graph_net.store.records import RecordStore

    create_records(sql, RecordStore(path), view)


def _programs(sql: Sql, path: Path, view: str) -> None:
    from graph_net.programs.store.program_store import ProgramStore

    ProgramStore(path).create_view(sql, view)


def _tasks(sql: Sql, path: Path, view: str) -> None:
    from graph_net.programs.store.task_table import TaskStore

    sql.register(view, TaskStore(path).source())


def _empty(table: str) -> pa.Table:
    from graph_net.corpus.columns import COLUMNS
    from graph_net.corpus.columns import SCHEMA as GRAPHS
    from graph_net.programs.store.columns import SCHEMA as PROGRAMS
    from graph_net.programs.store.task_table import SCHEMA as TASKS
    from graph_net.store.record_columns import SCHEMA as RECORDS

    schemas = {"records": RECORDS, "programs": PROGRAMS, "tasks": TASKS}
    if table == "graphs":
        return GRAPHS.empty_table().select(list(COLUMNS))
    return schemas[table].empty_table()
