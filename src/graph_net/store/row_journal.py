"""A journal of rows that are not in a part yet, safe from a kill.

Parts are large so that a pack has few of them; until the next part, each row goes to a journal. A
writer that finds a journal recovers the rows of the writer before it.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from graph_net.store.files import require_regular


class RowJournal:
    """An Arrow stream beside a pack's parts, one batch per row."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.path = path
        self.schema = schema
        self._file: Any = None
        self._stream: Any = None

    def recover(self) -> list[dict[str, Any]]:
        """Return the rows of an earlier writer, except one it was writing when it died."""
        rows: list[dict[str, Any]] = []
        if not self.path.exists():
            return rows
        require_regular(self.path)
        with (
            suppress(pa.ArrowException, OSError, EOFError),  # a killed writer left no end
            pa.OSFile(str(self.path)) as file,
            pa.ipc.open_stream(file) as stream,
        ):
            for batch in stream:
                rows += batch.to_pylist()
        return rows

    def append(self, row: dict[str, Any]) -> None:
        """Append a row."""
        if self._stream is None:
            self._file = self.path.open("wb", buffering=0)
            self._stream = pa.ipc.new_stream(self._file, self.schema)
        self._stream.write_batch(pa.RecordBatch.from_pylist([row], schema=self.schema))

    def clear(self) -> None:
        """Remove the journal: its rows are in a part."""
        if self._stream is not None:
            self._stream.close()
            self._file.close()
            self._stream = self._file = None
        self.path.unlink(missing_ok=True)
