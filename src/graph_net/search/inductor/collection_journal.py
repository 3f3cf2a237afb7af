"""CollectionJournal: cases that a collection inside Inductor has measured, tried or given up."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from graph_net.results import RecordError, read_as
from graph_net.search.inductor.timed_call import LONGEST_LINE, TimedCall, timed_to_json
from graph_net.store.journal import LineJournal, whole_lines

ATTEMPTS = 2
"""Attempts before a case is given up: what killed one process would kill the next."""


class CollectionJournal:
    """An append-only file; another process can continue the same collection."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.measured: set[str] = set()
        self.begun: Counter[str] = Counter()
        self.failed: dict[str, str] = {}
        self._lines = LineJournal(path, durable=False)
        for line in whole_lines(path, LONGEST_LINE):
            self._read(line)

    def _read(self, line: bytes) -> None:
        """Read a line; skip lines that no collection of this version wrote."""
        with suppress(RecordError, ValueError, TypeError, RecursionError):
            tree = json.loads(line)
            if "begun" in tree:
                self.begun.update(map(str, tree["begun"]))
            elif "failed" in tree:
                self.failed[str(tree["failed"])] = str(tree.get("why", ""))
            else:
                self.measured.add(read_as(TimedCall, line, "timed operation of Inductor").case)

    def pending(self, keys: Iterable[str]) -> list[str]:
        """Return the cases still to be measured, untried ones first."""
        left = [
            key
            for key in keys
            if key not in self.measured and key not in self.failed and self.begun[key] < ATTEMPTS
        ]
        return sorted(left, key=lambda key: self.begun[key])

    def begin(self, keys: Sequence[str]) -> None:
        """Record cases before they are tried."""
        self.begun.update(keys)
        self._lines.append(json.dumps({"begun": list(keys)}).encode())

    def add(self, timed: TimedCall) -> None:
        """Append a measured operation."""
        self.measured.add(timed.case)
        self._lines.append(timed_to_json(timed).encode())

    def fail(self, key: str, why: str) -> None:
        """Record that a case cannot be measured."""
        self.failed[key] = why
        self._lines.append(json.dumps({"failed": key, "why": why}).encode())

    def close(self) -> None:
        """Close the file."""
        self._lines.close()
