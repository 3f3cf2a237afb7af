"""Add the records that count in another store, unless this store has a later result."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from graph_net.results import Record, RecordError
from graph_net.store.counting import Precedence
from graph_net.store.ingest_records import check_names
from graph_net.store.record_columns import record_of
from graph_net.store.records import RecordStore

PATTERNS = ("part-*.parquet", "run-*.jsonl")
"""The files of a store of records."""


@dataclass
class SyncedRecords:
    """How many records of a store were added, were not later than ours, or were invalid."""

    added: int = 0
    passed: int = 0
    damaged: int = 0
    why: str = ""
    """What is wrong with the first damaged record."""


def add_store(
    store: RecordStore, source: RecordStore, known: dict[str, Precedence]
) -> SyncedRecords:
    """Append the records that count in ``source`` and supersede ``known``; update ``known``.

    Memory holds one part of the source. The order in which sources are added does not matter.
    """
    counts, now = SyncedRecords(), datetime.now(UTC)
    with store.journal() as journal:
        for stored in source.stored():
            for row in stored.table().to_pylist():
                try:
                    record = check_names(record_of(row))
                except RecordError as error:
                    counts.damaged += 1
                    counts.why = counts.why or f"{stored.path.name}: {error}"
                    continue
                if _is_later(record, known, now):
                    journal.add(record)
                    counts.added += 1
                else:
                    counts.passed += 1
    return counts


def _is_later(record: Record, known: dict[str, Precedence], now: datetime) -> bool:
    """Return whether a record is to be stored; if so, add it to ``known``."""
    precedence = Precedence(record.final, record.started)
    if record.key in known and not known[record.key].yields_to(precedence, now):
        return False
    known[record.key] = precedence
    return True
