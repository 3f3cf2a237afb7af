"""Rows that are not in a part yet, kept where a kill cannot reach them.

Parts are large so that a pack has few of them; between two parts each row goes to a journal as
soon as it is added. A writer that finds a journal takes up what another one had finished.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from graph_net.store.files import require_regular


class RowJournal:
    """An Arrow stream beside a pack's parts, one batch a row."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.path = path
        self.schema = schema
        self._file: Any = None
        self._stream: Any = None

    def recover(self) -> list[dict[str, Any]]:
        """The rows an earlier writer left, without the one it was writing when it died."""
        rows: list[dict[str, Any]] = []
        if not self.path.exists():
            return rows
        require_regular(self.path)
        try:
            with pa.OSFile(str(self.path)) as file, pa.ipc.open_stream(file) as stream:
                for batch in stream:
                    rows += batch.to_pylist()
        except (pa.ArrowException, OSError, EOFError):
            pass  # the end is missing, as it is where a writer was killed
        return rows

    def append(self, row: dict[str, Any]) -> None:
        """Keep a row."""
        if self._stream is None:
            self._file = self.path.open("wb", buffering=0)
            self._stream = pa.ipc.new_stream(self._file, self.schema)
        self._stream.write_batch(pa.RecordBatch.from_pylist([row], schema=self.schema))

    def clear(self) -> None:
        """Forget the rows: they are in a part."""
        if self._stream is not None:
            self._stream.close()
            self._file.close()
            self._stream = self._file = None
        self.path.unlink(missing_ok=True)
