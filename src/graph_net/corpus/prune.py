"""Graphs out of a pack: those that validation refused."""

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
    """Take graphs out of a pack; how many there were. Parts without any of them stay as they are.

    A part is replaced in one step, so that a kill leaves a pack of whole parts.
    """
    if pack.path.is_file():
        raise PackError(f"{pack.path} is one part; graphs are taken out of a directory of them")
    pack.check([*pack.columns, "graph"], together=False)
    with hold_lock(pack.path):
        return sum(_prune_part(part, names) for part in pack.parts)


def _prune_part(part: Path, names: Collection[str]) -> int:
    table = pq.read_table(part)
    kept = table.filter(pc.invert(pc.is_in(table["name"], pa.array(sorted(names)))))
    gone = int(table.num_rows - kept.num_rows)
    if gone and kept.num_rows:
        write_part(part, kept.replace_schema_metadata(SCHEMA.metadata))
    elif gone:
        part.unlink()
    return gone
