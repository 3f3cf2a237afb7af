"""``graph-net ingest``: records and programs that were made elsewhere."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graph_net.cli.common import err
from graph_net.cli.import_ import SOME_REFUSED
from graph_net.display.progress import progress

if TYPE_CHECKING:
    from graph_net.programs.formats import Damage, Format, Place
    from graph_net.programs.store.program_store import Added
    from graph_net.store.counting import Precedence
    from graph_net.store.records import RecordStore


def ingest_files(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Records as a bundle leaves them, or a tuner's: Ansor, AutoTVM, MetaSchedule, T4."
        ),
    ],
    records: Annotated[Path, typer.Option("--output", "-o", help="Where the records go.")] = Path(
        "build/records"
    ),
    device: Annotated[
        str, typer.Option(help="Where programs were measured; tuners' files do not say.")
    ] = "",
    kernel: Annotated[str, typer.Option(help="What T4 files are of; else their name is.")] = "",
    schedules: Annotated[
        bool, typer.Option(help="Keep the text of each schedule, not its hash alone.")
    ] = True,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Processes; 0 for one a core.")] = 0,
) -> None:
    """Add records, or tuners' programs, from other machines (`import` reads graphs).

    What is there already is passed over. A file is known by its first lines. Lines that are damaged
    are counted and passed over.
    Exit code: 0 all read, 3 some files of records hold no record (the others are in), 1 none does.
    """
    from graph_net.programs.formats import Format, detect, workload_file
    from graph_net.programs.store.ingest import add_files
    from graph_net.programs.store.program_store import Labels
    from graph_net.store.records import RecordStore

    known = [(path, detect(path)) for path in files]
    store = RecordStore(records)
    with store.locked(), progress("files", len(known)) as advance:
        told = store.precedences() if any(kind is Format.RECORDS for _, kind in known) else {}
        tuned: list[tuple[Path, Format]] = []
        useless = 0
        for path, kind in known:
            if kind is Format.RECORDS:
                useless += not _records(store, path, told)
                advance()
            elif kind is Format.WORKLOADS:
                _workloads(store, path)
                advance()
            else:
                tuned.append((path, kind))
                if kind is Format.METASCHEDULE:
                    _workloads(store, workload_file(path))
        labels = Labels(device, kernel, schedules)
        for path, kind, added in add_files(store.path, tuned, labels, jobs or os.cpu_count() or 1):
            _told(path, kind, added)
            advance()
        if store.journals():
            store.compact()
    if useless:
        raise typer.Exit(SOME_REFUSED if useless < len(known) else 1)


def _records(store: RecordStore, path: Path, known: dict[str, Precedence]) -> bool:
    """Add the records of a file; whether it had any."""
    from graph_net.store.ingest_records import add_records

    told = add_records(store, path, known)
    damaged = f", {told.damaged} lines are damaged" if told.damaged else ""
    err.print(f"{path}: {told.added} records added, {told.passed} were there{damaged}")
    _examples(told.examples, told.damaged)
    return not told.useless


def _workloads(store: RecordStore, path: Path) -> None:
    from graph_net.programs.store.workload_table import WorkloadStore

    added = WorkloadStore(store.path).add(path)
    said = "were there" if added is None else f"{added[0]} added, {added[1]} damaged"
    err.print(f"{path}: MetaSchedule workloads, {said}")


def _told(path: Path, kind: Format, added: Added | None) -> None:
    """Say what came of a file of programs."""
    if added is None:
        err.print(f"{path}: {kind}, were there")
        return
    err.print(f"{path}: {kind}, {added.programs} programs added, {added.damaged} damaged")
    _examples(added.examples, added.damaged)


def _examples(examples: Sequence[tuple[Place, Damage]], damaged: int) -> None:
    for place, damage in examples:
        where = f"  line {place.line}, byte {place.offset}: "
        err.print(where + damage.reason)
    if damaged > len(examples):
        err.print(f"  and {damaged - len(examples)} more")
