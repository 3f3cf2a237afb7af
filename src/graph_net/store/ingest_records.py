"""Records that were made elsewhere into a directory of records; damaged lines are passed over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from graph_net.results import Record, RecordError, from_json
from graph_net.store.counting import Precedence
from graph_net.store.lines import Damage, Place, read_lines
from graph_net.store.records import RecordStore

EXAMPLES = 5
_NAMES = {
    "subject": ("id", "structure", "name", "library", "model", "category", "subcategory"),
    "config": ("kind", "name", "version"),
    "device": ("kind", "name", "system", "python"),
}
"""What is printed in tables, and in lines that other programs read."""


@dataclass
class AddedRecords:
    """What came of a file, with the first places that could not be read."""

    added: int = 0
    passed: int = 0
    damaged: int = 0
    examples: list[tuple[Place, Damage]] = field(default_factory=list)

    @property
    def useless(self) -> bool:
        """Whether nothing in the file was a record."""
        return bool(self.damaged) and not self.added and not self.passed


def add_records(store: RecordStore, path: Path, known: dict[str, Precedence]) -> AddedRecords:
    """Append the records of a file that are to count; ``known`` is what does, and grows.

    So the order in which files come does not matter.
    """
    told, now = AddedRecords(), datetime.now(UTC)
    with store.journal() as journal:
        for place, found in read_records(path):
            if isinstance(found, Damage):
                told.damaged += 1
                told.examples += [(place, found)][: EXAMPLES - len(told.examples)]
                continue
            key, precedence = found.key, Precedence(found.final, found.started)
            if key in known and not known[key].yields_to(precedence, now):
                told.passed += 1
                continue
            journal.add(found)
            told.added += 1
            known[key] = precedence
    return told


def read_records(path: Path) -> Iterator[tuple[Place, Record | Damage]]:
    """The record of each line, or why it holds none; no line is held that is too long."""
    for place, line in read_lines(path):
        try:
            yield place, line if isinstance(line, Damage) else _checked(from_json(line))
        except RecordError as error:
            yield place, Damage(printable(str(error)))


def _checked(record: Record) -> Record:
    """The record, if its names are names; what a compiler said may have any characters."""
    names = {"protocol": record.protocol, "started": record.started}
    for part, fields in _NAMES.items():
        names |= {f"{part}.{name}": getattr(getattr(record, part), name) for name in fields}
    for name, text in names.items():
        if not text.isprintable():
            raise RecordError(f"record.{name}: a control character")
    return record


def printable(text: str, most: int = 200) -> str:
    """A text that came out of a file, short and on one line."""
    safe = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text[: most + 1])
    return safe if len(safe) <= most else f"{safe[:most]}…"
