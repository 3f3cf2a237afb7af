"""Parts of earlier versions, upgraded to the current columns.

Earlier parts have no column for the samples of a block, which ``rest`` has. The first ones also
lack noise, which ``rest`` has, and graph breaks, which are lost. In their columns a measurement
that was too noisy is a failure with a speedup and without a level; its outputs, in ``rest``, had
passed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from graph_net.printable import first_line
from graph_net.results import RecordError
from graph_net.results.graph_breaks import REASONS
from graph_net.store.record_columns import PIECES, SCHEMA, TOO_NOISY, WITHHELD

ADDED = frozenset(["noise", *PIECES, REASONS, "per_block"])
"""Columns that earlier parts may lack."""
NEEDED = ("symptom", "rest")
"""Columns that the upgrade reads."""
PER_BLOCK = r'"per_block":(?P<value>\d{1,4})\b'
_IN_REST = {
    "noise": r'"noise":\{"high":[^{}"]+,"low":[^{}"]+,"value":(?P<value>[^{}"]+)\}',
    "per_block": PER_BLOCK,
}
"""Patterns of ``rest`` that hold what is a column now."""


def absent_columns(part: Path) -> frozenset[str]:
    """Return the columns that a part lacks because an earlier version wrote it."""
    try:
        return ADDED - set(pq.read_schema(part).names)
    except (pa.ArrowException, OSError) as error:
        raise RecordError(f"{part} is not a Parquet file: {first_line(error)}") from error


def upgrade_table(table: pa.Table, wanted: Sequence[str], absent: frozenset[str]) -> pa.Table:
    """Return the wanted columns of an older table, which must include ``NEEDED``."""
    columns = {name: table[name] for name in wanted if name not in absent}
    for name in (name for name in wanted if name in absent):
        pattern, kind = _IN_REST.get(name), SCHEMA.field(name).type
        columns[name] = (
            pa.nulls(table.num_rows, kind)
            if pattern is None
            else pc.cast(pc.struct_field(pc.extract_regex(table["rest"], pattern), "value"), kind)
        )
    noisy = pc.fill_null(pc.equal(table["symptom"], TOO_NOISY), False)
    if "noise" in absent and pc.any(noisy).as_py():
        columns |= _mend(table, columns, noisy)
    return pa.table(columns, schema=pa.schema([SCHEMA.field(name) for name in columns]))


def _mend(table: pa.Table, columns: dict[str, Any], noisy: Any) -> dict[str, Any]:
    """Return the columns that changed meaning for measurements that were too noisy."""
    mended = {
        name: pc.if_else(noisy, pa.scalar(None, SCHEMA.field(name).type), columns[name])
        for name in WITHHELD
        if name in columns
    }
    if "status" in columns:
        mended["status"] = pc.if_else(noisy, TOO_NOISY, columns["status"])
    if "t" in columns:
        rests = table["rest"].filter(noisy).to_pylist()
        levels = np.full(table.num_rows, np.nan)
        levels[np.asarray(noisy)] = [_level(rest) for rest in rests]
        mended["t"] = pc.if_else(noisy, pa.array(levels), columns["t"])
    return mended


def _level(rest: str) -> float:
    """Return the smallest level at which all outputs of a record pass."""
    try:
        return float(max(output["t"] for output in json.loads(rest)["outputs"]))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise RecordError(f"not a record: its outputs have no levels ({error})") from error
