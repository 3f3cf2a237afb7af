"""``graph-net ingest``: records and programs that were made elsewhere."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graph_net.cli.common import err
from graph_net.cli.progress import progress

if TYPE_CHECKING:
    from graph_net.corpus.programs import Added
    from graph_net.corpus.records import RecordStore
    from graph_net.formats.tuning import Format


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
    """Add records, or tuners' programs, to a directory of records; what it has is passed over.

    A file is known by its first lines. Lines that are damaged are counted and passed over.
    """
    from graph_net.corpus.ingest import add_files
    from graph_net.corpus.programs import Labels
    from graph_net.corpus.records import RecordStore
    from graph_net.formats.tuning import Format, detect, workload_file

    known = [(path, detect(path)) for path in files]
    store = RecordStore(records)
    with store.locked(), progress("files", len(known)) as advance:
        keys = store.final_keys() if any(kind is Format.RECORDS for _, kind in known) else set()
        tuned: list[tuple[Path, Format]] = []
        for path, kind in known:
            if kind is Format.RECORDS:
                _records(store, path, keys)
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


def _records(store: RecordStore, path: Path, known: set[str]) -> None:
    from graph_net.measure.journal import read_journal

    added = passed = 0
    with store.journal() as journal:
        for record in read_journal(path):
            if record.key in known:
                passed += 1
                continue
            journal.add(record)
            if record.final:
                known.add(record.key)
            added += 1
    err.print(f"{path}: {added} records added, {passed} were there")


def _workloads(store: RecordStore, path: Path) -> None:
    from graph_net.corpus.workloads import WorkloadStore

    added = WorkloadStore(store.path).add(path)
    said = "were there" if added is None else f"{added[0]} added, {added[1]} damaged"
    err.print(f"{path}: MetaSchedule workloads, {said}")


def _told(path: Path, kind: Format, added: Added | None) -> None:
    """Say what came of a file of programs."""
    if added is None:
        err.print(f"{path}: {kind}, were there")
        return
    err.print(f"{path}: {kind}, {added.programs} programs added, {added.damaged} damaged")
    for place, damage in added.examples:
        where = f"  line {place.line}, byte {place.offset}: "
        err.print(where + damage.reason)
    if added.damaged > len(added.examples):
        err.print(f"  and {added.damaged - len(added.examples)} more")
