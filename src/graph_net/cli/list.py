"""``graph-net list``: the graphs of a pack."""

from __future__ import annotations

import json as jsonlib
from typing import Annotated

import typer

from graph_net.cli import options as opt
from graph_net.cli.common import err
from graph_net.cli.long_table import TableColumn, print_long
from graph_net.corpus.shipped import MINI_ALONE
from graph_net.printable import count_phrase, short_bytes, short_count

SHOWN = (
    TableColumn("name", lambda row: row["name"]),
    TableColumn("category", lambda row: row["category"] or ""),
    TableColumn("level", lambda row: row["level"]),
    TableColumn("nodes", lambda row: f"{row['nodes']:,}", number=True),
    TableColumn("parameters", lambda row: short_count(row["parameters"]), number=True),
    TableColumn("tensors", lambda row: short_bytes(row["tensor_bytes"]), number=True),
)
OF_SUBGRAPHS = (
    TableColumn("occurrences", lambda row: f"{row['occurrences'] or 0:,}", number=True),
    TableColumn("models", lambda row: f"{row['models'] or 0:,}", number=True),
)
PRINTED = frozenset(
    "name category level nodes parameters tensor_bytes occurrences models id".split()
)
ID = TableColumn("id", lambda row: row["id"][:8])


def list_pack(
    pack: opt.Pack = None,
    where: opt.Where = None,
    order: Annotated[str, typer.Option(help="What to sort by, in SQL: nodes DESC.")] = "name",
    limit: opt.Limit = None,
    mini: Annotated[
        bool, typer.Option("--mini", help="Only the small selection that covers the corpus.")
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print a JSON array of all columns.")
    ] = False,
) -> None:
    """List the graphs of a pack, or those that meet a condition; no graph is read."""
    from graph_net.api.corpus import list_rows

    rows, only_mini = list_rows(pack, where, order, limit, mini, None if json else PRINTED)
    if json:
        typer.echo(jsonlib.dumps(rows, indent=1))
        return
    more = OF_SUBGRAPHS if rows and "occurrences" in rows[0] else ()
    print_long((*SHOWN, *more, ID), rows)
    note = f"; {MINI_ALONE}" if only_mini else ""
    err.print(f"{count_phrase(len(rows), 'graph')}{note}", highlight=False)
