"""Many sample directories read at once, each in a process that may die."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graph_net.corpus.columns import row_of
from graph_net.corpus.open_sample import open_sample
from graph_net.corpus.readers import reading_pool
from graph_net.graph import GraphError
from graph_net.printable import is_utf8, printable

IN_FLIGHT = 4
"""Samples handed out per process: enough to keep it busy, few enough to bound memory."""


@dataclass(frozen=True, slots=True)
class SampleResult:
    """What became of one sample directory: a row, or the reason there is none."""

    name: str
    row: dict[str, Any] | None = None
    reason: str = ""
    sample_bytes: int = 0


Reader = Callable[[str, str], SampleResult]
"""From a sample's name and directory to what became of it."""


@dataclass
class ImportCounts:
    """What an import did."""

    read: int = 0
    skipped: int = 0
    sample_bytes: int = 0
    pack_bytes: int = 0
    refused: list[tuple[str, str]] = field(default_factory=list)

    def refuse(self, name: str, reason: str) -> None:
        """Note a sample that cannot be read."""
        self.refused.append((name, reason))

    def reasons(self) -> list[tuple[str, list[str]]]:
        """Refused samples by reason (line numbers masked), the most frequent first."""
        groups: dict[str, list[str]] = {}
        for name, reason in self.refused:
            groups.setdefault(re.sub(r"\bline \d+", "line …", reason), []).append(name)
        return sorted(groups.items(), key=lambda item: -len(item[1]))

    def as_json(self) -> dict[str, Any]:
        """The outcome for other programs."""
        return {
            "read": self.read,
            "already_there": self.skipped,
            "refused": [{"sample": name, "reason": reason} for name, reason in self.refused],
            "sample_bytes": self.sample_bytes,
            "pack_bytes": self.pack_bytes,
        }


def read_one(name: str, path: str) -> SampleResult:
    """Read one sample directory; never raises on what is in it."""
    directory = Path(path)
    if not is_utf8(name):
        return SampleResult(printable(name), reason="its name is not UTF-8; rename the directory")
    try:
        row = row_of(name, open_sample(directory))
    except GraphError as error:
        return SampleResult(name, reason=str(error))
    except (OSError, RecursionError, MemoryError) as error:
        return SampleResult(name, reason=f"{type(error).__name__}: {error}")
    size = sum(file.stat().st_size for file in directory.iterdir() if file.is_file())
    return SampleResult(name, row, sample_bytes=size)


def read_directories(
    samples: Mapping[str, Path], jobs: int, read: Reader = read_one
) -> Iterator[SampleResult]:
    """Results in the order they are ready. A sample that kills its process is read again alone,
    and refused if it does so twice; the others are not affected."""
    waiting = list(samples.items())[::-1]
    if jobs == 1 or len(waiting) < 2:
        yield from (read(name, str(path)) for name, path in reversed(waiting))
        return
    while waiting:
        suspects: list[tuple[str, Path]] = []
        with reading_pool(jobs, __name__) as pool:
            flying: dict[Future[SampleResult], tuple[str, Path]] = {}
            while (waiting or flying) and not suspects:
                while waiting and len(flying) < jobs * IN_FLIGHT:
                    name, path = waiting.pop()
                    try:
                        flying[pool.submit(read, name, str(path))] = (name, path)
                    except BrokenProcessPool:
                        suspects.append((name, path))
                        break
                done, _ = wait(flying, return_when=FIRST_COMPLETED)
                for future in done:
                    sample = flying.pop(future)
                    if isinstance(future.exception(), BrokenProcessPool):
                        suspects.append(sample)
                    else:
                        yield future.result()
            suspects.extend(flying.values())
        for name, path in suspects:
            yield _read_alone(name, path, read)


def _read_alone(name: str, path: Path, read: Reader) -> SampleResult:
    with reading_pool(1, __name__) as pool:
        try:
            return pool.submit(read, name, str(path)).result()
        except BrokenProcessPool:
            return SampleResult(name, reason="reading it killed the process")
