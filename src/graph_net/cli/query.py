"""``graph-net query``: SQL over records."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import Annotated

import typer

from graph_net.cli import options as opt
from graph_net.cli.common import err, new_table, out
from graph_net.printable import count_phrase


def query_records(
    question: Annotated[
        str, typer.Argument(help="SQL: SELECT compiler, count(*) FROM records GROUP BY 1")
    ],
    records: opt.Records = Path("build/records"),
    json: Annotated[bool, typer.Option("--json", help="Print a JSON array of rows.")] = False,
) -> None:
    """Query records in SQL; the tables are ``records`` and, of tuners' files, ``programs``."""
    from graph_net.api.records import Records

    columns, rows = Records(records).query(question)
    if json:
        objects = [dict(zip(columns, row, strict=True)) for row in rows]
        typer.echo(jsonlib.dumps(objects, indent=1, default=str))
        return
    table = new_table(*columns)
    for row in rows:
        table.add_row(*map(_cell, row))
    out.print(table)
    err.print(count_phrase(len(rows), "row"))


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list) and len(value) > 6:
        return f"[{', '.join(map(_cell, value[:6]))}, … {len(value)} in all]"
    return "" if value is None else str(value)
