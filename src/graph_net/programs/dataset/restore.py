"""Restore a collection's journal from a published data set, to continue the collection."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from graph_net.programs.view.overview import tables
from graph_net.results import (
    Device,
    Failure,
    Program,
    Stage,
    Symptom,
    Task,
    program_to_json,
    read_as,
)
from graph_net.results.signature import signature_of
from graph_net.store.atomic import open_atomic

ROWS = 1 << 12
_QUESTION = """SELECT format, workload, kernel, target, details, schedule, costs, stage, symptom,
    message, version, seconds, epoch_us(measured) / 1e6 AS measured, extra, fingerprint
    FROM programs ORDER BY source, line"""


def restore_journal(published: Path, journal: Path) -> int:
    """Write the programs of a data set as the journal of a collection; return how many.

    Raise ValueError if the journal exists: an existing collection has more information.
    """
    if journal.exists():
        raise ValueError(f"{journal} exists: name another file")
    journal.parent.mkdir(parents=True, exist_ok=True)
    count = 0
    with open_atomic(journal) as file:
        for program in read_published(published):
            file.write(program_to_json(program).encode() + b"\n")
            count += 1
    return count


def read_published(published: Path) -> Iterator[Program]:
    """Yield the programs of a store or of one platform, in the order of measurement."""
    with tables(published) as connection:
        found = connection.execute(_QUESTION)
        names = [column[0] for column in found.description or ()]
        while rows := found.fetchmany(ROWS):
            for row in rows:
                yield _program(dict(zip(names, row, strict=True)))


def _program(row: Mapping[str, Any]) -> Program:
    task = Task(
        *(row[name] or "" for name in ("format", "workload", "kernel", "target", "details"))
    )
    return Program.from_log(
        task,
        row["schedule"],
        tuple(row["costs"] or ()),
        _failure(row),
        row["version"] or "",
        row["seconds"],
        row["measured"],
        row["extra"] or "",
        read_as(Device, row["fingerprint"], "device") if row["fingerprint"] else None,
    )


def _failure(row: Mapping[str, Any]) -> Failure | None:
    if row["stage"] is None:
        return None
    message, symptom = row["message"] or "", Symptom(row["symptom"])
    number = _signal(message) if symptom is Symptom.CRASH else None
    return Failure(Stage(row["stage"]), symptom, message, signature_of(message), number)


def _signal(message: str) -> int:
    """Return the signal that a message names, else SIGKILL; no column stores the signal."""
    named = re.search(r"\bSIG[A-Z]+\b", message)
    return int(getattr(signal, named.group() if named else "", signal.SIGKILL))
