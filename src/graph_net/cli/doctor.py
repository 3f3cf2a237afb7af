"""``graph-net doctor``: what this machine confines."""

from __future__ import annotations

import json as jsonlib
import platform
from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Table

from graph_net.cli.common import out


def examine_machine(
    json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Say what confines the processes that run graphs here, by trying to break out.

    Exit code 1 if a promise does not hold on this machine; docs/security.md says what each means.
    """
    from graph_net.isolate.doctor import confinement, examine

    found, held = list(examine()), confinement()
    if json:
        told = {"confinement": held, "findings": [asdict(finding) for finding in found]}
        typer.echo(jsonlib.dumps(told, indent=1))
    else:
        out.print(f"kernel {platform.release()}: {held}", markup=False)
        table = Table(title="a confined process", title_justify="left")
        for column in ("promise", "holds", "seen"):
            table.add_column(column)
        for finding in found:
            table.add_row(finding.promise, "yes" if finding.holds else "NO", finding.seen)
        out.print(table)
    if not all(finding.holds for finding in found):
        raise typer.Exit(1)
