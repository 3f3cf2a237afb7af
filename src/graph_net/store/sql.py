"""SQL queries that see the registered tables and nothing else of this machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from graph_net.printable import first_line

if TYPE_CHECKING:
    import duckdb


class SqlError(ValueError):
    """A query that cannot be answered; its message is one line."""


class Sql:
    """A DuckDB connection in memory, without access to files or the network.

    ``execute`` is for statements of this program, ``ask`` for a user's query.
    """

    def __init__(self, *, memory: str = "", threads: int = 0) -> None:
        import duckdb

        settings: dict[str, Any] = {
            "enable_external_access": "false",
            "python_enable_replacements": "false",  # a name is a table, never a Python variable
        }
        settings |= {"memory_limit": memory} if memory else {}
        settings |= {"threads": threads} if threads else {}
        self._connection = duckdb.connect(":memory:", config=settings)
        self._connection.execute("SET lock_configuration = true")

    def __enter__(self) -> Sql:
        return self

    def __exit__(self, *error: object) -> None:
        self._connection.close()

    def register(self, name: str, source: Any) -> None:
        """Make an Arrow table or dataset a table; it is read when a query needs it."""
        self._connection.register(name, source)

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> duckdb.DuckDBPyConnection:
        """Run a statement and return its result."""
        return self._connection.execute(statement, list(parameters))

    def ask(self, query: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Return the column names and rows of one query; raise SqlError if it fails."""
        with _one_line_errors():
            self._require_one(query)
            result = self._connection.execute(query)
            return [column[0] for column in result.description or ()], result.fetchall()

    def table(self, query: str) -> pa.Table:
        """Return the result of one query as a table; raise SqlError if it fails."""
        with _one_line_errors():
            self._require_one(query)
            return self._connection.sql(query).to_arrow_table()

    def select(
        self, query: str, parameters: Sequence[Any] = (), most: int = 1_000, batch: int = 1_000
    ) -> tuple[pa.Table, bool]:
        """Return the first rows of one SELECT, and whether there are more; raise SqlError.

        Rows beyond ``most`` are not computed; ``interrupt`` ends the query from another thread.
        """
        with _one_line_errors():
            self._require_select(query)
            result = self._connection.sql(query, params=list(parameters) or None)
            reader = result.to_arrow_reader(batch)
            batches, count = [], 0
            while count <= most:
                try:
                    batches.append(reader.read_next_batch())
                except StopIteration:
                    break
                count += batches[-1].num_rows
            table = pa.Table.from_batches(batches, reader.schema)
        return table.slice(0, most), count > most

    def interrupt(self) -> None:
        """End the query that runs on this connection, from another thread."""
        self._connection.interrupt()

    def _require_select(self, query: str) -> None:
        import duckdb

        self._require_one(query)
        kind = self._connection.extract_statements(query)[0].type
        if kind not in (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN):
            raise SqlError(f"only SELECT is answered, not {kind.name}")

    def arrays(self, query: str) -> dict[str, Any]:
        """Return the result of one query as arrays; raise SqlError if it fails."""
        with _one_line_errors():
            self._require_one(query)
            return dict(self._connection.execute(query).fetchnumpy())

    def _require_one(self, query: str) -> None:
        if len(self._connection.extract_statements(query)) != 1:
            raise SqlError("give one statement at a time")


@contextmanager
def _one_line_errors() -> Iterator[None]:
    """Raise DuckDB's errors as SqlError with a one-line message."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise SqlError(first_line(error, most=2000)) from error
