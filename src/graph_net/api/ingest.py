"""Add records and tuners' programs that were made elsewhere."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from graph_net.display.display import Display, display_of

if TYPE_CHECKING:
    from graph_net.programs.formats import Damage, Format, Place
    from graph_net.store.counting import Precedence
    from graph_net.store.records import RecordStore


@dataclass(frozen=True)
class IngestedFile:
    """A file, a line on what was added from it, and the first of its damaged lines."""

    path: Path
    summary: str
    damaged: int = 0
    examples: Sequence[tuple[Place, Damage]] = ()
    useless: bool = False
    """Whether it should hold records and no line is one."""


def ingest(
    files: Sequence[Path],
    records: Path,
    *,
    device: str = "",
    kernel: str = "",
    schedules: bool = True,
    jobs: int = 0,
    progress: Display | bool = True,
) -> Iterator[IngestedFile]:
    """Yield each file when its records or programs are in the directory ``records``.

    The kind of a file is detected from its first lines. What is there already is not added again;
    damaged lines are counted and skipped.
    """
    from graph_net.programs.formats import Format, detect, workload_file
    from graph_net.programs.store.ingest import add_files
    from graph_net.programs.store.program_store import Labels
    from graph_net.store.records import RecordStore

    formats = [(path, detect(path)) for path in files]
    store = RecordStore(records)
    with store.locked(), display_of(progress).progress("files", len(formats)) as advance:
        has_records = any(kind is Format.RECORDS for _, kind in formats)
        counting = store.precedences() if has_records else {}
        tuned: list[tuple[Path, Format]] = []
        for path, kind in formats:
            if kind is Format.RECORDS:
                yield _add_records(store, path, counting)
                advance()
            elif kind is Format.WORKLOADS:
                yield _add_workloads(store, path)
                advance()
            else:
                tuned.append((path, kind))
                if kind is Format.METASCHEDULE:
                    yield _add_workloads(store, workload_file(path))
        labels = Labels(device, kernel, schedules)
        for path, kind, added in add_files(store.path, tuned, labels, jobs or os.cpu_count() or 1):
            if added is None:
                yield IngestedFile(path, f"{kind}, already there")
            else:
                summary = f"{kind}, {added.programs} programs added, {added.damaged} damaged"
                yield IngestedFile(path, summary, added.damaged, added.examples)
            advance()
        if store.journals():
            store.compact()


def _add_records(store: RecordStore, path: Path, counting: dict[str, Precedence]) -> IngestedFile:
    from graph_net.store.ingest_records import add_records

    result = add_records(store, path, counting)
    damaged = f", {result.damaged} lines are damaged" if result.damaged else ""
    summary = f"{result.added} records added, {result.passed} already there{damaged}"
    return IngestedFile(path, summary, result.damaged, result.examples, result.useless)


def _add_workloads(store: RecordStore, path: Path) -> IngestedFile:
    from graph_net.programs.store.workload_table import WorkloadStore

    added = WorkloadStore(store.path).add(path)
    count = "already there" if added is None else f"{added[0]} added, {added[1]} damaged"
    return IngestedFile(path, f"MetaSchedule workloads, {count}")
