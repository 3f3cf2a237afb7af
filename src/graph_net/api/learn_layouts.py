"""Learn a predictor of layouts from a collection, and save it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graph_net.configs.layouts.layout_examples import GraphLayouts
    from graph_net.configs.layouts.layout_predictor import LearnedLayouts


@dataclass(frozen=True)
class MeasuredGraph:
    """A graph of a collection."""

    name: str
    category: str
    family: str
    """``library/name`` of its model."""


@dataclass(frozen=True)
class LayoutExamples:
    """A collection to learn from: the layouts of its graphs, on one device."""

    target: str
    layouts: tuple[GraphLayouts, ...]
    graphs: Mapping[str, MeasuredGraph]
    """By the id of a graph."""

    def learn(self, without: Sequence[str] = ()) -> LearnedLayouts:
        """Return what is learned from all graphs but those of some families."""
        from graph_net.configs.layouts.layout_predictor import learn_layouts

        families = {one.family for one in self.graphs.values()}
        if unknown := set(without) - families:
            raise ValueError(f"no graph is of {', '.join(sorted(unknown))}: write library/name")
        kept = [one for one in self.layouts if self.graphs[one.graph].family not in without]
        return learn_layouts(kept, target=self.target)


def read_collection(source: Path, graphs: str = "", jobs: int = 0) -> LayoutExamples:
    """Return the eager layouts of a journal or a published platform, which are of one device.

    ``graphs`` is the pack that the graphs came from; empty: the shipped corpus.
    """
    from graph_net.api.layout_examples import read_layout_examples, read_measured
    from graph_net.score.family import family_of

    targets, described = set(), {}
    for program in read_measured(source):
        details = json.loads(program.task.details)
        targets.add(program.task.target)
        described[details["graph"]] = MeasuredGraph(
            program.task.kernel,
            details["category"],
            family_of(details["library"], details["model"]),
        )
    if len(targets) != 1:
        names = ", ".join(sorted(targets)) or "none"
        raise ValueError(f"{source} has layouts of one device to learn from, not of {names}")
    layouts = read_layout_examples(source, pack=graphs, jobs=jobs, compiler="eager")
    return LayoutExamples(targets.pop(), tuple(layouts), described)


def learn_layout_model(
    source: Path, output: Path, without: Sequence[str] = (), graphs: str = "", jobs: int = 0
) -> LearnedLayouts:
    """Learn from a collection, and save the predictor in the folder ``output``."""
    from graph_net.learn.layout_model_files import save_layouts

    predictor = read_collection(source, graphs, jobs).learn(without)
    save_layouts(predictor, output)
    return predictor
