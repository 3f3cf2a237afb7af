"""Read results as one table of columns with the blocks beside it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from graph_net.compare.blocks import ARMS, block_logs
from graph_net.compare.ranks import Ragged
from graph_net.results import RecordError, Stage, Symptom
from graph_net.score.faults import Fault
from graph_net.score.load import load
from graph_net.score.samples import ScoredGraphs
from graph_net.store.counting_rows import counting_rows
from graph_net.store.record_columns import SCHEMA
from graph_net.store.record_journal import SUFFIX, read_journal
from graph_net.store.record_parts import BATCH, PARQUET, part_batches, tables_of
from graph_net.store.records import RecordStore

COLUMNS = (
    "graph_id graph compiler version options config device device_kind protocol stage symptom "
    "message started t speedup noise_low noise_high eager_seconds candidate_seconds "
    "cold_seconds candidate_peak_bytes"
).split()
_READ = [*COLUMNS, *ARMS, "per_block", "rest"]
_AS_FAILURE = {
    Fault.ACCURACY: (Stage.VERIFY, Symptom.NUMERIC),
    Fault.NON_FINITE: (Stage.VERIFY, Symptom.NON_FINITE),
    Fault.MISMATCH: (Stage.VERIFY, Symptom.SHAPE),
    Fault.RUNTIME: (Stage.FIRST_RUN, Symptom.EXCEPTION),
    Fault.COMPILE: (Stage.COMPILE, Symptom.EXCEPTION),
    Fault.EAGER: (Stage.EAGER, Symptom.EXCEPTION),
}
"""The failure of a record that stands for a log's fault."""


@dataclass(frozen=True)
class Run:
    """The records of one source: ``COLUMNS``, each row's blocks, and devices by hash."""

    table: pa.Table
    blocks: Ragged
    devices: dict[str, dict[str, Any]]

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def take(self, rows: npt.NDArray[np.int64]) -> Run:
        """Return some of the records."""
        return Run(self.table.take(pa.array(rows)), self.blocks.take(rows), self.devices)


def read_run(source: Path) -> Run:
    """Return the counting records of a directory, a part, a journal, or a source of `score`."""
    run = _read(source)
    rows = counting_rows(run.table)
    return run if rows is None else run.take(rows)


def _read(source: Path) -> Run:
    if not source.exists():
        raise RecordError(f"{source} does not exist; give records or logs")
    if source.suffix == PARQUET and source.is_file():
        return _run(_batches(source))
    if source.suffix == SUFFIX and source.is_file():
        return _run(tables_of(read_journal(source), _READ))
    store = RecordStore(source)
    if source.is_dir() and (store.parts() or store.journals()):
        return _run(_store_tables(store))
    return _run(_table_of_samples(name, samples) for name, samples in load([source]).items())


def _store_tables(store: RecordStore) -> Iterator[pa.Table]:
    for part in store.parts():
        yield from _batches(part)
    for journal in store.journals():
        yield from tables_of(read_journal(journal), _READ)


def _batches(part: Path) -> Iterator[pa.Table]:
    return part_batches(part, _READ, BATCH)


def _table_of_samples(name: str, samples: ScoredGraphs) -> pa.Table:
    """Return a curve of a log as a table: no raw samples, no device."""
    count = len(samples)
    failures = [_AS_FAILURE.get(Fault(fault), (None, None)) for fault in samples.fault]
    speedup = np.where(samples.timed, np.exp(samples.log_speedup), np.nan)
    filled: dict[str, Any] = {
        "graph_id": samples.graph,
        "graph": samples.graph,
        "compiler": [name] * count,
        "options": ["{}"] * count,
        "config": [name] * count,
        "stage": [stage for stage, _ in failures],
        "symptom": [symptom for _, symptom in failures],
        "t": pa.array(samples.t, pa.float64(), mask=~np.isfinite(samples.t)),
        "speedup": pa.array(speedup, pa.float64(), mask=~samples.timed),
        "rest": ["{}"] * count,
    }
    empty = {
        field.name: pa.nulls(count, field.type) if pa.types.is_floating(field.type)
        or pa.types.is_integer(field.type) or pa.types.is_list(field.type) else [""] * count
        for field in SCHEMA
    }  # fmt: skip
    columns = {**empty, **filled}
    schema = pa.schema([SCHEMA.field(name) for name in _READ])
    return pa.table({name: columns[name] for name in _READ}, schema=schema)


def _run(tables: Iterable[pa.Table]) -> Run:
    """Join batches; the raw samples of one are in memory at a time, then only its blocks."""
    parts, values, counts = [], [np.zeros(0)], [np.zeros(0, np.int64)]
    devices: dict[str, dict[str, Any]] = {}
    for table in tables:
        blocks = block_logs(table)
        values.append(blocks.values)
        counts.append(blocks.counts)
        _add_devices(table, devices)
        parts.append(table.select(COLUMNS))
    whole = pa.concat_tables(parts) if parts else SCHEMA.empty_table().select(COLUMNS)
    return Run(whole, Ragged(np.concatenate(values), np.concatenate(counts)), devices)


def _add_devices(table: pa.Table, devices: dict[str, dict[str, Any]]) -> None:
    """Add the devices that are new, from the first record of each."""
    column = table["device"].combine_chunks().dictionary_encode()
    first = np.unique(np.asarray(column.indices.fill_null(0)), return_index=True)[1]
    for row in first:
        name = table["device"][int(row)].as_py() or ""
        if name not in devices:
            devices[name] = _device(table["rest"][int(row)].as_py())


def _device(rest: str) -> dict[str, Any]:
    try:
        device = json.loads(rest)["device"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return {}  # a curve of a log has none
    return device if isinstance(device, dict) else {}
