"""Programs on disk: a Parquet file for each file they came from, in a directory of records.

A file is written aside, synced and renamed, so it is there whole or not at all, and its name is the
hash of its source: the same source again is passed over, or replaced where it is told otherwise.
What a task has in common is stored once a row group (dictionaries); the schedules are a column that
questions need not read and ingesting may leave out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from graph_net.corpus.sources import arrow_source, source_hash, written
from graph_net.formats.tuning import Damage, Place, TuningError
from graph_net.record import Program, canonical, digest

ROW_GROUP = 1 << 16
GROUP_BYTES = 64 << 20
EXAMPLES = 5
LABELS = b"graph_net.labels"
_SHARED = (
    "source format version task workload kernel target device_name details status stage symptom "
    "message"
).split()
SCHEMA = pa.schema(
    [
        *(pa.field(name, pa.string()) for name in _SHARED),
        pa.field("line", pa.int64()),
        pa.field("program", pa.uint64()),
        pa.field("costs", pa.list_(pa.float64())),
        pa.field("seconds", pa.float64()),
        pa.field("measured", pa.timestamp("us", "UTC")),
        pa.field("schedule", pa.string()),
        pa.field("extra", pa.string()),
    ],
    metadata={b"graph_net.programs": b"1"},
)
VIEW = "SELECT *, list_avg(costs) AS cost"
"""A program's cost is the mean of its repeats, as TenSet has it."""


@dataclass(frozen=True)
class Labels:
    """What a user says of a file: where it was measured, of what kernel, what is kept of it."""

    device: str = ""
    kernel: str = ""
    schedules: bool = True


@dataclass(frozen=True)
class Added:
    """What came of a file, with the first places that could not be read."""

    programs: int
    damaged: int
    examples: tuple[tuple[Place, Damage], ...]


class ProgramStore:
    """The programs of a directory of records."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)

    def parts(self) -> list[Path]:
        """The Parquet files."""
        return sorted(self.path.glob("programs-*.parquet"))

    def source(self) -> Any:
        """All of it, for questions."""
        return arrow_source(self.parts(), SCHEMA)

    def part(self, source: Path) -> Path:
        """Where the programs of a file are, or would be."""
        return self.path / f"programs-{source_hash(source)}.parquet"

    def has(self, source: Path, labels: Labels) -> bool:
        """Whether a file is in already, and was told the same."""
        part = self.part(source)
        if not part.is_file():
            return False
        return (pq.read_schema(part).metadata or {}).get(LABELS) == _told(labels)

    def add(
        self, source: Path, found: Iterable[tuple[Place, Program | Damage]], labels: Labels
    ) -> Added:
        """Store what a reader finds in a file; raises TuningError where that is nothing."""
        with written(self.part(source)) as file:
            added = _write(file, source.name, found, labels)
            if not added.programs:
                raise TuningError(f"{source} has no program that can be read{_first(added)}")
        return added


def _told(labels: Labels) -> bytes:
    return canonical(asdict(labels)).encode()


def _first(added: Added) -> str:
    return "".join(f"; line {place.line}: {why.reason}" for place, why in added.examples[:1])


def _write(
    file: IO[bytes], name: str, found: Iterable[tuple[Place, Program | Damage]], labels: Labels
) -> Added:
    programs = damaged = size = 0
    examples: list[tuple[Place, Damage]] = []
    rows: list[tuple[Any, ...]] = []
    schema = SCHEMA.with_metadata({**SCHEMA.metadata, LABELS: _told(labels)})
    with _writer(file, schema) as writer:
        for place, what in found:
            if isinstance(what, Damage):
                damaged += 1
                examples += [(place, what)][: EXAMPLES - len(examples)]
                continue
            programs += 1
            rows.append(_row(name, place, what, labels))
            size += len(what.schedule) + len(what.extra) + len(what.task.details)
            if len(rows) == ROW_GROUP or size > GROUP_BYTES:
                writer.write_table(_table(rows, schema))
                rows, size = [], 0
        if rows:
            writer.write_table(_table(rows, schema))
    return Added(programs, damaged, tuple(examples))


def _writer(file: IO[bytes], schema: pa.Schema) -> pq.ParquetWriter:
    return pq.ParquetWriter(
        file,
        schema,
        compression="zstd",
        compression_level=9,
        use_dictionary=_SHARED,
        column_encoding={
            "line": "DELTA_BINARY_PACKED",
            "measured": "DELTA_BINARY_PACKED",
            "costs.list.element": "BYTE_STREAM_SPLIT",
        },
    )


def _table(rows: list[tuple[Any, ...]], schema: pa.Schema) -> pa.Table:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(column, entry.type) for column, entry in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def _row(name: str, place: Place, program: Program, labels: Labels) -> tuple[Any, ...]:
    """A program in the order of the columns."""
    task, failure, measured = program.task, program.failure, program.measured
    return (
        name,
        task.format,
        program.version,
        digest(task.hash, labels.device),
        task.workload,
        task.kernel,
        task.target,
        labels.device,
        task.details,
        "success" if failure is None else "failed",
        failure and failure.stage,
        failure and failure.symptom,
        failure and failure.message,
        place.line,
        int.from_bytes(blake2b(program.schedule.encode(), digest_size=8).digest(), "little"),
        program.costs,
        program.seconds,
        None if measured is None else round(measured * 1e6),
        program.schedule if labels.schedules else None,
        program.extra or None,
    )
