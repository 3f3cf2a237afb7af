"""A pack: many graphs in few Parquet files, filtered by columns without reading a graph.

A pack is a directory of immutable parts. A part is written aside, synced and renamed; rows that
are not in a part yet are in a journal. A killed writer leaves whole parts and a journal, and the
next one resumes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from graph_net.corpus.columns import COLUMNS, SCHEMA, SUBGRAPH_COLUMNS, row_of
from graph_net.corpus.suggest import suggest
from graph_net.graph import DEFAULT_LIMITS, Graph, GraphError, GraphLimits, from_bytes
from graph_net.printable import first_line
from graph_net.store.atomic import replacing
from graph_net.store.files import list_regular
from graph_net.store.lock import hold_lock
from graph_net.store.parquet_guard import DEFAULT_PARQUET, Guarded, ParquetError, ParquetLimits
from graph_net.store.parquet_guard import column_names as _column_names
from graph_net.store.parquet_guard import read_columns as _read_columns
from graph_net.store.row_journal import RowJournal

if TYPE_CHECKING:
    import pyarrow.dataset as ds

PART_GRAPHS = 1024
PART_BYTES = 32 << 20
ROW_GROUP = 256
COMPRESSION_LEVEL = 12
SUFFIX = ".parquet"


class PackError(ValueError):
    """A pack that cannot be opened, or lacks what was requested."""


class NoGraph(PackError):
    """A name or id that a pack does not have."""


def is_pack(path: Path | str) -> bool:
    """Return whether a path is a pack: a directory with parts, or a single part."""
    path = Path(path)
    return path.suffix == SUFFIX if path.is_file() else any(path.glob(f"part-*{SUFFIX}"))


class Pack:
    """A pack opened for reading; it is not trusted.

    ``limits`` hold for each graph, ``parquet`` for the columns: types and sizes are checked before
    a column is decoded.
    """

    def __init__(
        self,
        path: Path | str,
        limits: GraphLimits = DEFAULT_LIMITS,
        parquet: ParquetLimits = DEFAULT_PARQUET,
    ) -> None:
        self.path = Path(path)
        self.limits = limits
        if not self.path.exists():
            raise PackError(f"{self.path} does not exist; make a pack with `graph-net import`")
        if not is_pack(self.path):
            raise PackError(f"{self.path} is not a pack: it holds no part-*{SUFFIX}")
        with self._readable():
            self.parts = (
                [self.path] if self.path.is_file() else list_regular(self.path, f"part-*{SUFFIX}")
            )
            self.stored = _column_names(self.parts[0])
        missing = set(SCHEMA.names) - set(self.stored)
        if missing:
            raise PackError(f"{self.path} is not a pack: it lacks {', '.join(sorted(missing))}")
        with self._readable():
            self._guarded = Guarded(self.parts, SCHEMA, SUBGRAPH_COLUMNS, parquet)

    @cached_property
    def dataset(self) -> ds.Dataset:
        """The parts, to read chosen rows; lazy, since arrow imports pandas for it."""
        import pyarrow.dataset as ds

        with self._readable():
            return ds.dataset([str(part) for part in self.parts], format="parquet")

    def check(self, columns: Iterable[str], together: bool = True) -> None:
        """Raise PackError if columns decode to more than the limits, ``together`` in memory."""
        with self._readable():
            self._guarded.check(columns, together)

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowException, ParquetError, OSError) as error:
            raise PackError(f"{self.path} cannot be read: {first_line(error, 1000)}") from error

    def _table(self, columns: Iterable[str], chosen: pc.Expression | None = None) -> pa.Table:
        columns = list(columns)
        self.check(columns, together=chosen is None)
        with self._readable():
            table = (
                self._whole(columns)
                if chosen is None
                else self.dataset.to_table(columns=columns, filter=chosen)
            )
            table.validate(full=True)  # text may not be UTF-8
        return table

    def _whole(self, columns: list[str]) -> pa.Table:
        read = [_read_columns(part, columns) for part in self.parts]
        return pa.concat_tables(read, promote_options="default").select(columns)

    def __len__(self) -> int:
        with self._readable():
            return int(self.dataset.count_rows())

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns to choose from; a pack of subgraphs has more than others."""
        return (*COLUMNS, *(field.name for field in SUBGRAPH_COLUMNS if field.name in self.stored))

    def names(self) -> list[str]:
        """List the names of all graphs, in stored order."""
        return list(self._table(["name"])["name"].to_pylist())

    def rows(self, columns: Iterable[str] = COLUMNS) -> pa.Table:
        """Return columns of all graphs, without reading the graphs."""
        return self._table(columns)

    def graph(self, name: str) -> Graph:
        """Return one graph by its name, or by an unambiguous prefix of its id."""
        chosen = pc.field("name") == name
        names = self._table(["name"], chosen)["name"]
        if len(names) == 0 and len(name) >= 6:
            chosen = pc.starts_with(pc.field("id"), name)
            names = self._table(["name", "id"], chosen)["name"]
        if len(names) == 0:
            raise NoGraph(f"{self.path} has no graph {name!r}; {suggest(name, self.names())}")
        if len(names) > 1:
            some = ", ".join(names.slice(0, 5).to_pylist())
            raise PackError(f"{name!r} stands for {len(names)} graphs: {some}")
        return self._decode(names[0].as_py(), self._table(["graph"], chosen)["graph"][0].as_py())

    def graphs(self, names: Iterable[str] | None = None) -> Iterator[tuple[str, Graph]]:
        """Yield graphs with their names, all or those named, a few in memory at a time."""
        for name, data in self.blobs(names):
            yield name, self._decode(name, data)

    def blobs(self, names: Iterable[str] | None = None) -> Iterator[tuple[str, bytes]]:
        """Yield the bytes of graphs with their names, all or those named."""
        chosen = (
            None if names is None else pc.field("name").isin(pa.array(list(names), pa.string()))
        )
        self.check(["name", "graph"], together=False)
        batches = self.dataset.to_batches(
            filter=chosen, columns=["name", "graph"], batch_size=64, batch_readahead=1
        )
        while True:
            with self._readable():
                batch = next(batches, None)
                if batch is not None:
                    batch.validate(full=True)
            if batch is None:
                return
            for name, data in zip(batch["name"], batch["graph"], strict=True):
                yield name.as_py(), data.as_py()

    def rows_of(self, names: Collection[str], columns: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Return columns of some graphs by name; raise PackError if one is missing, or twice."""
        chosen = pc.field("name").isin(pa.array(list(names), pa.string()))
        counts = Counter(self._table(["name"], chosen)["name"].to_pylist())
        for name in names:
            if counts[name] != 1:
                raise PackError(f"{self.path} has {counts[name]} graphs called {name!r}")
        table = self._table(dict.fromkeys(("name", *columns)), chosen)
        return {row["name"]: row for row in table.to_pylist()}

    def _decode(self, name: str, data: bytes) -> Graph:
        try:
            return from_bytes(data, self.limits)
        except GraphError as error:
            raise GraphError(
                f"{name}: {error.reason}", node=error.node, field=error.field
            ) from error


class PackWriter:
    """A writer that adds graphs to a pack, part by part; raise InUse if there is another.

    The pack is locked from construction to the end of ``with``, so that no name is in it twice.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        if self.path.is_file():
            raise PackError(f"{self.path} is a file; a pack is written to a directory")
        self._lock = ExitStack()
        self._lock.enter_context(hold_lock(self.path))
        for left in self.path.glob(".part-*"):
            left.unlink()  # unfinished parts of a killed writer
        self.names = set(Pack(self.path).names()) if is_pack(self.path) else set()
        self._rows: list[dict[str, Any]] = []
        self._bytes = 0
        self._journal = RowJournal(self.path / ".journal", SCHEMA)
        self._recover()

    def _recover(self) -> None:
        """Write the journal of a killed writer as a part."""
        for row in self._journal.recover():
            if row["name"] not in self.names:
                self.names.add(row["name"])
                self._rows.append(row)
        self.flush()
        self._journal.clear()

    def __enter__(self) -> PackWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._lock:
            self.flush()  # also after an error: these rows are complete

    def add(self, name: str, graph: Graph) -> None:
        """Add a graph under a new name."""
        self.add_row(row_of(name, graph))

    def add_row(self, row: dict[str, Any]) -> None:
        """Add a row made by ``row_of``, perhaps in another process."""
        if row["name"] in self.names:
            raise PackError(f"{self.path} already has a graph {row['name']!r}")
        self.names.add(row["name"])
        self._journal.append(row)
        self._rows.append(row)
        self._bytes += len(row["graph"])
        if len(self._rows) >= PART_GRAPHS or self._bytes >= PART_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write the added rows as a part."""
        if not self._rows:
            return
        number = 1 + max(
            (_part_number(part) for part in self.path.glob(f"part-*{SUFFIX}")), default=-1
        )
        target = self.path / f"part-{number:05d}{SUFFIX}"
        write_part(target, pa.Table.from_pylist(self._rows, schema=SCHEMA))
        self._journal.clear()
        self._rows, self._bytes = [], 0


def write_part(
    target: Path, table: pa.Table, *, row_group: int = ROW_GROUP, level: int = COMPRESSION_LEVEL
) -> None:
    """Write rows as a part, which appears complete or not at all."""
    repeated = [name for name in table.column_names if name not in ("name", "id", "graph")]
    with replacing(target) as aside:
        pq.write_table(
            table,
            aside,
            compression="zstd",
            compression_level=level,
            row_group_size=row_group,
            use_dictionary=repeated,
            data_page_size=8 << 20,
            store_schema=False,  # Arrow's copy of the schema takes kilobytes in every part
            write_statistics=["name", "id", "nodes"],
        )


def _part_number(part: Path) -> int:
    digits = part.stem.removeprefix("part-")
    return int(digits) if digits.isdecimal() else -1
