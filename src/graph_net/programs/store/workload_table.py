"""The modules of MetaSchedule's workloads, beside the programs that schedule them.

Stored as TVM packs them (base 64) and never decoded here; a database can be restored from them.
"""

from __future__ import annotations

from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from graph_net.programs.formats import MetaScheduleWorkload, ReadError, read_workloads
from graph_net.store.atomic import open_atomic
from graph_net.store.files import list_regular
from graph_net.store.parquet import arrow_source, source_hash

SCHEMA = pa.schema(
    [pa.field(name, pa.string()) for name in ("source", "workload", "module")],
    metadata={b"graph_net.workloads": b"1"},
)


class WorkloadStore:
    """The workloads of a store."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)

    def parts(self) -> list[Path]:
        """Return the Parquet files, one per source file."""
        return list_regular(self.path, "workloads-*.parquet")

    def source(self) -> Any:
        """Return the whole table, for queries."""
        return arrow_source(self.parts(), SCHEMA)

    def add(self, source: Path) -> tuple[int, int] | None:
        """Return how many workloads were stored and are damaged; None if the file is known."""
        target = self.path / f"workloads-{source_hash(source)}.parquet"
        if target.is_file():
            return None
        with open_atomic(target) as file:
            counts = _write(file, source)
            if not counts[0]:
                raise ReadError(f"{source} has no workload that can be read")
        return counts


def _write(file: IO[bytes], source: Path) -> tuple[int, int]:
    """Write modules, one per row group, so that one is in memory at a time."""
    stored = damaged = 0
    with pq.ParquetWriter(file, SCHEMA, compression="zstd", compression_level=9) as writer:
        for _, what in read_workloads(source):
            if not isinstance(what, MetaScheduleWorkload):
                damaged += 1
                continue
            row = {"source": source.name, "workload": what.hash, "module": what.module}
            writer.write_table(pa.Table.from_pylist([row], schema=SCHEMA))
            stored += 1
    return stored, damaged
