"""Reading records to scores and to SQL. Claim: a fifth of the time of decoding each one twice.

Most records are in parts, the last of them in the journal that a run leaves until it is compacted.
The baseline is what the reader was: any type out of JSON by one function that asks what it is, a
row by way of a record's JSON, and for a question in SQL all of that twice, once for the keys.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields, is_dataclass
from enum import StrEnum
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

from benchmarks.common import show, verdict
from graph_net.api.query import query
from graph_net.results import (
    Config,
    ConfigKind,
    Device,
    Interval,
    Json,
    Output,
    Record,
    RecordError,
    Samples,
    Subject,
    Timing,
    Verdict,
    canonical,
)
from graph_net.results.limits import check_depth, check_limits
from graph_net.score.records import COLUMNS, read_records, samples_of_table
from graph_net.store.record_columns import SCHEMA, summary_of
from graph_net.store.record_journal import RecordJournal
from graph_net.store.record_parts import read_part
from graph_net.store.records import RecordStore

LEAST_RATIO = 5.0
COMPILERS = 4
SAMPLES = 48
QUESTION = "SELECT compiler, count(*), median(speedup), max(t) FROM records GROUP BY 1 ORDER BY 1"


# -- what is read ---------------------------------------------------------------------------------


def record(number: int, random: np.random.Generator) -> Record:
    """A success with as many samples as a measurement has, other than any other."""
    device = Device("cpu", "a processor", 2, 2, 1 << 34, "Linux", "3.11", {"torch": "2.13.0"})
    config = Config(
        ConfigKind.COMPILER, f"compiler{number % COMPILERS}", "1.0", {"mode": "default"}
    )
    name = f"{number // COMPILERS:032x}"
    subject = Subject(name, name, f"timm/net{number}", "timm", f"net{number}", "vision")
    eager, control, candidate = (
        Samples(tuple(random.normal(1e-3, 1e-5, SAMPLES).tolist())) for _ in range(3)
    )
    value = float(random.normal(1.5, 0.1))
    speedup, noise = Interval(value, value * 0.99, value * 1.01), Interval(1.0, 0.99, 1.01)
    timing = Timing(eager, control, candidate, speedup, noise, Verdict.FASTER)
    output = Output("float32", (8, 1000), -5.5, 1e-6, 1e-7, t_of=(-5.5,) * 4)
    found: dict[str, Json] = {
        "load": 0.25,
        "cores": [0, 1],
        "torch_threads": 2,
        "compiled_graphs": 1,
    }
    return Record(subject, config, device, "1" * 32, None, timing, (output,), environment=found)


def fill(store: RecordStore, records: int, left: int) -> None:
    """Write records as runs do, the last of them into a journal that stays."""
    random = np.random.default_rng(0)
    for number, (begin, end) in enumerate(((0, records - left), (records - left, records)), 1):
        path = store.path / f"run-n{number:08d}-x.jsonl"
        with RecordJournal(path, durable=False) as journal:
            for place in range(begin, end):
                journal.add(record(place, random))
        if end < records:
            store.compact()


# -- the baseline ---------------------------------------------------------------------------------


def built(kind: Any, value: Any, place: str) -> Any:
    """A value of a type out of JSON, checked; what the type is, is asked of every value."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType) and len(inner) > 2:
        check_depth(value)
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
        return value
    if origin in (Union, UnionType):
        if value is None and type(None) in inner:
            return None
        return built(next(k for k in inner if k is not type(None)), value, place)
    if origin is tuple:
        expect(isinstance(value, list), "a list", place)
        return tuple(built(inner[0], item, place) for item in value)
    if origin is not None and issubclass(origin, Mapping):
        expect(isinstance(value, dict), "an object", place)
        for key in value:
            key.encode()
        return {key: built(inner[1], item, f"{place}.{key}") for key, item in value.items()}
    if is_dataclass(kind):
        expect(isinstance(value, dict), "an object", place)
        known = hints(kind)  # type: ignore[arg-type]
        unknown = value.keys() - known.keys()
        expect(not unknown, f"no field {sorted(unknown)}", place)
        return kind(**{k: built(known[k], v, f"{place}.{k}") for k, v in value.items()})  # type: ignore[operator]
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        expect(value in set(kind), f"one of {', '.join(kind)}", place)
        return kind(value)
    if kind is float:
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        expect(number and math.isfinite(value), "a number", place)
        return float(value)
    plain = isinstance(value, kind) and (kind is bool) == isinstance(value, bool)
    expect(plain, kind.__name__, place)
    if isinstance(value, str):
        value.encode()
    elif not isinstance(value, bool):
        expect(abs(value) < 1 << 63, "a number of 64 bits", place)
    return value


