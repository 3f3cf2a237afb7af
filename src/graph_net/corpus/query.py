"""SQL queries of a pack."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from graph_net.corpus.pack import Pack, PackError
from graph_net.store.sql import Sql, SqlError

MEMORY = "4GiB"
"""The memory limit of a query."""


def select(
    pack: Pack,
    where: str | None = None,
    order: str = "name",
    limit: int | None = None,
    columns: Collection[str] | None = None,
) -> list[dict[str, Any]]:
    """Return the rows of a pack that meet a SQL condition, without reading graphs.

    The condition sees the columns of ``graph_net.corpus.columns`` and nothing outside the pack.
    Rows have all of these, or those in ``columns``.
    """
    wanted = [name for name in pack.columns if columns is None or name in columns]
    if where is None and order == "name":  # no engine is loaded to sort a list
        return sorted(pack.rows(wanted).to_pylist(), key=lambda row: row["name"])[:limit]
    query = f"SELECT {', '.join(wanted)} FROM pack"  # noqa: S608 - fixed names
    if where:
        query += f" WHERE ({where}\n)"  # the line break ends a comment
    query += f" ORDER BY {order}\n"
    if limit is not None:
        query += f" LIMIT {int(limit)}"
    with Sql(memory=MEMORY) as sql:
        sql.register("pack", pack.rows(pack.columns))
        try:
            names, rows = sql.ask(query)
        except SqlError as error:
            asked = f"{where!r} ordered by {order!r}" if where else f"order {order!r}"
            hint = f"Columns: {', '.join(pack.columns)}"
            raise PackError(f"cannot answer {asked}: {error}. {hint}") from error
    return [dict(zip(names, row, strict=True)) for row in rows]
