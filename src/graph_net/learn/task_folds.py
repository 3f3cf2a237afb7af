"""Folds of tasks, for models that judge themselves on tasks they have not learned from."""

from __future__ import annotations

import numpy as np

from graph_net.learn.learning_set import LearnError, LearningSet


def task_folds(data: LearningSet, count: int, generator: np.random.Generator) -> list[list[int]]:
    """Return the tasks of each fold; tasks of one network stay together if networks are known.

    They resemble each other, so an unknown network is harder than an unknown task. A task of
    several networks goes with one of them.
    """
    names = {network for task in data.tasks for network in task.weights}
    order = {str(name): rank for rank, name in enumerate(generator.permutation(sorted(names)))}
    groups: dict[object, list[int]] = {}
    for index in generator.permutation(len(data.tasks)).tolist():
        calls = data.tasks[index].weights
        key = min(calls, key=order.__getitem__) if calls and len(names) >= count else index
        groups.setdefault(key, []).append(index)
    if len(groups) < 2:
        raise LearnError("some tasks are learned from while others are held out: give two")
    folds: list[list[int]] = [[] for _ in range(min(count, len(groups)))]
    for group in groups.values():
        min(folds, key=len).extend(group)
    return [sorted(fold) for fold in folds]
