"""``graph-net compilers``: the compilers, and how to install those that are absent."""

from __future__ import annotations

import json as jsonlib
from typing import Annotated, Any

import typer
from rich.table import Table

from graph_net.cli.common import err, out
from graph_net.compilers import Compiler, compiler_names, create
from graph_net.compilers.registry import ALIASES
from graph_net.results import short_name


def list_compilers(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Compilers by name, or your own as path/to/file.py:Name; all if none."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print a JSON array.")] = False,
) -> None:
    """List the compilers: version, devices, options, and how to install those that are absent."""
    rows = [_row(name) for name in names or compiler_names()]
    if json:
        typer.echo(jsonlib.dumps(rows, indent=1))
        return
    table = Table()
    table.add_column("compiler", no_wrap=True)
    table.add_column("version", overflow="fold")
    table.add_column("devices")
    table.add_column("options and their defaults", overflow="fold")
    table.add_column("here", overflow="fold")
    for row in rows:
        cells = [row["name"], row["version"] or "", " ".join(row["devices"])]
        options = " ".join(f"{key}={value}" for key, value in row["options"].items())
        cells.append(f"{options} …".strip() if row["open_options"] else options)
        cells.append(row["missing"] or "ready")
        table.add_row(*cells)
    out.print(table)
    err.print(f"{sum(row['missing'] is None for row in rows)} of {len(rows)} can be used here")


def _row(name: str) -> dict[str, Any]:
    compiler = create(name)
    missing = compiler.missing()
    return {
        "name": _display_name(name, compiler),
        "version": compiler.version() if missing is None else None,
        "devices": list(compiler.devices),
        "options": dict(compiler.options),
        "open_options": compiler.open_options,
        "aliases": [alias for alias, full in ALIASES.items() if full == compiler.name],
        "missing": missing,
    }


def _display_name(name: str, compiler: Compiler) -> str:
    """Return a compiler's name in tables: one of a user's own by its file."""
    file = name.partition(":")[0]
    own = file.endswith(".py")
    return short_name(f"{file}:{type(compiler).__name__}") if own else compiler.name
