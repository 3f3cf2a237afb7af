"""Stored records as samples, column by column: no record is built."""

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
from graph_net.score.samples import Floats, Ints, ScoredGraphs, doubts
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
"""What `faults_of` gives where a failure is excluded from scores."""


def read_records(store: RecordStore) -> dict[str, ScoredGraphs]:
    """The samples of a store, by compiler."""
    store.require()
    return samples_of_table(store.table(COLUMNS))


def samples_of_table(table: pa.Table) -> dict[str, ScoredGraphs]:
    """The samples of a table of records, by compiler.

    Results of another configuration, device or protocol are samples of another name.
    """
    table = _encoded(table)
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
    found = {}
    for number, label in enumerate(labels):
        begin = 0 if number == 0 else ends[number - 1]
        found[label] = _counted(columns, by_group[begin : ends[number]], table)
    return dict(sorted(found.items()))


def _encoded(table: pa.Table) -> pa.Table:
    """The table with the texts that are compared as numbers, so that each is hashed once."""
    for name in ENCODED:
        column = table[name].combine_chunks().dictionary_encode("encode")
        table = table.set_column(table.column_names.index(name), name, column)
    return table


def _labels(rows: pa.Table) -> list[str]:
    """A name for each curve, no longer than it takes to distinguish them."""
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
    """All rows as samples; the fault of a row that is excluded from scores is -1."""
    control, control_doubt = _ratios(table, "noise", 1.0)
    ratio, doubt = _ratios(table, "speedup", np.nan_to_num(control, nan=1.0))
    timed = np.isfinite(ratio)  # where it was too noisy there is none
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
    """A ratio of each row and its doubt, as ``sample_of`` has them; NaN and 0 where there is none.

    Columns may hold anything: what no measurement gives counts as no ratio.
    """
    value, low, high = (floats_of(table[f"{name}{end}"]) for end in ("", "_low", "_high"))
    held = (value > 0) & np.isfinite(value)
    doubt = doubts(value, low, high, control)
    known = held & np.isfinite(doubt) & (doubt >= 0)
    return np.where(held, value, np.nan), np.where(known, doubt, 0.0)


def floats_of(column: pa.ChunkedArray) -> Floats:
    """A column of numbers; a null is NaN."""
    return np.asarray(pc.fill_null(column, float("nan")), dtype=np.float64)


def faults_of(table: pa.Table) -> Ints:
    """The fault of each row, by its columns ``stage`` and ``symptom``."""
    stages, stage = encode_texts(table["stage"])
    symptoms, symptom = encode_texts(table["symptom"])
    known = np.full((len(stages), len(symptoms)), int(Fault.NONE), dtype=np.int64)
    for i, where in enumerate(stages):
        for j, what in enumerate(symptoms):
            if where and what:
                fault = fault_of(Stage(where), Symptom(what))
                known[i, j] = BLAMELESS_FAULT if fault is None else int(fault)
    found: Ints = known[stage, symptom]
    return found


def _families(table: pa.Table) -> tuple[list[str], Ints]:
    libraries, library = encode_texts(table["library"])
    models, code = encode_texts(table["model"])
    if "" in models:  # a graph that no model is known of stands for itself
        graphs, graph = encode_texts(table["graph"])
        code = np.where(code == models.index(""), len(models) + graph, code)
        models = models + graphs
    pair = library * len(models) + code
    count, place = renumber(pair)
    pairs = np.empty(count, dtype=np.int64)
    pairs[place] = pair
    names = [family_of(libraries[i // len(models)], models[i % len(models)]) for i in pairs]
    families, of_pair = np.unique(names, return_inverse=True)
    return [str(name) for name in families], of_pair.astype(np.int64)[place]


def _counted(columns: ScoredGraphs, rows: npt.NDArray[Any], table: pa.Table) -> ScoredGraphs:
    """The samples of some rows that count, and how many do not."""
    free = columns.fault[rows] == BLAMELESS_FAULT
    symptoms: Sequence[str] = table["symptom"].take(pa.array(rows[free])).to_pylist()
    taken = pa.array(rows[~free])
    graphs, breaks = (
        np.asarray(pc.fill_null(table[name].take(taken), other))
        for name, other in ((GRAPHS, 1), (BREAKS, 0))
    )
    return replace(
        columns.take(rows[~free]),
        blameless=dict(Counter(symptoms)),
        broken=int(((breaks > 0) & (graphs > 0)).sum()),
        uncompiled=int((graphs == 0).sum()),
    )
