"""Programs on disk: one Parquet file per source file, in a store.

A file is written aside, synced and renamed, so it is complete or absent. Its name is the hash of
its source: the same source again is skipped, or replaced if its labels differ. Published programs
(``programs.dataset.export``) have a format of their own and are read the same way.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from graph_net.programs.formats import Damage, Place, ReadError
from graph_net.programs.formats.columns import ProgramColumns, block_of, size_of
from graph_net.programs.store.columns import (
    ENCODINGS,
    FORMAT_VERSION,
    PACKED,
    SCHEMA,
    SHARED,
    table_of,
)
from graph_net.programs.store.part_format import PartFormat
from graph_net.programs.store.plain_format import PLAIN
from graph_net.results import (
    Device,
    Failure,
    Program,
    Stage,
    Symptom,
    Task,
    canonical,
    read_as,
)
from graph_net.store.atomic import open_atomic
from graph_net.store.files import list_regular
from graph_net.store.parquet import source_hash
from graph_net.store.sql import Sql

ROW_GROUP = 1 << 16
GROUP_BYTES = 64 << 20
LEVEL = 5
EXAMPLES = 5
FORMATS = {"packed_programs": PACKED, "plain_programs": PLAIN}
"""The formats, by the name of their table in a connection."""
LABELS = b"graph_net.labels"
Found = ProgramColumns | tuple[Place, Program | Damage]
"""What a reader yields: many programs as columns, one program, or a damage."""


@dataclass(frozen=True)
class Labels:
    """What a user says about a file: its device and kernel, and whether to keep schedules."""

    device: str = ""
    kernel: str = ""
    schedules: bool = True


@dataclass(frozen=True)
class Added:
    """Counts of an added file, with the first places that could not be read."""

    programs: int
    damaged: int
    examples: tuple[tuple[Place, Damage], ...]


class ProgramStore:
    """The programs of a store."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)

    def parts(self) -> list[Path]:
        """Return the Parquet files; raise if one has another format or other columns."""
        every = list_regular(self.path, "programs-*.parquet")
        for part in every:
            format_of(part).present(part)
        return every

    def by_format(self) -> dict[str, tuple[PartFormat, list[Path]]]:
        """Return the files of each format in use, by the name of its table."""
        parts = self.parts()
        found = {
            name: (part_format, [part for part in parts if format_of(part) is part_format])
            for name, part_format in FORMATS.items()
        }
        return {name: both for name, both in found.items() if both[1]}

    def checked(self) -> list[Path]:
        """Return all files if each row group fits in memory; raise ParquetError if not."""
        for part_format, parts in self.by_format().values():
            part_format.check(parts)
        return self.parts()

    def part(self, source: Path) -> Path:
        """Return the path of a source file's part, whether it exists or not."""
        return self.path / f"programs-{FORMAT_VERSION}-{source_hash(source)}.parquet"

    def has(self, part: Path, labels: Labels) -> bool:
        """Return whether a part exists and was stored with the same labels."""
        if not part.is_file():
            return False
        return (pq.read_schema(part).metadata or {}).get(LABELS) == _told(labels)

    def add(self, source: Path, found: Iterable[Found], labels: Labels) -> Added:
        """Store a source file's programs; raise ReadError if there are none."""
        return self.add_part(self.part(source), source, found, labels)

    def add_part(self, part: Path, source: Path, found: Iterable[Found], labels: Labels) -> Added:
        """Do the same if ``part(source)`` is known; computing it reads the whole file."""
        with open_atomic(part) as file:
            added = _write(file, source.name, found, labels)
            if not added.programs:
                raise ReadError(f"{source} has no program that can be read{_first(added)}")
        return added

    def create_view(self, connection: Sql, view: str = "programs") -> None:
        """Create the table ``programs`` of a connection, over the parts of both formats.

        Another name of the ``view`` must be a plain word.
        """
        questions = []
        for name, (part_format, parts) in self.by_format().items():
            source = part_format.dataset(parts)
            connection.register(f"{view}_{name}", source)
            questions.append(part_format.select(f"{view}_{name}", source.schema.names))
        if not questions:
            connection.register(f"{view}_none", SCHEMA.empty_table())
            questions = [PACKED.select(f"{view}_none", SCHEMA.names)]
        connection.execute(f"CREATE VIEW {view} AS {' UNION ALL BY NAME '.join(questions)}")

    def programs(self) -> Iterator[tuple[int, Program]]:
        """Yield every program with its line, file by file, grouped by task."""
        for part in self.checked():
            part_format = format_of(part)
            exact = {**part_format.columns, "measured": part_format.instant}
            columns = ", ".join(f"{how} AS {name}" for name, how in exact.items())
            with pq.ParquetFile(part) as file, Sql() as connection:
                for group in range(file.num_row_groups):  # one at a time, to bound memory
                    held = part_format.read_group(file, group, part_format.schema.names)
                    connection.register("held", held)
                    found = connection.execute(f"SELECT {columns} FROM held")  # noqa: S608
                    names = [column[0] for column in found.description or ()]
                    for row in found.fetchall():
                        fields = dict(zip(names, row, strict=True))
                        if fields["schedule"] is None:
                            raise ReadError(f"{part} was ingested without schedules")
                        if part_format is PLAIN:
                            fields["extra"] = _ordered(fields["extra"])
                        yield fields["line"], _program(fields)


def format_of(part: Path) -> PartFormat:
    """Return the format of a file by its name; raise ReadError if it is unknown."""
    for part_format in FORMATS.values():
        if part.name.startswith(part_format.prefix):
            return part_format
    raise ReadError(
        f"{part} is not of version {FORMAT_VERSION}: delete it and ingest its file again"
    )


def _program(row: dict[str, Any]) -> Program:
    failed = row["status"] == "failed"
    names = "format workload kernel target details".split()
    return Program.from_log(
        Task(*(row[name] for name in names)),
        row["schedule"],
        tuple(row["costs"]),
        Failure(Stage(row["stage"]), Symptom(row["symptom"]), row["message"]) if failed else None,
        row["version"],
        row["seconds"],
        row["measured"],
        row["extra"] or "",
        read_as(Device, row["fingerprint"], "device") if row["fingerprint"] else None,
    )


def _ordered(text: str | None) -> str | None:
    """Return a JSON object with sorted keys: plain parts hold some of the keys in columns."""
    if text is None or not text.startswith("{"):
        return text
    try:
        return canonical(json.loads(text))
    except (ValueError, RecursionError):
        return text  # an untrusted part may hold text that is not JSON


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
    """Gather single programs into blocks of bounded size."""
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
