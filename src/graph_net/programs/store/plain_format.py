"""The plain format of programs: columns that any Parquet reader can use.

One row is one measured program. Times and schedules, which the packed format computes, are stored
as they are. The fields of a configuration and a collector's notes, elsewhere JSON, are columns.
"""

from __future__ import annotations

import pyarrow as pa

from graph_net.programs.store.columns import COLUMNS, KIND
from graph_net.programs.store.part_format import PartFormat

PARAMETERS = {
    "block_m": "rows of the result that one kernel instance computes",
    "block_n": "columns of the result that one kernel instance computes",
    "block_k": "elements of the sum per step of its loop",
    "group_m": "blocks of rows that neighbouring instances share, for the L2 cache",
    "split_k": "parts of the sum that are computed apart and added",
    "block_rows": "rows of one block of a row-wise kernel",
    "block_columns": "columns of one block of a row-wise kernel",
    "per_program": "blocks of rows per kernel instance",
    "split_columns": "parts of a row that are computed apart and added",
    "num_warps": "warps per kernel instance",
    "num_stages": "stages of the software pipeline",
}
"""Columns of the fields of Triton's configurations; a part has those that occur in it."""
NOTED = {
    "again": "again",
    "compiled": "compile_seconds",
    "loaded": "load_seconds",
    "registers": "registers",
    "shared": "shared",
    "spills": "spills",
    "torch": "torch_costs",
}
"""Columns of the notes in ``extra``, in the order of the JSON keys."""
_TEXT, _TIMES = pa.string(), pa.list_(pa.float64())
SCHEMA = pa.schema(
    [
        *(
            pa.field(name, _TEXT)
            for name in "task workload kernel format version target device dtype".split()
        ),
        pa.field("shape", pa.list_(pa.int32())),
        *(pa.field(name, pa.int32()) for name in PARAMETERS),
        pa.field("schedule", _TEXT),
        pa.field("costs", _TIMES),
        *(pa.field(name, _TEXT) for name in ("status", "stage", "symptom", "message")),
        pa.field("seconds", pa.float64()),
        pa.field("measured", pa.timestamp("us")),
        pa.field("again", pa.bool_()),
        pa.field("registers", pa.int32()),
        pa.field("spills", pa.int32()),
        pa.field("shared", pa.int32()),
        pa.field("compile_seconds", pa.float64()),
        pa.field("load_seconds", pa.float64()),
        pa.field("torch_costs", _TIMES),
        pa.field("structure", _TEXT),
        pa.field("graph", _TEXT),
        pa.field("program", pa.uint64()),
        pa.field("source", _TEXT),
        pa.field("line", pa.int64()),
        *(pa.field(name, _TEXT) for name in ("details", "fingerprint", "extra")),
    ],
    metadata={b"graph_net.programs": b"plain"},
)
OPTIONAL = frozenset(PARAMETERS)
_NUMBERS = [f"""'"{key}":' || {column}""" for key, column in NOTED.items() if key[0] in "clrs"]
_PIECES = [
    """CASE WHEN again THEN '"again":true' END""",
    *_NUMBERS,
    """'"torch":[' || array_to_string([one::VARCHAR FOR one IN torch_costs], ',') || ']'""",
    "nullif(extra[2:-2], '')",
]
_EXTRA = f"""CASE WHEN extra = '{{}}' OR NOT starts_with(extra, '{{') THEN extra ELSE
    nullif('{{' || array_to_string([one FOR one IN [{", ".join(_PIECES)}] IF one IS NOT NULL], ',')
    || '}}', '{{}}') END"""
_COMPUTED = {
    "device_name": "device",
    "cost": "list_avg(costs)",
    "extra": _EXTRA,
    "kind": KIND,
}
PLAIN = PartFormat(
    "programs-plain",
    SCHEMA,
    OPTIONAL,
    {name: _COMPUTED.get(name, name) for name in COLUMNS},
    instant="epoch_us(measured) / 1e6",
    beside=("dtype", "shape", *PARAMETERS, "registers", "spills", "shared", "structure", "graph"),
)
