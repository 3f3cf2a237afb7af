"""Programs beside the other candidates of their task: differences from the median, and subsets.

How a candidate differs from the others is informative in itself: the candidates of a search that
has converged are close to each other because they are good, and those tried early lie apart.
"""

from __future__ import annotations

import numpy as np

from graph_net.learn.learning_set import Features, LearningSet, tabular_set
from graph_net.learn.metrics import Floats, Ints
from graph_net.learn.trees import pool_rows

LEAST_SUBSET = 8
"""Minimum size of a subset; a task with fewer programs gives all it has."""
STEEPEST = 6.0
"""The slowest program of a task is drawn at most e ** STEEPEST times as often as the fastest."""
LARGEST = float(np.finfo(np.float32).max)


def beside_median(data: LearningSet) -> LearningSet:
    """Return one row per program: its numbers, and each one's difference from the task's median.

    The median is over the programs of the task in ``data``, so it depends on which are there. For a
    program alone in its task, all differences are zero.
    """
    rows = pool_rows(data)
    beside = np.empty_like(rows)
    for task in data.programs.rows():
        beside[task] = _differences(rows[task])
    names = data.columns
    if not data.is_tabular:
        names = tuple(f"{how} {name}" for how in ("sum", "greatest") for name in data.columns)
    columns = (*names, *(f"{name} beside" for name in names))
    programs = data.programs
    return tabular_set(
        columns, np.hstack([rows, beside]), programs.costs, programs.tasks, data.tasks
    )


def _differences(rows: Features) -> Features:
    exact = rows.astype(np.float64)
    differences = exact - np.median(exact, axis=0)
    return np.clip(differences, -LARGEST, LARGEST).astype(np.float32)


def draw_subset(data: LearningSet, generator: np.random.Generator) -> LearningSet:
    """Return some programs of each task, as a search that has not converged might offer them.

    How many, and how much slow programs are favoured, is drawn for each task: from a few to all,
    and from evenly to steeply. A task of which no program that ran is drawn is left out.
    """
    costs = data.programs.costs
    drawn = [_draw(costs, rows, generator) for rows in data.programs.rows()]
    ran = [rows for rows in drawn if np.isfinite(costs[rows]).any()]
    return data.take(np.sort(np.concatenate(ran or list(data.programs.rows()))))


def _draw(costs: Floats, rows: Ints, generator: np.random.Generator) -> Ints:
    count = rows.size
    if count <= LEAST_SUBSET:
        return rows
    size = round(float(np.exp(generator.uniform(np.log(LEAST_SUBSET), np.log(count)))))
    speed = np.empty(count)
    speed[np.argsort(-costs[rows], kind="stable")] = np.linspace(0, 1, count)
    rate = np.exp(-generator.uniform(0, STEEPEST) * speed)
    return rows[np.argsort(generator.exponential(size=count) / rate)[:size]]


def stack_sets(parts: list[LearningSet]) -> LearningSet:
    """Return tabular sets with the same columns as one; a task of several parts is several."""
    starts = np.cumsum([0, *(len(part.tasks) for part in parts)])
    return tabular_set(
        parts[0].columns,
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.programs.costs for part in parts]),
        np.concatenate([part.programs.tasks + starts[n] for n, part in enumerate(parts)]),
        [task for part in parts for task in part.tasks],
    )
