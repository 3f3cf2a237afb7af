"""The packed format of programs: few bytes per row, and lossless.

A schedule is a template and the numbers that differ between the programs of a task; costs are the
integers that were printed (``decimals``). Queries see ``COLUMNS``, which are computed from the
stored columns when a query names them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from graph_net.programs.formats.columns import Coded, ProgramColumns
from graph_net.programs.formats.text_numbers import GAP, fill_numbers
from graph_net.programs.store.decimals import decimals
from graph_net.programs.store.part_format import PartFormat
from graph_net.results import ConfigKind, digest
from graph_net.results.program import KINDS

Value = TypeVar("Value")
FORMAT_VERSION = 2
_TEXT = pa.dictionary(pa.int32(), pa.string())
SHARED = (
    "source format version task workload kernel target device_name details status stage symptom "
    "message extra fingerprint template"
).split()
SCHEMA = pa.schema(
    [
        *(pa.field(name, _TEXT) for name in SHARED),
        pa.field("line", pa.int64()),
        pa.field("program", pa.uint64()),
        pa.field("repeats", pa.int32()),
        pa.field("total", pa.int64()),
        pa.field("unit", pa.int8()),
        pa.field("spread", pa.list_(pa.uint32())),
        pa.field("costs_raw", pa.list_(pa.float64())),
        pa.field("took", pa.int64()),
        pa.field("took_unit", pa.int8()),
        pa.field("took_raw", pa.float64()),
        pa.field("stamp", pa.int64()),
        pa.field("stamp_raw", pa.float64()),
        pa.field("numbers", pa.list_(pa.int32())),
    ],
    metadata={b"graph_net.programs": str(FORMAT_VERSION).encode()},
)
ENCODINGS = {
    "line": "DELTA_BINARY_PACKED",
    "stamp": "DELTA_BINARY_PACKED",
    "total": "BYTE_STREAM_SPLIT",
    "spread.list.element": "BYTE_STREAM_SPLIT",
    "costs_raw.list.element": "BYTE_STREAM_SPLIT",
    "took": "BYTE_STREAM_SPLIT",
    "took_raw": "BYTE_STREAM_SPLIT",
    "stamp_raw": "BYTE_STREAM_SPLIT",
    "numbers.list.element": "BYTE_STREAM_SPLIT",
}

_AWAY = "if(z % 2 = 0, z // 2, -1 - z // 2) FOR z IN spread::BIGINT[]"
_COSTS = f"""CASE WHEN costs_raw IS NOT NULL THEN costs_raw WHEN repeats = 0 THEN []
    ELSE list_append(
    [(total // repeats + away) / pow(10, unit) FOR away IN [{_AWAY}]],
    (total - (repeats - 1) * (total // repeats) - coalesce(list_sum([{_AWAY}]), 0)::BIGINT)
    / pow(10, unit)) END"""
_SCHEDULE = """CASE WHEN template IS NULL OR len(numbers) = 0 THEN template ELSE array_to_string(
    [piece[1] || coalesce(piece[2]::VARCHAR, '')
     FOR piece IN list_zip(string_split(template, chr(1)), numbers)], '') END"""
_WHEN = " ".join(f"WHEN format = '{name}' THEN '{kind}'" for name, kind in KINDS.items())
KIND = f"CASE {_WHEN} ELSE '{ConfigKind.SCHEDULE}' END"
"""SQL for the kind of a program's configuration."""
COLUMNS = {
    **{name: name for name in SHARED if name not in ("extra", "fingerprint", "template")},
    "kind": KIND,
    "line": "line",
    "program": "program",
    "costs": _COSTS,
    "seconds": "coalesce(took / pow(10, took_unit), took_raw)",
    "measured": "make_timestamp(coalesce(stamp * 1000000, round(stamp_raw * 1e6)::BIGINT))",
    "schedule": _SCHEDULE,
    "extra": "extra",
    "fingerprint": "fingerprint",
    "again": """coalesce(contains(extra::VARCHAR, '"again":true'), false)""",
    "cost": "coalesce(total / pow(10, unit) / repeats, list_avg(costs_raw))",
}
"""The columns of queries, with the SQL that computes them. A cost is the mean of the repeats."""
PACKED = PartFormat(
    f"programs-{FORMAT_VERSION}-",
    SCHEMA,
    frozenset({"fingerprint"}),
    COLUMNS,
    instant="coalesce(stamp::DOUBLE, stamp_raw)",
)
"""Parts written before programs had a Device lack this column."""


def table_of(block: ProgramColumns, source: str, device: str, schedules: bool) -> pa.Table:
    """Return a block as the stored columns, grouped by task."""
    block = replace(block, tasks=block.tasks.compact())
    order = np.lexsort((block.lines, block.tasks.index))
    if (order[1:] < order[:-1]).any():
        block = block.take(order)
    failures, tasks = block.failures.compact(), block.tasks
    costs = decimals(block.costs, block.repeats)
    took = decimals(np.nan_to_num(block.seconds), np.ones(len(block), np.int64))
    timed, whole = ~np.isnan(block.seconds), block.measured % 1 == 0
    template, numbers, counts = templates(block)
    none = np.zeros(len(block), bool)
    found = {
        "source": _same(source, len(block)),
        "format": _texts(tasks, lambda task: task.format),
        "version": _texts(block.versions.compact(), str),
        "task": _texts(tasks, lambda task: digest(task.hash, device)),
        "workload": _texts(tasks, lambda task: task.workload),
        "kernel": _texts(tasks, lambda task: task.kernel),
        "target": _texts(tasks, lambda task: task.target),
        "device_name": _same(device, len(block)),
        "details": _texts(tasks, lambda task: task.details),
        "status": _texts(failures, lambda failure: "failed" if failure else "success"),
        "stage": _texts(failures, lambda failure: failure.stage if failure else None),
        "symptom": _texts(failures, lambda failure: failure.symptom if failure else None),
        "message": _texts(failures, lambda failure: failure.message if failure else None),
        "extra": _texts(block.extras.compact(), lambda extra: extra or None),
        "fingerprint": _texts(block.devices.compact(), lambda device: device or None),
        "template": _texts(template, bytes.decode) if schedules else _same(None, len(block)),
        "line": pa.array(block.lines),
        "program": pa.array(block.programs),
        "repeats": pa.array(block.repeats, pa.int32()),
        "total": pa.array(costs.totals, mask=~costs.exact | (block.repeats == 0)),
        "unit": pa.array(costs.units, mask=~costs.exact | (block.repeats == 0)),
        "spread": _lists(costs.spread, np.maximum(block.repeats - 1, 0), costs.exact),
        "costs_raw": _lists(block.costs, block.repeats, ~costs.exact),
        "took": pa.array(took.totals, mask=~(took.exact & timed)),
        "took_unit": pa.array(took.units, mask=~(took.exact & timed)),
        "took_raw": pa.array(block.seconds, mask=~timed | took.exact),
        "stamp": pa.array(np.where(whole, block.measured, 0).astype(np.int64), mask=~whole),
        "stamp_raw": pa.array(block.measured, mask=np.isnan(block.measured) | whole),
        "numbers": _lists(numbers, counts, ~none if schedules else none),
    }
    return pa.Table.from_arrays([found[name] for name in SCHEMA.names], schema=SCHEMA)


def templates(block: ProgramColumns) -> tuple[Coded[bytes], NDArray[np.int32], NDArray[np.int64]]:
    """Return the schedules as templates, and the numbers that fill the templates.

    A template holds the numbers that all schedules of a task with the same text have in common.
    """
    kinds = block.tasks.index * len(block.skeletons.values) + block.skeletons.index
    order = np.argsort(kinds, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(kinds[order])) + 1)
    starts = np.cumsum(block.counts) - block.counts
    values: list[bytes] = []
    index, counts = np.zeros(len(block), np.int64), np.zeros(len(block), np.int64)
    differing: list[tuple[NDArray[np.int64], NDArray[np.int32]]] = []
    for rows in groups:
        width = int(block.counts[rows[0]])
        numbers = block.numbers[starts[rows][:, None] + np.arange(width)]
        differs = (numbers != numbers[0]).any(axis=0)
        skeleton = block.skeletons.values[block.skeletons.index[rows[0]]]
        index[rows], counts[rows] = len(values), int(differs.sum())
        common = zip(numbers[0].tolist(), differs.tolist(), strict=True)
        values.append(fill_numbers(skeleton, (GAP if gap else b"%d" % one for one, gap in common)))
        differing.append((rows, numbers[:, differs]))
    flat = np.zeros(int(counts.sum()), np.int32)
    places = np.cumsum(counts) - counts
    for rows, numbers in differing:
        flat[places[rows][:, None] + np.arange(numbers.shape[1])] = numbers
    return Coded(values, index), flat, counts


def _texts(column: Coded[Value], text: Callable[[Value], str | None]) -> pa.DictionaryArray:
    """Return a dictionary column of texts; no text becomes null."""
    known: dict[str, int] = {}
    found = [text(value) for value in column.values]
    places = [-1 if word is None else known.setdefault(word, len(known)) for word in found]
    index = np.array(places, np.int32)[column.index]
    return pa.DictionaryArray.from_arrays(
        pa.array(index, mask=index < 0), pa.array(known, pa.string())
    )


def _same(text: str | None, rows: int) -> pa.DictionaryArray:
    return _texts(Coded([text], np.zeros(rows, np.int64)), lambda word: word)


def _lists(
    flat: NDArray[np.generic], counts: NDArray[np.int64], valid: NDArray[np.bool_]
) -> pa.ListArray:
    """Return a ragged column; rows that are not valid become null."""
    kept = flat[np.repeat(valid, counts)]
    offsets = np.concatenate([[0], np.cumsum(np.where(valid, counts, 0))]).astype(np.int32)
    mask = None if valid.all() else pa.array(~valid)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(kept), mask=mask)
