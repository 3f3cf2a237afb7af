"""``graph-net list``: which graphs a pack holds."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from graph_net.cli.common import err, out, short_bytes, short_count
from graph_net.corpus.columns import COLUMNS
from graph_net.corpus.pack import Pack
from graph_net.corpus.query import select
from graph_net.corpus.shipped import mini as shipped_mini
from graph_net.corpus.shipped import shipped_corpus

WHERE_HELP = (
    "A condition in SQL: \"category = 'nlp' AND nodes < 500\". Columns: " + ", ".join(COLUMNS) + "."
)


def list_pack(
    pack: Annotated[
        Path | None, typer.Argument(help="A pack; the shipped corpus if none is named.")
    ] = None,
    where: Annotated[str | None, typer.Option(help=WHERE_HELP)] = None,
    order: Annotated[str, typer.Option(help="What to sort by, in SQL: nodes DESC.")] = "name",
    limit: Annotated[int | None, typer.Option(help="At most so many graphs.")] = None,
    mini: Annotated[
        bool, typer.Option("--mini", help="Only the small selection that covers the corpus.")
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print a JSON array of all columns.")
    ] = False,
) -> None:
    """List the graphs of a pack, or those a condition chooses; no graph is read."""
    rows = select(Pack(pack or shipped_corpus()), where, order, None if mini else limit)
    if mini:
        chosen = set(shipped_mini())
        rows = [row for row in rows if row["name"] in chosen][:limit]
    if json:
        typer.echo(jsonlib.dumps(rows, indent=1))
        return
    table = Table()
    table.add_column("name", overflow="fold", min_width=24)
    table.add_column("category", overflow="fold")
    table.add_column("level")
    for column in ("nodes", "parameters", "tensors"):
        table.add_column(column, justify="right", no_wrap=True)
    counted = bool(rows) and "occurrences" in rows[0]
    for column in ("occurrences", "models") if counted else ():
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("id", no_wrap=True)
    for row in rows:
        words = (row["name"], row["category"], row["level"])
        numbers = (
            f"{row['nodes']:,}",
            short_count(row["parameters"]),
            short_bytes(row["tensor_bytes"]),
        )
        counts = (f"{row['occurrences'] or 0:,}", f"{row['models'] or 0:,}") if counted else ()
        table.add_row(*(word or "" for word in words), *numbers, *counts, row["id"][:8])
    out.print(table)
    err.print(f"{len(rows)} graphs")
