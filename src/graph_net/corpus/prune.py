"""Removal of graphs from a pack, such as those that validation refused."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from graph_net.corpus.columns import SCHEMA
from graph_net.corpus.pack import Pack, PackError, write_part
from graph_net.store.lock import hold_lock


def prune(pack: Pack, names: Collection[str]) -> int:
    """Remove graphs from a pack; return how many there were. Other parts do not change.

    A part is replaced in one step, so that a kill leaves a pack of whole parts.
    """
    if pack.path.is_file():
        raise PackError(f"{pack.path} is a single part; give the directory of the pack")
    pack.check([*pack.columns, "graph"], together=False)
    with hold_lock(pack.path):
        return sum(_prune_part(part, names) for part in pack.parts)


def _prune_part(part: Path, names: Collection[str]) -> int:
    table = pq.read_table(part)
    rest = table.filter(pc.invert(pc.is_in(table["name"], pa.array(sorted(names)))))
    removed = int(table.num_rows - rest.num_rows)
    if removed and rest.num_rows:
        write_part(part, rest.replace_schema_metadata(SCHEMA.metadata))
    elif removed:
        part.unlink()
    return removed
