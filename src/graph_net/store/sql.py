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

        settings: dict[str, Any] = {"enable_external_access": "false"}
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
    """Raise DuckDB's errors as SqlError, of one line."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise SqlError(first_line(error, most=2000)) from error
