"""Untrusted Parquet files: the size of their contents is bounded before any of it is decoded.

A few kilobytes can expand to gigabytes: a page of equal bytes, a dictionary of one long text that
millions of rows repeat, lists of such. Types must match a schema, pages are as large as their
headers say, and a column whose dictionary could blow up is measured while it is still encoded.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from graph_net.printable import first_line
from graph_net.store.files import open_regular
from graph_net.store.parquet_pages import DICTIONARY, Page, PageError, read_pages

_PREFIXED = 7
"""DELTA_BYTE_ARRAY: each value repeats a part of the last one, so no header bounds its size."""
_DICTIONARIES = (2, 8)


class ParquetError(ValueError):
    """A Parquet file that does not match its schema, or exceeds the limits."""


@dataclass(frozen=True, slots=True)
class ParquetLimits:
    """Limits of reading; the shipped packs are an order of magnitude below them."""

    rows: int = 1 << 20
    """Rows of all files together."""
    groups: int = 1 << 14
    """Row groups of all files together."""
    values: int = 1 << 22
    """Values of a column in a row group: more than its rows if it holds lists."""
    chunk_bytes: int = 128 << 20
    """Decoded bytes of a column in a row group."""
    table_bytes: int = 1 << 30
    """Decoded bytes of all columns in memory together."""
    text: int = 1 << 16
    """Bytes of one text."""
    blob: int = 64 << 20
    """Bytes of one value that is not text."""
    guess: int = 1 << 16
    """Of a column in a row group: up to this its bytes are estimated, above they are counted,
    which takes as long as reading it."""


DEFAULT_PARQUET = ParquetLimits()
STORE = ParquetLimits(
    rows=1 << 30,
    groups=1 << 20,
    values=1 << 25,
    chunk_bytes=512 << 20,
    text=64 << 20,
    guess=512 << 20,
)
"""For tables that are read a row group at a time: many rows, and texts as long as a program."""


@dataclass(frozen=True, slots=True)
class _Chunk:
    """A column of a row group."""

    file: pq.ParquetFile
    """Opened so that texts are read by their dictionary."""
    group: int
    index: int
    name: str
    """Its top-level column."""
    about: pq.ColumnChunkMetaData

    @property
    def text(self) -> bool:
        """Whether its values are text."""
        return str(self.file.schema.column(self.index).logical_type.type) == "STRING"

    def encoded(self) -> Iterator[pa.DictionaryArray]:
        """Yield its values by their dictionary, no larger than in the file."""
        path = self.about.path_in_schema
        table = self.file.read_row_group(self.group, columns=[path], use_threads=False)
        for array in table.column(0).chunks:
            while pa.types.is_list(array.type):
                array = array.flatten()
            if not pa.types.is_dictionary(array.type):
                raise ParquetError(f"{array.type} cannot be read by its dictionary")
            yield array


def _chunks(file: pq.ParquetFile, columns: Container[str]) -> Iterator[_Chunk]:
    """Yield the column chunks of a file that belong to some columns."""
    names = [file.schema.column(i).path.partition(".")[0] for i in range(len(file.schema))]
    for group in range(file.metadata.num_row_groups):
        about = file.metadata.row_group(group)
        for index, name in enumerate(names):
            if name in columns:
                yield _Chunk(file, group, index, name, about.column(index))


class Guarded:
    """Parquet files whose columns may be read once ``check`` has accepted them."""

    def __init__(
        self,
        parts: Sequence[Path],
        schema: pa.Schema,
        optional: Iterable[pa.Field] = (),
        limits: ParquetLimits = DEFAULT_PARQUET,
    ) -> None:
        self.parts, self.limits = list(parts), limits
        self._sizes: dict[str, int] = {}
        self._coded = {field.name for field in schema if pa.types.is_dictionary(field.type)}
        rows = groups = 0
        for part in self.parts:
            with _open(part) as parquet:
                _require_types(part, parquet.schema_arrow, schema, optional)
                rows += max(parquet.metadata.num_rows, _require_apart(part, parquet.metadata))
                groups += parquet.metadata.num_row_groups
        if rows > limits.rows:
            raise ParquetError(f"it has {rows:,} rows; up to {limits.rows:,} are read")
        if groups > limits.groups:
            raise ParquetError(f"it has {groups:,} row groups; up to {limits.groups:,} are read")

    def check(self, columns: Iterable[str], together: bool = True) -> None:
        """Raise ParquetError if columns decode to more than the limits, in memory together.

        Without ``together`` they are read a few rows at a time, and each row group counts alone.
        """
        wanted = list(columns)
        new = [name for name in wanted if name not in self._sizes]
        total = sum(self._sizes.get(name, 0) for name in wanted)
        sizes = dict.fromkeys(new, 0)
        for name, size in self._measure(new):
            sizes[name] += size
            total += size
            if together and total > self.limits.table_bytes:
                break
        else:
            self._sizes |= sizes
        if together and total > self.limits.table_bytes:
            most = self.limits.table_bytes >> 20
            raise ParquetError(f"{', '.join(wanted)} take more than the limit of {most:,} MiB")

    def _measure(self, columns: Collection[str]) -> Iterator[tuple[str, int]]:
        """Yield the decoded bytes of each column chunk of some columns."""
        for part in self.parts if columns else ():
            with open_regular(part) as file, _open(part, by_dictionary=True) as parquet:
                for chunk in _chunks(parquet, columns):
                    try:
                        pages = list(read_pages(file, chunk.about))
                        yield chunk.name, self._decoded(chunk, pages)
                    except (PageError, ParquetError) as error:
                        raise ParquetError(f"{part}, column {chunk.name}: {error}") from error

    def _decoded(self, chunk: _Chunk, pages: list[Page]) -> int:
        """Return an upper bound of the bytes that a column chunk decodes to."""
        limits = self.limits
        unpacked = sum(page.unpacked for page in pages)
        values = sum(page.values for page in pages if page.kind != DICTIONARY)
        if unpacked > limits.chunk_bytes:
            most = limits.chunk_bytes >> 20
            raise ParquetError(f"its pages unpack to {unpacked:,} bytes; up to {most} MiB are read")
        if values > limits.values:
            raise ParquetError(f"it has {values:,} values; up to {limits.values:,} are read")
        if any(page.encoding == _PREFIXED for page in pages):
            raise ParquetError("it is encoded as DELTA_BYTE_ARRAY, which is not read")
        if chunk.name in self._coded or chunk.about.physical_type != "BYTE_ARRAY":
            return unpacked + 8 * values
        repeated = _repeated_bytes(pages)
        longest = limits.text if chunk.text else limits.blob
        if repeated <= limits.guess and all(page.unpacked <= longest for page in pages):
            return unpacked + repeated + 8 * values
        return self._measured(chunk, longest) + 8 * values

    def _measured(self, chunk: _Chunk, longest: int) -> int:
        """Return the bytes that a chunk of texts decodes to, each distinct one decoded once."""
        total = 0
        for array in chunk.encoded():
            lengths = pc.binary_length(array.dictionary)
            most = pc.max(lengths).as_py() or 0
            if most > longest:
                raise ParquetError(f"it has a value of {most:,} bytes; up to {longest:,} are read")
            total += pc.sum(lengths.take(array.indices)).as_py() or 0
        if total > self.limits.chunk_bytes:
            limit = self.limits.chunk_bytes >> 20
            raise ParquetError(f"it decodes to {total:,} bytes; up to {limit} MiB are read")
        return total


def column_names(part: Path) -> list[str]:
    """Return the column names of a file, without reading them."""
    with _open(part) as parquet:
        return list(parquet.schema_arrow.names)


def read_columns(part: Path, columns: Iterable[str]) -> pa.Table:
    """Read columns of a whole file, which ``check`` must have accepted; skip absent ones."""
    with _open(part) as parquet:
        stored = set(parquet.schema_arrow.names)
        return parquet.read(columns=[name for name in columns if name in stored])


def _require_apart(part: Path, about: pq.FileMetaData) -> int:
    """Return the rows of a file; raise if its row groups overlap, which could multiply its size."""
    rows = stored = 0
    for group in map(about.row_group, range(about.num_row_groups)):
        rows += group.num_rows
        stored += sum(group.column(n).total_compressed_size for n in range(group.num_columns))
    if stored > part.stat().st_size:
        raise ParquetError(f"{part}: its columns take more bytes than the file has")
    return rows


@contextmanager
def _open(part: Path, by_dictionary: bool = False) -> Iterator[pq.ParquetFile]:
    """Open a file; with ``by_dictionary`` texts, also those in lists, stay dictionary-encoded."""
    try:
        with open_regular(part) as file:
            schema = pq.ParquetFile(file).schema
            paths = [schema.column(index).path for index in range(len(schema))]
            with pq.ParquetFile(file, read_dictionary=paths if by_dictionary else None) as parquet:
                yield parquet
    except pa.ArrowException as error:
        raise ParquetError(f"{part}: {first_line(error, 500)}") from error


def _repeated_bytes(pages: list[Page]) -> int:
    """Return the bytes of the values in a dictionary, if each were as long as the longest."""
    dictionary = max((page.unpacked for page in pages if page.kind == DICTIONARY), default=0)
    coded = sum(p.values for p in pages if p.kind != DICTIONARY and p.encoding in _DICTIONARIES)
    return dictionary * coded


def _require_types(
    part: Path, stored: pa.Schema, schema: pa.Schema, optional: Iterable[pa.Field]
) -> None:
    fields = {field.name: field for field in (*schema, *optional)}
    missing = [name for name in schema.names if name not in stored.names]
    if missing:
        raise ParquetError(f"{part} lacks {', '.join(sorted(missing))}")
    for field in stored:
        wanted = fields.get(field.name)
        if wanted is None:
            continue
        if stored.names.count(field.name) > 1:
            raise ParquetError(f"{part}, column {field.name}: it is there twice")
        if field.type != wanted.type:
            raise ParquetError(
                f"{part}, column {field.name}: {field.type} instead of {wanted.type}"
            )
        if field.nullable and not wanted.nullable:
            raise ParquetError(f"{part}, column {field.name}: its values may be missing")
