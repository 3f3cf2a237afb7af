"""``graph-net doctor``: what confines the workers on this machine."""

from __future__ import annotations

import json as jsonlib
import platform
from dataclasses import asdict
from typing import Annotated

import typer

from graph_net.cli.common import new_table, out


def examine_machine(
    json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Report what confines the processes that run graphs here, by trying to break out.

    Exit code 1 if a promise does not hold on this machine; docs/security.md says what each means.
    """
    from graph_net.isolate.doctor import confinement, examine

    findings, confined_by = list(examine()), confinement()
    if json:
        tree = {"confinement": confined_by, "findings": [asdict(f) for f in findings]}
        typer.echo(jsonlib.dumps(tree, indent=1))
    else:
        out.print(f"kernel {platform.release()}: {confined_by}", markup=False)
        table = new_table("promise", "holds", "seen", title="a confined process")
        for finding in findings:
            table.add_row(finding.promise, "yes" if finding.holds else "NO", finding.seen)
        out.print(table)
    if not all(finding.holds for finding in findings):
        raise typer.Exit(1)
