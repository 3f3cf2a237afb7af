"""Split a set of configurations: by distinct configuration, by graph, or by TpuGraphs' folders."""

from __future__ import annotations

from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from graph_net.learn.config_set import ConfigSet, as_config_set
from graph_net.learn.learning_set import LearnError
from graph_net.learn.measured_set import MeasuredSet
from graph_net.programs.dataset.splits import PARTS

Mask = NDArray[np.bool_]


class ConfigSplit(StrEnum):
    """How configurations are held out."""

    WITHIN = "within_task"
    """One configuration in five of every graph, by its hash; repeats are on one side."""
    GRAPH = "task"
    """One graph id in five, by its hash."""
    FILES = "files"
    """Hold out files in a folder ``valid``; learn from files in ``train``."""
    LEAVE = "leave"
    """``leave:NAME``: hold out the graph of this name."""


def split_configs(measured: MeasuredSet, split: str) -> tuple[MeasuredSet, MeasuredSet]:
    """Return the sets to learn from and to judge on; raise LearnError if one is empty."""
    rule, _, name = split.partition(":")
    data = as_config_set(measured.data, "a split of graphs")
    if rule not in tuple(ConfigSplit) or (rule == ConfigSplit.LEAVE) != bool(name):
        raise LearnError(
            f"unknown split {split!r}; of graphs: {', '.join(ConfigSplit)}:NAME, fold-able by hash"
        )
    learned, tested = _masks(measured, data, ConfigSplit(rule), name)
    for what, side in (("learn from", learned), ("judge on", tested)):
        if not side.any():
            raise LearnError(f"the split {split} leaves nothing to {what}: choose another split")
    return measured.take(np.flatnonzero(learned)), measured.take(np.flatnonzero(tested))


def fold_configs(
    measured: MeasuredSet, fold: int, seed: int = 0, folds: int = 5
) -> tuple[MeasuredSet, MeasuredSet]:
    """Return one fold of the distinct configurations of every graph, drawn by a seed."""
    tested = np.zeros(len(measured.data), bool)
    for rows in measured.data.programs.rows():
        order = np.random.default_rng(seed).permutation(len(rows))
        tested[rows[order % folds == fold]] = True
    return measured.take(np.flatnonzero(~tested)), measured.take(np.flatnonzero(tested))


def _masks(
    measured: MeasuredSet, data: ConfigSet, rule: ConfigSplit, name: str
) -> tuple[Mask, Mask]:
    if rule is ConfigSplit.WITHIN:
        tested = np.asarray(measured.programs % np.uint64(PARTS) == 0)
        return ~tested, tested
    sides = np.array([_side(data, task, rule, name) for task in range(len(data.tasks))])
    of_programs = sides[data.programs.tasks]
    return of_programs == 0, of_programs == 1


def _side(data: ConfigSet, task: int, rule: ConfigSplit, name: str) -> int:
    """Return 0 for learning, 1 for judging, 2 for neither."""
    graph = data.graphs[task]
    if rule is ConfigSplit.GRAPH:
        return int(int(data.tasks[task].graph[:8], 16) % PARTS == 0)
    if rule is ConfigSplit.LEAVE:
        return int(graph.name == name or graph.name.rpartition("/")[2] == name)
    return {"train": 0, "valid": 1}.get(graph.split, 2)
