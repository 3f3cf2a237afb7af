"""Features joined with the costs of their programs, in batches.

The costs of all programs are in memory, about twenty bytes each; features are streamed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from graph_net.programs.features.feature_kinds import FeatureKind
from graph_net.programs.features.feature_store import FeatureStore, Uint64s, arrays_of, hashes
from graph_net.programs.store.program_store import ProgramStore
from graph_net.store.sql import Sql, SqlError

_TASKS = "SELECT DISTINCT task::VARCHAR AS task FROM programs ORDER BY task"
_PROGRAMS = f"""WITH tasks AS (SELECT task, row_number() OVER (ORDER BY task) - 1 AS place
FROM ({_TASKS}))
SELECT place, program, one.cost AS cost FROM tasks JOIN
(SELECT task::VARCHAR AS task, program,
min_by(struct_pack(cost := cost), (again, source::VARCHAR, line)) AS one
FROM programs WHERE ({{}}\n) GROUP BY ALL) USING (task)
"""  # noqa: S608


@dataclass(frozen=True)
class Programs:
    """Measured programs, one row per program of a task, ordered by the keys of a kind."""

    tasks: list[str]
    task: NDArray[np.int32]
    """Index into ``tasks``."""
    program: Uint64s
    cost: NDArray[np.float64]
    """Seconds of the first measurement; NaN if it failed."""
    key: Uint64s


@dataclass(frozen=True)
class Joined:
    """Some programs with their features.

    ``values[starts[i] : starts[i + 1]]`` belongs to the i-th program: one array, or one per store.
    """

    task: NDArray[np.int32]
    program: Uint64s
    cost: NDArray[np.float64]
    values: NDArray[Any]
    starts: NDArray[np.int64]


def programs_by_key(records: Path | str, kind: FeatureKind, where: str = "true") -> Programs:
    """Return the programs of a store that match a SQL condition, each once."""
    with Sql() as connection:
        ProgramStore(records).create_view(connection)
        tasks = [name for (name,) in connection.execute(_TASKS).fetchall()]
        question = _PROGRAMS.format(where)
        try:
            found = connection.arrays(question)
        except SqlError as error:
            raise ValueError(f"cannot answer {where!r}: {error}") from error
    task = np.asarray(found["place"]).astype(np.int32)
    program = np.asarray(found["program"]).astype(np.uint64)
    columns = {
        "task": pa.DictionaryArray.from_arrays(task, pa.array(tasks, pa.string())),
        "program": program,
    }
    key = hashes(kind, [columns[name] for name in kind.keys])
    order = np.argsort(key, kind="stable")
    cost = np.ma.filled(np.ma.asarray(found["cost"], np.float64), np.nan)
    return Programs(tasks, task[order], program[order], cost[order], key[order])


def training_batches(
    store: FeatureStore, kind: FeatureKind, programs: Programs, rows: int = 4096
) -> Iterator[Joined]:
    """Yield programs with their features of a kind; a program measured twice appears once."""
    (column,) = kind.columns
    for batch in store.batches(kind, rows):
        key = hashes(kind, [batch[name] for name in kind.keys])
        first = np.searchsorted(programs.key, key, "left")
        counts = np.searchsorted(programs.key, key, "right") - first
        if not counts.any():
            continue
        values, starts = arrays_of(column, batch[column.name])
        taken = np.repeat(np.arange(len(key)), counts)
        within = np.arange(len(taken)) - np.repeat(np.cumsum(counts) - counts, counts)
        measured = np.repeat(first, counts) + within
        sizes = np.diff(starts)[taken]
        ends = np.concatenate([[0], np.cumsum(sizes)])
        flat = np.repeat(starts[taken] - ends[:-1], sizes) + np.arange(ends[-1])
        yield Joined(
            programs.task[measured],
            programs.program[measured],
            programs.cost[measured],
            values[flat],
            ends,
        )
