"""Questions in SQL that see the tables they are given and nothing else of this machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    import duckdb


class SqlError(ValueError):
    """A question cannot be answered; says why in one line."""


class Sql:
    """A DuckDB connection in memory, shut off from files and from the network since its beginning.

    ``execute`` is for statements of this program, ``ask`` for what a user wrote.
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
        """Make an Arrow table or dataset a table; it is read when a question needs it."""
        self._connection.register(name, source)

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> duckdb.DuckDBPyConnection:
        """Run a statement and return its result."""
        return self._connection.execute(statement, list(parameters))

    def ask(self, question: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Return the column names and rows of one question; raises SqlError where it has none."""
        with _told():
            self._require_one(question)
            result = self._connection.execute(question)
            return [column[0] for column in result.description or ()], result.fetchall()

    def table(self, question: str) -> pa.Table:
        """Return the answer to one question as a table; raises SqlError where it has none."""
        with _told():
            self._require_one(question)
            return self._connection.sql(question).to_arrow_table()

    def arrays(self, question: str) -> dict[str, Any]:
        """Return the answer to one question as arrays; raises SqlError where it has none."""
        with _told():
            self._require_one(question)
            return dict(self._connection.execute(question).fetchnumpy())

    def _require_one(self, question: str) -> None:
        if len(self._connection.extract_statements(question)) != 1:
            raise SqlError("one question at a time")


@contextmanager
def _told() -> Iterator[None]:
    """Raise what DuckDB does not like as one line."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise SqlError(str(error).splitlines()[0]) from error
