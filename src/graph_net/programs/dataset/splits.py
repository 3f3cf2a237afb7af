"""Which tasks and programs a model learns from, and which it is judged on.

A rule assigns a task to a side by a property of the task: the networks that call it, a hash of its
graph's id, its structure, its platform. The split therefore does not depend on order or platform,
and a task stays on its side when others are added. No graph id is on both sides, with two
exceptions: ``within_task`` splits programs, and ``platform`` holds out the device, not the graph.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from hashlib import sha256
from pathlib import Path

from graph_net.programs.formats import ReadError
from graph_net.programs.view.overview import TaskSummary
from graph_net.results import RecordError
from graph_net.results.codec import read_as
from graph_net.store.atomic import write_text
from graph_net.store.files import read_text

SPLITS = "splits.json"
VERSION = 2
MOST_BYTES = 64 << 20
PARTS = 5
"""One task, structure or program in this many is for testing, for rules that use a hash."""
SALT = 3
"""Part of the hash input. Chosen from a few values so that every shipped platform holds out some
structures of several operators; no model was looked at.
"""


class SplitRule(StrEnum):
    """How tasks or programs are assigned to a side."""

    NETWORK = "network"
    TASK = "task"
    WITHIN_TASK = "within_task"
    PLATFORM = "platform"
    OPERATORS = "operators"


RULES = {
    SplitRule.NETWORK: (
        "Tasks whose graph a held-out network calls are for testing, whoever else calls it."
    ),
    SplitRule.TASK: (
        f"One graph id in {PARTS}, by a hash of it, is for testing: every task that computes it."
    ),
    SplitRule.WITHIN_TASK: (
        f"Programs whose hash (column `program`) is a multiple of {PARTS} are for testing, in "
        "every task; a schedule is on one side only, also where several tasks have it."
    ),
    SplitRule.PLATFORM: (
        "All tasks of one platform are for testing, those of all others for training. What is new "
        "is the device: a graph may be on both sides, as transfer between devices is the question."
    ),
    SplitRule.OPERATORS: (
        f"One structure in {PARTS}, by a hash of it, is for testing: operators that never occur "
        "in training, at any size."
    ),
}
"""What each rule does, as published."""
BY_TASK = (SplitRule.NETWORK, SplitRule.TASK, SplitRule.OPERATORS)
"""Rules that assign whole tasks, and whose test tasks are published by name."""


@dataclass(frozen=True)
class Split:
    """The tasks of a platform split by network; all programs of a task are on one side."""

    held_out: tuple[str, ...]
    """The held-out networks."""
    train: tuple[str, ...]
    test: tuple[str, ...]
    """Every task that a held-out network calls."""


@dataclass(frozen=True)
class DatasetSplits:
    """The tasks to test with, by rule and platform; every other task is for training."""

    version: int
    rules: Mapping[str, str]
    held_out: Mapping[str, tuple[str, ...]]
    """Held-out networks, by platform."""
    test: Mapping[str, Mapping[str, tuple[str, ...]]]

    def tested(self, rule: SplitRule, platform: str) -> frozenset[str]:
        """Return the test tasks of a platform."""
        return frozenset(self.test.get(rule, {}).get(platform, ()))

    def by_network(self, platform: str, tasks: Iterable[TaskSummary]) -> Split:
        """Return both sides of a platform under the network rule."""
        test = self.tested(SplitRule.NETWORK, platform)
        train = {task.task for task in tasks} - test
        return Split(self.held_out[platform], tuple(sorted(train)), tuple(sorted(test)))


def is_held_out(network: str) -> bool:
    """Return whether a network is held out of training: TenSet's five, and some of the corpus."""
    from graph_net.capture.zoo.tenset import HELD_OUT
    from graph_net.programs.collection.kernel_tasks import HELD_OUT as OF_THE_CORPUS

    return network in OF_THE_CORPUS or network.rpartition("/")[2] in HELD_OUT


def graph_key(task: TaskSummary) -> str:
    """Return the key that may be on one side only: the task's graph id, else its workload."""
    return task.graph or task.workload


def structure_key(task: TaskSummary) -> str:
    """Return the structure of a task's graph; if unknown, the name of its function."""
    return task.structure or task.kernel or task.workload


def is_tested_program(program: int) -> bool:
    """Return whether a program, by the hash of its schedule, is for testing within its task."""
    return program % PARTS == 0


def make_splits(platforms: Mapping[str, Sequence[TaskSummary]]) -> DatasetSplits:
    """Return the splits of the tasks of platforms, independent of their order."""
    every = [task for tasks in platforms.values() for task in tasks]
    called = {graph_key(task) for task in every if any(map(is_held_out, task.weights))}
    sides: dict[SplitRule, Callable[[TaskSummary], bool]] = {
        SplitRule.NETWORK: lambda task: graph_key(task) in called,
        SplitRule.TASK: lambda task: _is_drawn(SplitRule.TASK, graph_key(task)),
        SplitRule.OPERATORS: lambda task: _is_drawn(SplitRule.OPERATORS, structure_key(task)),
    }
    return DatasetSplits(
        VERSION,
        {str(rule): text for rule, text in RULES.items()},
        {name: _held_out(platforms[name]) for name in sorted(platforms)},
        {
            str(rule): {
                name: tuple(sorted(task.task for task in platforms[name] if side(task)))
                for name in sorted(platforms)
            }
            for rule, side in sides.items()
        },
    )


def split_of(tasks: Sequence[TaskSummary]) -> Split:
    """Return the network split of one platform's tasks."""
    return make_splits({"": tasks}).by_network("", tasks)


def lacking(tasks: Sequence[TaskSummary], split: Split) -> str:
    """Return why one side of a split has no task; empty if both sides have tasks."""
    if not split.train:
        return "nothing to train on: networks that are held out call every task"
    if split.test:
        return ""
    if not any(task.weights for task in tasks):
        return "nothing to test with: no task says which networks call it"
    return "nothing to test with: none of its networks is one that is held out"


def save_splits(folder: Path, splits: DatasetSplits) -> None:
    """Write the splits beside the platforms."""
    write_text(folder / SPLITS, json.dumps(asdict(splits), indent=1) + "\n")


def load_splits(folder: Path) -> DatasetSplits:
    """Return the splits that were published with a data set."""
    file = folder / SPLITS
    try:
        splits = read_as(DatasetSplits, read_text(file, MOST_BYTES), "splits")
    except FileNotFoundError as error:
        raise ReadError(f"no {file}; `graph-net programs card` writes it") from error
    except (ValueError, RecordError) as error:
        raise ReadError(f"{file} holds no splits: {error}") from error
    if splits.version != VERSION:
        raise ReadError(
            f"{file} holds no splits of version {VERSION}; `graph-net programs card` writes them"
        )
    return splits


def _held_out(tasks: Sequence[TaskSummary]) -> tuple[str, ...]:
    return tuple(sorted({name for task in tasks for name in task.weights if is_held_out(name)}))


def _is_drawn(rule: SplitRule, key: str) -> bool:
    """Return whether a key is for testing, by a hash of rule and key, so that rules differ."""
    return int(sha256(f"{rule}:{SALT}:{key}".encode()).hexdigest()[:8], 16) % PARTS == 0
