"""Parallel reading of sample directories, in processes that may die."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graph_net.corpus.columns import row_of
from graph_net.corpus.open_sample import open_sample
from graph_net.graph import GraphError
from graph_net.isolate import INHERITED, Batch, Limits, Pool
from graph_net.printable import is_utf8, printable

BATCH = 32
"""Samples per process."""
LIMITS = Limits(seconds=3600, memory_bytes=None)
"""Limits of one sample; tracing has its own."""


@dataclass(frozen=True, slots=True)
class SampleResult:
    """The row of one sample directory, or the reason that it has none."""

    name: str
    row: dict[str, Any] | None = None
    reason: str = ""
    sample_bytes: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return the result as JSON, the only form accepted from a process that reads samples."""
        row = self.row and {**self.row, "graph": b64encode(self.row["graph"]).decode()}
        return {
            "name": self.name,
            "row": row,
            "reason": self.reason,
            "sample_bytes": self.sample_bytes,
        }

    @staticmethod
    def from_json(tree: dict[str, Any]) -> SampleResult:
        """Return the result that ``to_json`` described."""
        row = tree["row"] and {**tree["row"], "graph": b64decode(tree["row"]["graph"])}
        return SampleResult(tree["name"], row, tree["reason"], tree["sample_bytes"])


Reader = Callable[[str, str], SampleResult]
"""Reads a sample, given its name and directory."""


@dataclass
class ImportCounts:
    """The counts of an import."""

    read: int = 0
    skipped: int = 0
    sample_bytes: int = 0
    pack_bytes: int = 0
    refused: list[tuple[str, str]] = field(default_factory=list)

    def refuse(self, name: str, reason: str) -> None:
        """Add a sample that cannot be read."""
        self.refused.append((name, reason))

    def reasons(self) -> list[tuple[str, list[str]]]:
        """Return refused samples by reason (line numbers masked), the most frequent first."""
        groups: dict[str, list[str]] = {}
        for name, reason in self.refused:
            groups.setdefault(re.sub(r"\bline \d+", "line …", reason), []).append(name)
        return sorted(groups.items(), key=lambda item: -len(item[1]))

    def as_json(self) -> dict[str, Any]:
        """Return the counts for other programs."""
        return {
            "read": self.read,
            "already_there": self.skipped,
            "refused": [{"sample": name, "reason": reason} for name, reason in self.refused],
            "sample_bytes": self.sample_bytes,
            "pack_bytes": self.pack_bytes,
        }


def read_one(name: str, path: str) -> SampleResult:
    """Read one sample directory; never raise on its contents."""
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
    """Yield results in the order they are ready.

    A sample that kills its process is read again, and refused if it does so twice; the others are
    not affected.
    """
    items = [(name, str(path)) for name, path in samples.items()]
    if jobs == 1 or len(items) < 2:
        yield from (read(name, path) for name, path in items)
        return

    def work(sample: tuple[str, str]) -> dict[str, Any]:
        return read(*sample).to_json()

    pool = Pool(LIMITS, jobs, INHERITED)
    chunks = (tuple(items[start : start + BATCH]) for start in range(0, len(items), BATCH))
    lost: list[tuple[str, str]] = []
    for done in pool.batches(Batch(lambda: work, chunk) for chunk in chunks):
        if done.death is None:
            yield SampleResult.from_json(done.answer)
        else:
            lost.append(done.item)
    for done in pool.each(lost, work):
        if done.death is None:
            yield SampleResult.from_json(done.answer)
        else:
            yield SampleResult(done.item[0], reason=done.death.reason)
