"""A run in progress: what was measured so far, read from the new lines of its journals.

The serving machine may be the measuring machine, so an update reads only what was written since the
last one.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graph_net.results import Record, RecordError, from_json
from graph_net.results.signature import headline_of
from graph_net.store.files import open_regular
from graph_net.store.records import RecordStore

LATEST = 12
LOCK = ".lock"
LONGEST = 64 << 20
"""Most bytes that one update reads."""


def is_running(folder: Path, locks: Path = Path("/proc/locks")) -> bool:
    """Return whether a process holds a directory's lock, without touching the lock."""
    try:
        number = (folder / LOCK).stat().st_ino
        held = locks.read_text("ascii", "replace")
    except OSError:
        return False
    return any(f":{number} " in f"{line} " for line in held.splitlines() if " FLOCK " in line)


@dataclass
class RunProgress:
    """The records of a run's journals so far, counted incrementally."""

    folder: Path
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Counts by compiler and result."""
    latest: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=LATEST))
    _offsets: dict[str, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def look(self) -> dict[str, Any]:
        """Return the state of the run, reading only new lines."""
        with self._lock:
            journals = RecordStore(self.folder).journals()
            if {path.name for path in journals} != self._offsets.keys():
                self._forget({path.name for path in journals})
            for path in journals:
                self._read(path)
            rows = [[name, result, count] for (name, result), count in sorted(self.counts.items())]
            return {
                "running": is_running(self.folder),
                "measured": self.counts.total(),
                "counts": rows,
                "latest": list(self.latest)[::-1],
            }

    def _forget(self, names: set[str]) -> None:
        """Start over if a journal has become a part."""
        if self._offsets.keys() - names:
            self.counts.clear()
            self.latest.clear()
            self._offsets.clear()
        self._offsets |= dict.fromkeys(names - self._offsets.keys(), 0)

    def _read(self, path: Path) -> None:
        with open_regular(path) as file:
            file.seek(self._offsets[path.name])
            data = file.read(LONGEST)
        whole = data[: data.rfind(b"\n") + 1]
        self._offsets[path.name] += len(whole)
        for line in whole.splitlines():
            try:
                self._count(from_json(line))
            except RecordError:
                continue  # the page of the run names the line
        if not whole and len(data) == LONGEST:
            self._offsets[path.name] += LONGEST  # no record is that long

    def _count(self, record: Record) -> None:
        result = result_of(record)
        self.counts[record.config.label, result] += 1
        speedup = record.speedup
        message = headline_of(record.failure.message)[:200] if record.failure else ""
        self.latest.append({
            "graph": record.subject.name, "id": record.subject.id,
            "compiler": record.config.label, "result": result,
            "speedup": None if speedup is None else round(speedup.value, 3),
            "message": message, "started": record.started,
        })  # fmt: skip


def result_of(record: Record) -> str:
    """Return the result of a measurement in a word or two."""
    if record.failure is not None:
        return str(record.failure.symptom).replace("_", " ")
    return "" if record.timing is None else str(record.timing.verdict)
