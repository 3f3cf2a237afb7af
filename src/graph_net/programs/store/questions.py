"""Queries of cost models: the best program of each task, the score of a ranking, batches.

A program measured twice, to estimate noise, counts once, with its first measurement.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from graph_net.programs.formats import ReadError
from graph_net.programs.store.columns import COLUMNS
from graph_net.programs.store.part_format import PartFormat
from graph_net.programs.store.program_store import ProgramStore, format_of
from graph_net.store.sql import Sql, SqlError

KS = (1, 5)
MIXED = 8
"""How many row groups are shuffled together."""
TRAINING = ("task", "program", "cost", "schedule")
RANKING = pa.schema([("task", pa.string()), ("program", pa.uint64()), ("score", pa.float64())])
WEIGHTS = pa.schema([("network", pa.string()), ("task", pa.string()), ("weight", pa.float64())])


@dataclass(frozen=True)
class TopK:
    """The score of the first k programs of a ranking: 1 if each task's best is among them.

    Zero if all k of a task failed: their latency is infinite.
    """

    k: int
    networks: dict[str, float]
    mean: float
    """Mean over networks, as in TenSet."""
    pooled: float
    """Over the tasks of all networks, as in TLP; not comparable with ``mean``."""


def best_by_task(store: ProgramStore) -> pa.Table:
    """Return per task: number of programs, number that ran, least cost and its program."""
    with _connected(store) as connection:
        return _answer(
            connection,
            "SELECT task, any_value(workload) AS workload, any_value(device_name) AS device_name, "
            "count(*) AS programs, count(cost) AS ran, min(cost) AS cost, "
            "arg_min(program, cost) AS program FROM programs WHERE NOT again GROUP BY task "
            "ORDER BY task",
        )


def top_k(
    store: ProgramStore,
    ranking: pa.Table | ds.Dataset,
    ks: Sequence[int] = KS,
    weights: pa.Table | None = None,
) -> list[TopK]:
    """Return TenSet's score of a ranking: rows of ``task``, ``program``, ``score``, highest first.

    Σ least latency · weight / Σ least latency among the first k · weight, over the ranked tasks.
    ``weights`` says how often a ``task`` occurs in a ``network``; without it, each occurs once in
    one.
    """
    _require(ranking.schema, RANKING)
    with _connected(store) as connection:
        connection.register("ranking", ranking)
        connection.execute(
            "CREATE TEMP TABLE first AS SELECT task, unnest(found) AS program, "
            "generate_subscripts(found, 1) AS place FROM (SELECT task, "
            "arg_max(program, row(score, program), ?) AS found FROM ranking GROUP BY task)",
            [max(ks)],
        )
        # One scan of all programs and no join: the planner does not know their number and would
        # hold them in memory.
        connection.execute(
            "CREATE TEMP TABLE best AS SELECT task, min(cost) AS least, list(row(program, cost)) "
            "FILTER (program IN (SELECT program FROM first)) AS ranked FROM programs "
            "WHERE NOT again GROUP BY task HAVING task IN (SELECT task FROM first)"
        )
        connection.execute(
            "CREATE TEMP TABLE chosen AS SELECT task, place, one[2] AS cost FROM "
            "(SELECT task, unnest(ranked) AS one FROM best) AS found JOIN first "
            "USING (task) WHERE one[1] = first.program"
        )
        if weights is None:
            once = "SELECT DISTINCT '' AS network, task, 1.0 AS weight FROM first"
            weights = _answer(connection, once)
        _require(weights.schema, WEIGHTS)
        connection.register("weights", weights)
        return [_score(connection, k) for k in ks]


def _score(connection: Sql, k: int) -> TopK:
    rows = connection.execute(
        "SELECT network, sum(least * weight), sum(coalesce(taken, 'inf'::DOUBLE) * weight) "
        "FROM weights JOIN best USING (task) LEFT JOIN "
        "(SELECT task, min(cost) AS taken FROM chosen WHERE place <= ? GROUP BY task) "
        "USING (task) WHERE least IS NOT NULL GROUP BY network ORDER BY network",
        [k],
    ).fetchall()
    if not rows:
        raise ReadError("no task of the ranking has a program that ran")
    networks = {name: least / taken for name, least, taken in rows}
    pooled = math.fsum(row[1] for row in rows) / math.fsum(row[2] for row in rows)
    return TopK(k, networks, math.fsum(networks.values()) / len(networks), pooled)


def batches(
    store: ProgramStore,
    where: str = "true",
    size: int = 4096,
    seed: int = 0,
    columns: Sequence[str] = TRAINING,
) -> Iterator[pa.Table]:
    """Yield all programs that match a SQL condition, once, in batches of random order.

    Row groups come in random order and some are shuffled together, so that a batch mixes tasks and
    memory stays small. A schedule is decoded only when its batch is due.
    """
    if unknown := sorted(set(columns) - set(COLUMNS)):
        raise ReadError(f"no column {', '.join(unknown)}; there are {', '.join(COLUMNS)}")
    draw = np.random.default_rng(seed)
    groups = [
        (part, number)
        for part in store.checked()
        for number in range(pq.read_metadata(part).num_row_groups)
    ]
    formats = [part_format for part_format, _ in store.by_format().values()]
    held: list[pa.Table] = []
    with _connected() as connection:
        for turn, place in enumerate(draw.permutation(len(groups)).tolist(), 1):
            part, number = groups[place]
            part_format = format_of(part)
            found = _matching(connection, part, number, where, part_format, columns)
            if len(formats) > 1:  # stored columns differ, computed ones do not
                found = _texts_as_such(_decoded(connection, found, part_format, columns))
            held += [found] if len(found) else []
            last = turn == len(groups)
            if len(held) <= MIXED and not last:
                continue
            if not held:
                return
            rows = _shuffled(held, draw)
            whole = len(rows) if last else len(rows) - len(rows) % size
            for start in range(0, whole, size):
                batch = rows.slice(start, min(size, whole - start))
                alone = len(formats) == 1
                yield _decoded(connection, batch, part_format, columns) if alone else batch
            held = [rows.slice(whole)]


def _matching(
    connection: Sql,
    part: Path,
    group: int,
    where: str,
    part_format: PartFormat,
    columns: Sequence[str],
) -> pa.Table:
    """Return the stored columns of a row group's matching rows.

    Reads the columns of the condition first, and the others only if a row matches.
    """
    words = re.findall(r"\w+", where.lower())
    asked = [name for name in part_format.columns if name in words or name == "again"]
    with pq.ParquetFile(part, memory_map=True) as file:
        table = part_format.read_group(file, group, part_format.stored(asked))
        size = file.metadata.row_group(group).num_rows
        connection.register("held", table.append_column("row", pa.array(np.arange(size))))
        seen = ", ".join(["row AS row_of_group", *_computed(part_format, asked)])
        rows = _answer(
            connection,
            f"SELECT row_of_group FROM (SELECT {seen} FROM held) "  # noqa: S608
            f"WHERE NOT again AND ({where}\n)",
        )
        needed = part_format.stored(columns)
        if not len(rows):
            return pa.schema([part_format.schema.field(name) for name in needed]).empty_table()
        return part_format.read_group(file, group, needed).take(rows.column(0))


def _shuffled(held: list[pa.Table], draw: np.random.Generator) -> pa.Table:
    rows = pa.concat_tables(held).unify_dictionaries().combine_chunks()
    return rows.take(pa.array(draw.permutation(len(rows))))


def _decoded(
    connection: Sql, rows: pa.Table, part_format: PartFormat, columns: Sequence[str]
) -> pa.Table:
    connection.register("held", rows)
    computed = ", ".join(_computed(part_format, columns))
    return _answer(connection, f"SELECT {computed} FROM held")  # noqa: S608


def _texts_as_such(table: pa.Table) -> pa.Table:
    """Return the table without dictionary encoding, which only one of the formats has."""
    plain = [
        pa.field(field.name, field.type.value_type) if pa.types.is_dictionary(field.type) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(plain))


def _computed(part_format: PartFormat, columns: Sequence[str]) -> list[str]:
    return [f"{part_format.columns[name]} AS {name}" for name in columns]


def _answer(connection: Sql, question: str) -> pa.Table:
    try:
        return connection.table(question)
    except SqlError as error:
        raise ReadError(f"{error}. Columns: {', '.join(COLUMNS)}") from error


@contextmanager
def _connected(store: ProgramStore | None = None) -> Iterator[Sql]:
    """Yield a connection that sees the programs of a store and nothing else of this machine."""
    with Sql() as connection:
        if store is not None:
            store.create_view(connection)
        yield connection


def _require(given: pa.Schema, wanted: pa.Schema) -> None:
    if missing := sorted(set(wanted.names) - set(given.names)):
        raise ReadError(f"a table has no column {', '.join(missing)}; it has {given.names}")
