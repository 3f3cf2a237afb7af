"""A journal of records: one line each, synced, so that a killed run loses none.

A journal belongs to one run. A line that a kill cut short has no newline and is skipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from graph_net.results import Record, RecordError, from_json, to_json
from graph_net.store.files import TooLarge
from graph_net.store.journal import LineJournal, whole_lines

SUFFIX = ".jsonl"


class RecordJournal(LineJournal):
    """A file to append records to."""

    def add(self, record: Record) -> None:
        """Append a record; once this returns, it survives a loss of power."""
        self.append(to_json(record).encode())

    def __enter__(self) -> RecordJournal:
        return self


def read_journal(path: Path) -> Iterator[Record]:
    """Yield the records of a file, in order, except a torn last line."""
    try:
        for number, line in enumerate(whole_lines(path), 1):
            try:
                yield from_json(line)
            except RecordError as error:
                raise RecordError(f"{path.name}, line {number}: {error}") from error
    except TooLarge as error:
        raise RecordError(str(error)) from error
