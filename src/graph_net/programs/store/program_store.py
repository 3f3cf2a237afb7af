"""Programs on disk: a Parquet file for each file they came from, in a directory of records.

A file is written aside, synced and renamed, so it is there whole or not at all, and its name is the
hash of its source: the same source again is passed over, or replaced where it is told otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from graph_net.programs.formats import Damage, Place, ReadError
from graph_net.programs.formats.columns import ProgramColumns, block_of, size_of
from graph_net.programs.store.columns import COLUMNS, ENCODINGS, LAYOUT, SCHEMA, SHARED, table_of
from graph_net.results import Failure, Program, Stage, Symptom, Task, canonical
from graph_net.store.atomic import open_atomic
from graph_net.store.files import list_regular
from graph_net.store.parquet import arrow_source, check_columns, source_hash
from graph_net.store.parquet_guard import STORE, Guarded
from graph_net.store.sql import Sql

ROW_GROUP = 1 << 16
GROUP_BYTES = 64 << 20
LEVEL = 5
EXAMPLES = 5
LABELS = b"graph_net.labels"
Found = ProgramColumns | tuple[Place, Program | Damage]
"""What a reader gives: many programs as columns, one program, or a damage."""


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
        """The Parquet files; raises where one has another layout or other columns."""
        every = list_regular(self.path, "programs-*.parquet")
        for part in every:
            if not part.name.startswith(f"programs-{LAYOUT}-"):
                raise ReadError(
                    f"{part} has a layout other than {LAYOUT}: delete it and ingest its file again"
                )
            check_columns(part, SCHEMA, SCHEMA.names)
        return every

    def checked(self) -> list[Path]:
        """The same files, each row group of which can be held in memory; raises ParquetError."""
        parts = self.parts()
        Guarded(parts, SCHEMA, limits=STORE).check(SCHEMA.names, together=False)
        return parts

    def part(self, source: Path) -> Path:
        """Where the programs of a file are, or would be."""
        return self.path / f"programs-{LAYOUT}-{source_hash(source)}.parquet"

    def has(self, part: Path, labels: Labels) -> bool:
        """Whether a file's programs are in already, and were told the same."""
        if not part.is_file():
            return False
        return (pq.read_schema(part).metadata or {}).get(LABELS) == _told(labels)

    def add(self, source: Path, found: Iterable[Found], labels: Labels) -> Added:
        """Store what a reader finds in a file; raises ReadError where that is nothing."""
        return self.add_part(self.part(source), source, found, labels)

    def add_part(self, part: Path, source: Path, found: Iterable[Found], labels: Labels) -> Added:
        """The same where ``part(source)`` is known, which takes reading all of it."""
        with open_atomic(part) as file:
            added = _write(file, source.name, found, labels)
            if not added.programs:
                raise ReadError(f"{source} has no program that can be read{_first(added)}")
        return added

    def create_view(self, connection: Sql) -> None:
        """Make the table ``programs`` of a connection, for questions."""
        connection.register("stored_programs", arrow_source(self.parts(), SCHEMA))
        columns = ", ".join(f"{how} AS {name}" for name, how in COLUMNS.items())
        connection.execute(f"CREATE VIEW programs AS SELECT {columns} FROM stored_programs")  # noqa: S608

    def programs(self) -> Iterator[tuple[int, Program]]:
        """Every program as it was read, with its line; a file after the other, a task together."""
        exact = "coalesce(stamp::DOUBLE, stamp_raw) AS measured"
        columns = ", ".join(
            exact if name == "measured" else f"{how} AS {name}" for name, how in COLUMNS.items()
        )
        for part in self.checked():
            with pq.ParquetFile(part) as file, Sql() as connection:
                for group in range(file.num_row_groups):  # so that no more is in memory
                    connection.register("held", file.read_row_group(group))
                    found = connection.execute(f"SELECT {columns} FROM held")  # noqa: S608
                    names = [column[0] for column in found.description or ()]
                    for row in found.fetchall():
                        fields = dict(zip(names, row, strict=True))
                        if fields["schedule"] is None:
                            raise ReadError(f"{part} was ingested without schedules")
                        yield fields["line"], _program(fields)


def _program(row: dict[str, Any]) -> Program:
    failed = row["status"] == "failed"
    names = "format workload kernel target details".split()
    return Program(
        Task(*(row[name] for name in names)),
        row["schedule"],
        tuple(row["costs"]),
        Failure(Stage(row["stage"]), Symptom(row["symptom"]), row["message"]) if failed else None,
        row["version"],
        row["seconds"],
        row["measured"],
        row["extra"] or "",
    )


def _told(labels: Labels) -> bytes:
    return canonical(asdict(labels)).encode()


def _first(added: Added) -> str:
    return "".join(f"; line {place.line}: {why.reason}" for place, why in added.examples[:1])


def _write(file: IO[bytes], name: str, found: Iterable[Found], labels: Labels) -> Added:
    programs = damaged = 0
    examples: list[tuple[Place, Damage]] = []
    schema = SCHEMA.with_metadata({**SCHEMA.metadata, LABELS: _told(labels)})
    with _writer(file, schema) as writer:
        for what in _blocks(found):
            if isinstance(what, ProgramColumns):
                programs += len(what)
                writer.write_table(table_of(what, name, labels.device, labels.schedules))
                continue
            damaged += 1
            examples += [what][: EXAMPLES - len(examples)]
    return Added(programs, damaged, tuple(examples))


def _blocks(found: Iterable[Found]) -> Iterator[ProgramColumns | tuple[Place, Damage]]:
    """Single programs gathered to blocks of bounded size."""
    size = 0
    lines: list[int] = []
    programs: list[Program] = []
    for what in found:
        if isinstance(what, ProgramColumns):
            yield what
            continue
        place, one = what
        if isinstance(one, Damage):
            yield place, one
            continue
        lines.append(place.line)
        programs.append(one)
        size += size_of(one)
        if len(lines) == ROW_GROUP or size > GROUP_BYTES:
            yield block_of(lines, programs)
            lines, programs, size = [], [], 0
    if lines:
        yield block_of(lines, programs)


def _writer(file: IO[bytes], schema: pa.Schema) -> pq.ParquetWriter:
    return pq.ParquetWriter(
        file,
        schema,
        compression="zstd",
        compression_level=LEVEL,
        use_dictionary=SHARED,
        column_encoding=ENCODINGS,
    )
