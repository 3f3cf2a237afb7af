"""Write rows to a store: a part is written after enough rows, or after enough time."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from graph_net.programs.features.feature_kinds import FeatureKind
from graph_net.programs.features.feature_store import FeatureStore, Row

PART_ROWS = 8192
PART_SECONDS = 60.0
"""Most seconds of work that a killed run loses."""


@dataclass
class FeaturePartWriter:
    """Buffers rows of a kind; closing writes the rest."""

    store: FeatureStore
    kind: FeatureKind
    rows: list[Row] = field(default_factory=list)
    since: float = field(default_factory=time.monotonic)

    def __enter__(self) -> FeaturePartWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.flush()

    def add(self, row: Row) -> None:
        """Add a row."""
        self.rows.append(row)
        if len(self.rows) >= PART_ROWS or time.monotonic() - self.since > PART_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write the buffered rows."""
        self.store.add(self.kind, self.rows)
        self.rows, self.since = [], time.monotonic()
