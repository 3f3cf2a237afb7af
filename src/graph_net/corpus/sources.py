"""What the stores of other people's files share: a file in, one Parquet file out, whole or not."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b, file_digest
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.dataset as ds

from graph_net.corpus.pack import sync_directory
from graph_net.corpus.parquet_guard import STORE, Guarded
from graph_net.files import open_regular


def source_hash(source: Path) -> str:
    """The hash of a file's bytes: by it a store knows what it has."""
    with open_regular(source) as file:
        return file_digest(file, lambda: blake2b(digest_size=16)).hexdigest()


@contextmanager
def written(target: Path) -> Iterator[IO[bytes]]:
    """A file to write to; it gets its name when it is whole, and is gone if anything is raised."""
    aside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with aside.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        aside.rename(target)
    finally:
        aside.unlink(missing_ok=True)
    sync_directory(target.parent)


def arrow_source(parts: list[Path], schema: pa.Schema) -> Any:
    """Parquet files as an Arrow dataset, or an empty table; raises ParquetError on other files."""
    if not parts:
        return schema.empty_table()
    Guarded(parts, schema, limits=STORE).check(schema.names, together=False)
    return ds.dataset([str(part) for part in parts], format="parquet")
