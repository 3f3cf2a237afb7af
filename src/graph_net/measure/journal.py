"""Records on disk as they come: one line each, synced, so that a killed run loses none.

A journal belongs to one run. A line that a kill cut short has no newline and is passed over.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from types import TracebackType

from graph_net.files import open_regular
from graph_net.record import Record, RecordError, from_json, to_json

SUFFIX = ".jsonl"
CHUNK = 1 << 16
LONGEST_LINE = 64 << 20


class Journal:
    """Appends records to a file."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._file = path.open("ab+")
        self._cut()

    def add(self, record: Record) -> None:
        """Store a record; when this returns it survives a kill, and a loss of power too."""
        self._file.write(to_json(record).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def _cut(self) -> None:
        """Drop a line that a kill cut short, so that the next one is a line of its own."""
        end = self._file.seek(0, os.SEEK_END)
        while end:
            start = max(0, end - CHUNK)
            self._file.seek(start)
            place = self._file.read(end - start).rfind(b"\n")
            if place >= 0:
                end = start + place + 1
                break
            end = start
        self._file.truncate(end)

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()


def read_journal(path: Path) -> Iterator[Record]:
    """The records of a file, in order; a torn last line is no record."""
    with open_regular(path) as file:
        for number in count(1):
            line = file.readline(LONGEST_LINE)
            if not line.endswith(b"\n"):
                if len(line) == LONGEST_LINE:
                    why = f"longer than the {LONGEST_LINE >> 20} MiB that are read here"
                    raise RecordError(f"{path.name}, line {number}: {why}")
                return
            try:
                yield from_json(line)
            except RecordError as error:
                raise RecordError(f"{path.name}, line {number}: {error}") from error
