"""A set of programs in two: what a model learns from, and what it is judged on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graph_net.learn.learning_set import LearnError, LearningTask
from graph_net.learn.metrics import Ints
from graph_net.learn.read_set import LEAST, MeasuredSet, tasks_by_platform
from graph_net.programs.dataset.splits import (
    PARTS,
    SPLITS,
    DatasetSplits,
    SplitRule,
    load_splits,
    make_splits,
)

NONE = "none"
"""The name of no split: all programs are for training, or for judging a model made elsewhere."""


@dataclass(frozen=True)
class ChosenSplit:
    """A rule, and for the rule by platform the one that is tested."""

    rule: SplitRule
    platform: str = ""

    @staticmethod
    def parse(text: str) -> ChosenSplit:
        """Return the split of ``network`` or ``platform:h200``."""
        rule, _, platform = text.partition(":")
        if rule not in tuple(SplitRule):
            known = ", ".join([*SplitRule, NONE])
            raise LearnError(f"unknown split {text!r}; available: {known}")
        if (rule == SplitRule.PLATFORM) != bool(platform):
            raise LearnError(f"write the split {text!r} as {rule}{':NAME' * (not platform)}")
        return ChosenSplit(SplitRule(rule), platform)

    def __str__(self) -> str:
        return self.rule + (f":{self.platform}" if self.platform else "")


def splits_at(source: Path) -> DatasetSplits:
    """Return the splits that were published with the data; those of its tasks where none were."""
    for folder in (source, source.parent):
        if (folder / SPLITS).is_file():
            return load_splits(folder)
    return make_splits(tasks_by_platform(source))


def split_set(
    measured: MeasuredSet, splits: DatasetSplits, chosen: ChosenSplit
) -> tuple[MeasuredSet, MeasuredSet]:
    """Return the programs to learn from and those to judge on; raise LearnError if one has none.

    Both sides have tasks with a choice only. By network, a tested task counts for the held-out
    networks alone, so that no score is of a network of which only some tasks are there.
    """
    tested = _tested(measured, splits, chosen)
    if chosen.rule == SplitRule.WITHIN_TASK:
        tasks = measured.data.programs.tasks
        both = np.isin(tasks, tasks[_with_choice(measured, tested)])
        both &= np.isin(tasks, tasks[_with_choice(measured, ~tested)])
        train, test = np.flatnonzero(both & ~tested), np.flatnonzero(both & tested)
    else:
        train, test = _with_choice(measured, ~tested), _with_choice(measured, tested)
    for what, side in (("learn from", train), ("judge on", test)):
        if not side.size:
            raise LearnError(f"the split {chosen} leaves nothing to {what}: choose another split")
    pair = measured.take(train), measured.take(test)
    _check_sides(*pair, chosen)
    held = {name for names in splits.held_out.values() for name in names}
    return pair[0], _of_networks(pair[1], held) if chosen.rule == SplitRule.NETWORK else pair[1]


def part_of_tasks(measured: MeasuredSet, part: float) -> tuple[MeasuredSet, MeasuredSet]:
    """Return the set without a part of its tasks, and that part, to decide when to stop.

    A hash of the graph's id decides, so that tasks that compute the same go together.
    """
    graphs = [task.graph or task.name for task in measured.data.tasks]
    draws = [int(sha256(f"validation:{graph}".encode()).hexdigest()[:8], 16) for graph in graphs]
    inside = (np.array(draws) < part * (1 << 32))[measured.data.programs.tasks]
    if inside.all() or not inside.any():
        raise LearnError(f"{len(graphs)} tasks are too few to take {part:.0%} aside")
    return measured.take(np.flatnonzero(~inside)), measured.take(np.flatnonzero(inside))


def _tested(measured: MeasuredSet, splits: DatasetSplits, chosen: ChosenSplit) -> NDArray[np.bool_]:
    """Return which programs are on the side of the test."""
    tasks = measured.data.tasks
    if chosen.rule == SplitRule.WITHIN_TASK:
        return np.asarray(measured.programs % np.uint64(PARTS) == 0)
    if chosen.rule == SplitRule.PLATFORM:
        names = {task.platform for task in tasks}
        if chosen.platform not in names:
            known = ", ".join(sorted(names))
            raise LearnError(f"no platform {chosen.platform!r} here; there are: {known}")
        sides = [task.platform == chosen.platform for task in tasks]
    else:
        known_tests = {task.platform: splits.tested(chosen.rule, task.platform) for task in tasks}
        sides = [task.name in known_tests[task.platform] for task in tasks]
    return np.array(sides)[measured.data.programs.tasks]


def _with_choice(measured: MeasuredSet, side: NDArray[np.bool_]) -> Ints:
    """Return the programs of a side whose tasks have several there, one of which ran."""
    costs, tasks = measured.data.programs.costs, measured.data.programs.tasks
    count = len(measured.data.tasks)
    several = np.bincount(tasks[side], minlength=count) >= LEAST
    ran = np.bincount(tasks[side & np.isfinite(costs)], minlength=count) > 0
    return np.flatnonzero(side & (several & ran)[tasks])


def _check_sides(train: MeasuredSet, test: MeasuredSet, chosen: ChosenSplit) -> None:
    """Raise LearnError where published splits put a graph on both sides."""
    if chosen.rule in (SplitRule.WITHIN_TASK, SplitRule.PLATFORM):
        return
    graphs = [{task.graph for task in side.data.tasks if task.graph} for side in (train, test)]
    if both := graphs[0] & graphs[1]:
        raise LearnError(
            f"the split {chosen} has {len(both)} graphs on both sides, such as {min(both)}: "
            "`graph-net programs card` makes the splits of a data set anew"
        )


def _of_networks(measured: MeasuredSet, networks: set[str]) -> MeasuredSet:
    tasks = tuple(_called_by(task, networks) for task in measured.data.tasks)
    return replace(measured, data=replace(measured.data, tasks=tasks))


def _called_by(task: LearningTask, networks: set[str]) -> LearningTask:
    weights = {name: often for name, often in task.weights.items() if name in networks}
    return replace(task, weights=weights)
