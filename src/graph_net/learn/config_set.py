"""ConfigSet: configurations of whole graphs to learn from; a graph is a task, a run its cost.

``rows`` has hand-made features, for tabular models; networks over graphs use the graphs and the
codes of configurations instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from graph_net.configs.config_graph import ConfigGraph
from graph_net.learn.learning_set import LearnError, LearningSet
from graph_net.learn.metrics import Ints


@dataclass(frozen=True)
class ConfigSet(LearningSet):
    """A set whose programs are configurations of graphs."""

    graphs: tuple[ConfigGraph, ...] = ()
    """The graph of each task."""
    places: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    """Index of each program's configuration in its graph."""
    repeats: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    """Number of runs whose median is each program's cost."""

    ranks_configs = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.graphs) != len(self.tasks) or len(self.places) != len(self):
            raise LearnError("every task has its graph, and every program its configuration")

    def _take(self, programs: Ints, numbers: Ints, tasks: Sequence[int]) -> ConfigSet:
        base = super()._take(programs, numbers, tasks)
        graphs = tuple(self.graphs[task] for task in tasks)
        taken = self.places[programs], self.repeats[programs]
        return ConfigSet(
            base.columns, base.rows, base.starts, base.programs, base.tasks, graphs, *taken
        )


def as_config_set(data: LearningSet, model: str) -> ConfigSet:
    """Return the set if it is a ConfigSet; else raise LearnError, naming the model."""
    if not isinstance(data, ConfigSet):
        raise LearnError(
            f"{model} learns from graphs and their configurations: give it TpuGraphs' files, "
            "or a data set of layouts"
        )
    return data
