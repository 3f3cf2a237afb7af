"""Split a set of programs: what a model learns from, and what it is judged on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graph_net.learn.chosen_programs import LEAST
from graph_net.learn.learning_set import LearnError, LearningTask
from graph_net.learn.measured_set import MeasuredSet
from graph_net.learn.metrics import Ints
from graph_net.learn.record_folders import tasks_by_platform
from graph_net.programs.dataset.splits import (
    BY_TASK,
    PARTS,
    SPLITS,
    DatasetSplits,
    SplitRule,
    load_splits,
    make_splits,
)

NONE = "none"
"""Name for no split: all programs are for training, or for judging a model made elsewhere."""


Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class ChosenSplit:
    """A rule; for ``platform``, the tested platform and optionally a second rule."""

    rule: SplitRule
    platform: str = ""
    also: SplitRule | None = None

    @staticmethod
    def parse(text: str) -> ChosenSplit:
        """Parse ``network``, ``platform:h200`` or ``platform:h200+task``."""
        first, _, second = text.partition("+")
        rule, _, platform = first.partition(":")
        if rule not in tuple(SplitRule) or (second and second not in BY_TASK):
            known = ", ".join([*SplitRule, NONE])
            raise LearnError(f"unknown split {text!r}; available: {known}")
        if (rule == SplitRule.PLATFORM) != bool(platform) or (second and not platform):
            wanted = f"{SplitRule.PLATFORM}:NAME" if rule == SplitRule.PLATFORM else rule
            raise LearnError(f"write the split {text!r} as {wanted}")
        return ChosenSplit(SplitRule(rule), platform, SplitRule(second) if second else None)

    def __str__(self) -> str:
        return (
            self.rule
            + (f":{self.platform}" if self.platform else "")
            + (f"+{self.also}" if self.also else "")
        )

    @property
    def keeps_graphs(self) -> bool:
        """Whether a graph may be on both sides."""
        return self.rule == SplitRule.WITHIN_TASK or (
            self.rule == SplitRule.PLATFORM and self.also is None
        )


def splits_at(source: Path) -> DatasetSplits:
    """Return the splits published with the data; if there are none, make them from its tasks."""
    for folder in (source, source.parent):
        if (folder / SPLITS).is_file():
            return load_splits(folder)
    return make_splits(tasks_by_platform(source))


def split_set(
    measured: MeasuredSet, splits: DatasetSplits, chosen: ChosenSplit
) -> tuple[MeasuredSet, MeasuredSet]:
    """Return the programs to learn from and to judge on; raise LearnError if one side is empty.

    Both sides have only tasks with a choice. By network, a tested task counts only for the held-out
    networks, so that no network is scored on a part of its tasks.
    """
    learned, tested = _masks(measured, splits, chosen)
    if chosen.rule == SplitRule.WITHIN_TASK:
        tasks = measured.data.programs.tasks
        both = np.isin(tasks, tasks[_with_choice(measured, tested)])
        both &= np.isin(tasks, tasks[_with_choice(measured, learned)])
        learned, tested = learned & both, tested & both
    train, test = _with_choice(measured, learned), _with_choice(measured, tested)
    for what, side in (("learn from", train), ("judge on", test)):
        if not side.size:
            raise LearnError(f"the split {chosen} leaves nothing to {what}: choose another split")
    pair = measured.take(train), measured.take(test)
    _check_sides(*pair, chosen)
    if SplitRule.NETWORK not in (chosen.rule, chosen.also):
        return pair
    held = {name for names in splits.held_out.values() for name in names}
    return pair[0], _of_networks(pair[1], held)


def part_of_tasks(measured: MeasuredSet, part: float) -> tuple[MeasuredSet, MeasuredSet]:
    """Return the set without a fraction of its tasks, and that fraction, for early stopping.

    Chosen by a hash of the graph's id, so that tasks that compute the same stay together.
    """
    graphs = [task.graph or task.name for task in measured.data.tasks]
    draws = [int(sha256(f"validation:{graph}".encode()).hexdigest()[:8], 16) for graph in graphs]
    inside = (np.array(draws) < part * (1 << 32))[measured.data.programs.tasks]
    if inside.all() or not inside.any():
        raise LearnError(f"{len(graphs)} tasks are too few to take {part:.0%} aside")
    return measured.take(np.flatnonzero(~inside)), measured.take(np.flatnonzero(inside))


def _masks(measured: MeasuredSet, splits: DatasetSplits, chosen: ChosenSplit) -> tuple[Mask, Mask]:
    """Return which programs are for training, and which for testing."""
    if chosen.rule == SplitRule.WITHIN_TASK:
        tested = np.asarray(measured.programs % np.uint64(PARTS) == 0)
        return ~tested, tested
    if chosen.rule != SplitRule.PLATFORM:
        tested = _named(measured, splits, chosen.rule)
        return ~tested, tested
    names = [task.platform for task in measured.data.tasks]
    if chosen.platform not in names:
        known = ", ".join(sorted(set(names)))
        raise LearnError(f"no platform {chosen.platform!r} here; there are: {known}")
    there = np.array([name == chosen.platform for name in names])[measured.data.programs.tasks]
    if chosen.also is None:
        return ~there, there
    tested = _named(measured, splits, chosen.also)
    return ~there & ~tested, there & tested


def _named(measured: MeasuredSet, splits: DatasetSplits, rule: SplitRule) -> Mask:
    """Return the programs of tasks that the splits name for testing."""
    tasks = measured.data.tasks
    tests = {task.platform: splits.tested(rule, task.platform) for task in tasks}
    sides = np.array([task.name in tests[task.platform] for task in tasks])
    return np.asarray(sides[measured.data.programs.tasks])


def _with_choice(measured: MeasuredSet, side: Mask) -> Ints:
    """Return the programs of a side whose tasks have several there, at least one of which ran."""
    costs, tasks = measured.data.programs.costs, measured.data.programs.tasks
    count = len(measured.data.tasks)
    several = np.bincount(tasks[side], minlength=count) >= LEAST
    ran = np.bincount(tasks[side & np.isfinite(costs)], minlength=count) > 0
    return np.flatnonzero(side & (several & ran)[tasks])


def _check_sides(train: MeasuredSet, test: MeasuredSet, chosen: ChosenSplit) -> None:
    """Raise LearnError if published splits put a graph on both sides."""
    if chosen.keeps_graphs:
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