def expect(holds: bool, what: str, place: str) -> None:
    if not holds:
        raise RecordError(f"{place}: expected {what}")


@cache
def hints(kind: Any) -> dict[str, Any]:
    known = get_type_hints(kind)
    return {entry.name: known[entry.name] for entry in fields(kind)}


def row(one: Record) -> dict[str, Any]:
    """A record as a row: written as JSON, read again, and what is left written once more."""
    tree = json.loads(canonical(asdict(one)))
    found = summary_of(one)
    for arm in ("eager", "control", "candidate"):
        for kind in ("wall", "device"):
            found[f"{arm}_{kind}"] = tree["timing"][arm].pop(kind)
    return found | {"rest": canonical(tree)}


def journals(store: RecordStore) -> list[pa.Table]:
    found = []
    for path in store.journals():
        with path.open("rb") as file:
            read = (check_limits(built(Record, json.loads(line), "record")) for line in file)
            rows = [row(one) for one in read]
        found.append(pa.Table.from_pylist(rows, schema=SCHEMA))
    return found


def old_scores(store: RecordStore) -> dict[str, Any]:
    tables = [read_part(part, COLUMNS) for part in store.parts()]
    tables += [table.select(COLUMNS) for table in journals(store)]
    return samples_of_table(pa.concat_tables(tables))


def old_query(store: RecordStore) -> list[tuple[Any, ...]]:
    keys = [read_part(part, ["key"]) for part in store.parts()]
    keys += [table.select(["key"]) for table in journals(store)]
    assert len(pa.concat_tables(keys)["key"].unique()) == sum(map(len, keys))
    parts = ds.dataset([str(part) for part in store.parts()], schema=SCHEMA, format="parquet")
    with duckdb.connect(":memory:") as connection:
        connection.register("parts", parts)
        connection.register("journals", pa.concat_tables(journals(store)))
        both = "SELECT * FROM parts UNION ALL BY NAME SELECT * FROM journals"
        connection.execute(f"CREATE VIEW records AS {both}")
        return connection.execute(QUESTION).fetchall()


# -- the comparison -------------------------------------------------------------------------------


def new_query(store: RecordStore) -> list[tuple[Any, ...]]:
    return query(store, QUESTION)[1]


def speedups(found: Mapping[str, Any]) -> dict[str, float]:
    return {name: round(float(samples.log_speedup.sum()), 6) for name, samples in found.items()}


def timed(call: Callable[[RecordStore], Any], store: RecordStore) -> tuple[float, Any]:
    """The processor time of a call, which other programs do not lengthen, and what it returns."""
    start = time.process_time()
    found = call(store)
    return time.process_time() - start, found


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--records", type=int, default=100_000)
    options.add_argument("--journal", type=int, default=10_000, help="how many are in no part")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = RecordStore(folder)
        fill(store, given.records, given.journal)
        found = {
            "scores": (timed(old_scores, store), timed(read_records, store)),
            "SQL": (timed(old_query, store), timed(new_query, store)),
        }
    (_, before), (_, now) = found["scores"]
    assert speedups(before) == speedups(now), "they disagree"
    assert found["SQL"][0][1] == found["SQL"][1][1], "they disagree"
    title = f"{given.records:,} records, {given.journal:,} of them in a journal"
    rows = [[name, f"{old:.2f}", f"{new:.2f}"] for name, ((old, _), (new, _)) in found.items()]
    show(title, ("processor seconds", "as it was", "now"), rows)
    held = [
        verdict(old / new >= LEAST_RATIO, f"{name}: {old / new:.1f} times as fast as it was")
        for name, ((old, _), (new, _)) in found.items()
    ]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
