"""Stored records as samples, column by column; no Record is built."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from graph_net.results import Stage, Symptom
from graph_net.results.graph_breaks import BREAKS, GRAPHS
from graph_net.score.family import family_of
from graph_net.score.faults import Fault, fault_of
from graph_net.score.samples import Floats, Ints, ScoredGraphs, doubts_of
from graph_net.store.counting_rows import counting_rows, encode_texts, renumber
from graph_net.store.record_columns import label_of
from graph_net.store.records import RecordStore

COLUMNS = (
    "graph_id graph library model category compiler version options config device device_name "
    "protocol stage symptom t speedup speedup_low speedup_high noise noise_low noise_high "
    "compiled_graphs graph_breaks"
).split()
ENCODED = "graph_id library model category config device protocol stage symptom".split()
BLAMELESS_FAULT = -1
"""The fault that ``faults_of`` returns for a failure that is excluded from scores."""


def read_records(store: RecordStore) -> dict[str, ScoredGraphs]:
    """Return the samples of a store, by compiler."""
    store.require()
    return samples_of_table(store.table(COLUMNS))


def samples_of_table(table: pa.Table) -> dict[str, ScoredGraphs]:
    """Return the samples of a table of records, by compiler.

    Each configuration, device and protocol gets a name of its own.
    """
    table = _encode(table)
    counting = counting_rows(table)
    if counting is not None:
        table = table.take(pa.array(counting))
    _, group = encode_texts(table["config"])
    for name in ("device", "protocol"):
        values, codes = encode_texts(table[name])
        present, group = renumber(group * len(values) + codes)
    columns = _columns(table)
    by_group = np.argsort(group, kind="stable")
    ends = np.cumsum(np.bincount(group, minlength=present))
    labels = _labels(table.take(pa.array(by_group[ends - 1])))
    groups = np.split(by_group, ends[:-1])  # one empty group, and no label, without rows
    curves = {
        label: _select(columns, rows, table) for label, rows in zip(labels, groups, strict=False)
    }
    return dict(sorted(curves.items()))


def _encode(table: pa.Table) -> pa.Table:
    """Return the table with compared texts dictionary-encoded, so that each is hashed once."""
    for name in ENCODED:
        column = table[name].combine_chunks().dictionary_encode("encode")
        table = table.set_column(table.column_names.index(name), name, column)
    return table


def _labels(rows: pa.Table) -> list[str]:
    """Return a name for each curve, no longer than it takes to distinguish them."""
    names = []
    others = ["version", "device_name", "device", "protocol"]
    for row in rows.select(["compiler", "options", *others]).to_pylist():
        version, name, device, protocol = (row[other] or "" for other in others)
        short = label_of(str(row["compiler"]), row["options"] or "")
        names.append((short, version, name, device[:8], f"protocol {protocol[:8]}"))
    return distinct_labels(names)


def distinct_labels(names: Sequence[tuple[str, ...]]) -> list[str]:
    """Return for each name as many of its words as it takes to distinguish it from the others.

    The last word, the protocol, follows the first one where it is all that differs.
    """
    return [_distinct(name, [other for other in names if other[0] == name[0]]) for name in names]


def _distinct(name: tuple[str, ...], alike: Sequence[tuple[str, ...]]) -> str:
    for length in range(1, len(name)):
        if sum(other[:length] == name[:length] for other in alike) == 1:
            return " ".join(name[:length])
    same = all(other[:-1] == name[:-1] for other in alike)
    return f"{name[0]} {name[-1]}" if same else " ".join(name)


def _columns(table: pa.Table) -> ScoredGraphs:
    """Return all rows as samples; the fault of an excluded row is -1."""
    control, control_doubt = _ratios(table, "noise", 1.0)
    ratio, doubt = _ratios(table, "speedup", np.nan_to_num(control, nan=1.0))
    timed = np.isfinite(ratio)  # none if it was too noisy
    fault = faults_of(table)
    levels = np.where(fault == Fault.NONE, floats_of(table["t"]), np.inf)
    families, family = _families(table)
    graphs, graph = encode_texts(table["graph_id"])
    categories, category = encode_texts(table["category"])
    return ScoredGraphs(
        np.log(np.where(timed, ratio, 1.0)), timed, levels, fault, family,
        np.array(graphs, dtype=object)[graph], np.array(categories, dtype=object)[category],
        doubt, np.log(control), control_doubt, families,
    )  # fmt: skip


def _ratios(table: pa.Table, name: str, control: Floats | float) -> tuple[Floats, Floats]:
    """Return a ratio of each row and its doubt, as ``sample_of`` does; NaN and 0 without one.

    Columns may hold anything: a value that no measurement gives counts as no ratio.
    """
    value, low, high = (floats_of(table[f"{name}{end}"]) for end in ("", "_low", "_high"))
    valid = (value > 0) & np.isfinite(value)
    doubt = doubts_of(value, low, high, control)
    has_doubt = valid & np.isfinite(doubt) & (doubt >= 0)
    return np.where(valid, value, np.nan), np.where(has_doubt, doubt, 0.0)


def floats_of(column: pa.ChunkedArray) -> Floats:
    """Return a column of numbers as an array; a null is NaN."""
    return np.asarray(pc.fill_null(column, float("nan")), dtype=np.float64)


def faults_of(table: pa.Table) -> Ints:
    """Return the fault of each row, by its columns ``stage`` and ``symptom``."""
    stages, stage = encode_texts(table["stage"])
    symptoms, symptom = encode_texts(table["symptom"])
    faults = np.full((len(stages), len(symptoms)), int(Fault.NONE), dtype=np.int64)
    for i, stage_name in enumerate(stages):
        for j, symptom_name in enumerate(symptoms):
            if stage_name and symptom_name:
                fault = fault_of(Stage(stage_name), Symptom(symptom_name))
                faults[i, j] = BLAMELESS_FAULT if fault is None else int(fault)
    of_rows: Ints = faults[stage, symptom]
    return of_rows


def _families(table: pa.Table) -> tuple[list[str], Ints]:
    libraries, library = encode_texts(table["library"])
    models, code = encode_texts(table["model"])
    if "" in models:  # a graph of an unknown model is a family of its own
        graphs, graph = encode_texts(table["graph"])
        code = np.where(code == models.index(""), len(models) + graph, code)
        models = models + graphs
    pair = library * len(models) + code
    count, position = renumber(pair)
    pairs = np.empty(count, dtype=np.int64)
    pairs[position] = pair
    names = [family_of(libraries[i // len(models)], models[i % len(models)]) for i in pairs]
    families, of_pair = np.unique(names, return_inverse=True)
    return [str(name) for name in families], of_pair.astype(np.int64)[position]


def _select(columns: ScoredGraphs, rows: npt.NDArray[Any], table: pa.Table) -> ScoredGraphs:
    """Return the samples of rows that count, with the number of those that do not."""
    blameless = columns.fault[rows] == BLAMELESS_FAULT
    symptoms: Sequence[str] = table["symptom"].take(pa.array(rows[blameless])).to_pylist()
    counting = pa.array(rows[~blameless])
    graphs, breaks = (
        np.asarray(pc.fill_null(table[name].take(counting), default))
        for name, default in ((GRAPHS, 1), (BREAKS, 0))
    )
    return replace(
        columns.take(rows[~blameless]),
        blameless=dict(Counter(symptoms)),
        broken=int(((breaks > 0) & (graphs > 0)).sum()),
        uncompiled=int((graphs == 0).sum()),
    )
