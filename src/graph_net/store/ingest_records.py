"""Ingestion of records from other machines into a store; damaged lines are skipped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from graph_net.printable import printable
from graph_net.results import Record, RecordError, from_json
from graph_net.store.counting import Precedence
from graph_net.store.lines import Damage, Place, read_lines
from graph_net.store.records import RecordStore

EXAMPLES = 5
MOST_LETTERS = 200
_NAMES = {
    "subject": ("id", "structure", "name", "library", "model", "category", "subcategory"),
    "config": ("kind", "name", "version"),
    "device": ("kind", "name", "system", "python"),
}
"""Texts that are printed in tables, and in lines that other programs read."""


@dataclass
class AddedRecords:
    """Counts of an ingested file, with the first damaged lines."""

    added: int = 0
    passed: int = 0
    damaged: int = 0
    examples: list[tuple[Place, Damage]] = field(default_factory=list)

    @property
    def useless(self) -> bool:
        """Whether the file holds no record at all."""
        return bool(self.damaged) and not self.added and not self.passed


def add_records(store: RecordStore, path: Path, known: dict[str, Precedence]) -> AddedRecords:
    """Append the records of a file that take precedence over those in ``known``, and update it.

    The order in which files are added does not matter.
    """
    counts, now = AddedRecords(), datetime.now(UTC)
    with store.journal() as journal:
        for position, record in read_records(path):
            if isinstance(record, Damage):
                counts.damaged += 1
                counts.examples += [(position, record)][: EXAMPLES - len(counts.examples)]
                continue
            key, precedence = record.key, Precedence(record.final, record.started)
            if key in known and not known[key].yields_to(precedence, now):
                counts.passed += 1
                continue
            journal.add(record)
            counts.added += 1
            known[key] = precedence
    return counts


def read_records(path: Path) -> Iterator[tuple[Place, Record | Damage]]:
    """Yield the record of each line, or its damage; an overlong line is never held in memory."""
    for position, line in read_lines(path):
        try:
            yield position, line if isinstance(line, Damage) else check_names(from_json(line))
        except RecordError as error:
            yield position, Damage(printable(str(error)[:MOST_LETTERS]))


def check_names(record: Record) -> Record:
    """Return the record; raise RecordError on control characters in names (not in messages)."""
    names = {"protocol": record.protocol, "started": record.started}
    for part, fields in _NAMES.items():
        names |= {f"{part}.{name}": getattr(getattr(record, part), name) for name in fields}
    for name, text in names.items():
        if not text.isprintable():
            raise RecordError(f"record.{name}: has a control character")
    return record
