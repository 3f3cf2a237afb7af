"""Questions to a pack in SQL."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from graph_net.corpus.pack import Pack, PackError
from graph_net.store.sql import Sql, SqlError

MEMORY = "4GiB"
"""What a question may take."""


def select(
    pack: Pack,
    where: str | None = None,
    order: str = "name",
    limit: int | None = None,
    columns: Collection[str] | None = None,
) -> list[dict[str, Any]]:
    """The rows of a pack that a SQL condition chooses; no graph is read.

    The condition sees the columns of ``graph_net.corpus.columns`` and nothing outside the pack.
    Rows have all of these, or those of ``columns`` that the pack has.
    """
    wanted = [name for name in pack.columns if columns is None or name in columns]
    if where is None and order == "name":  # no engine is loaded to sort a list
        return sorted(pack.rows(wanted).to_pylist(), key=lambda row: row["name"])[:limit]
    question = f"SELECT {', '.join(wanted)} FROM pack"  # noqa: S608 - fixed names
    if where:
        question += f" WHERE ({where}\n)"  # a comment at the end of it ends there
    question += f" ORDER BY {order}\n"
    if limit is not None:
        question += f" LIMIT {int(limit)}"
    with Sql(memory=MEMORY) as sql:
        sql.register("pack", pack.rows(pack.columns))
        try:
            names, rows = sql.ask(question)
        except SqlError as error:
            asked = f"{where!r} ordered by {order!r}" if where else f"order {order!r}"
            hint = f"Columns: {', '.join(pack.columns)}"
            raise PackError(f"cannot answer {asked}: {error}. {hint}") from error
    return [dict(zip(names, row, strict=True)) for row in rows]
