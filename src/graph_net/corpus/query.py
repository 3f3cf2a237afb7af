"""Questions to a pack in SQL."""

from __future__ import annotations

from typing import Any

from graph_net.corpus.columns import COLUMNS
from graph_net.corpus.pack import Pack, PackError


def select(
    pack: Pack, where: str | None = None, order: str = "name", limit: int | None = None
) -> list[dict[str, Any]]:
    """The rows of a pack that a SQL condition chooses; no graph is read.

    The condition sees the columns of ``graph_net.corpus.columns`` and nothing outside the pack.
    """
    import duckdb

    with duckdb.connect(":memory:") as connection:
        connection.register("pack", pack.dataset)
        connection.execute("SET enable_external_access = false; SET lock_configuration = true")
        question = f"SELECT {', '.join(COLUMNS)} FROM pack"  # noqa: S608 - fixed names
        if where:
            question += f" WHERE ({where})"
        question += f" ORDER BY {order}"
        if limit is not None:
            question += f" LIMIT {int(limit)}"
        try:
            found = connection.execute(question)
            names = [column[0] for column in found.description or ()]
            return [dict(zip(names, row, strict=True)) for row in found.fetchall()]
        except duckdb.Error as error:
            reason = str(error).splitlines()[0]
            raise PackError(
                f"cannot answer {where!r}: {reason}. Columns: {', '.join(COLUMNS)}"
            ) from error
