"""Predictors that rank layouts before they run: bytes moved, or models trained on a collection."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from graph_net.configs.layouts.layout_config import FORMAT
from graph_net.configs.layouts.layout_examples import GraphLayouts
from graph_net.configs.layouts.layout_models import LayoutModel, fit_best
from graph_net.results import Program, RecordError, program_from_json
from graph_net.store.journal import whole_lines

FEWEST = 100
"""Least measured layouts that a model is trained on."""


class LayoutPredictor(Protocol):
    """Ranks layouts of a graph without running them."""

    @property
    def name(self) -> str:
        """Name of the predictor."""
        ...

    @property
    def needs_calls(self) -> bool:
        """Whether it reads the calls of a layout, not only its copies and orders."""
        ...

    def scores(self, layouts: GraphLayouts) -> list[float]:
        """Return a number for each layout, lower if it should be faster."""
        ...


class BytesMoved:
    """The analytical cost: the bytes of all copies."""

    name = "bytes moved"
    needs_calls = False

    def scores(self, layouts: GraphLayouts) -> list[float]:
        """Return the bytes of each layout."""
        return [float(size) for size in layouts.moved]


@dataclass
class LearnedLayouts:
    """A model that was trained on measured layouts of other graphs."""

    model: LayoutModel
    layouts: int
    graphs: int
    target: str = ""
    """Device that they were measured on; empty if unknown."""

    needs_calls = True

    @property
    def name(self) -> str:
        """Name of the predictor, with what it was trained on."""
        return f"{self.model.name}, on {self.layouts:,} layouts of {self.graphs} graphs"

    def scores(self, layouts: GraphLayouts) -> list[float]:
        """Return the model's number for each layout."""
        return [float(value) for value in self.model.predict(layouts)]


def learn_layouts(
    examples: Iterable[GraphLayouts], where: str = "", target: str = ""
) -> LearnedLayouts:
    """Train the best model on measured layouts; raise ValueError if there are too few.

    ``where`` is what they were read from, for the message; ``target`` the device they ran on.
    """
    graphs = [one for one in examples if len(one)]
    total = sum(map(len, graphs))
    if total < FEWEST:
        raise ValueError(f"{where or 'this'} has {total} layouts; {FEWEST} are learned from")
    return LearnedLayouts(fit_best(graphs), total, len(graphs), target)


def usable_programs(
    programs: Iterable[Program], target: str = "", without: str = "", compiler: str = ""
) -> Sequence[Program]:
    """Return the layouts that ran on a device through a compiler, without those of one graph."""

    def is_usable(program: Program) -> bool:
        if program.task.format != FORMAT or program.failure is not None:
            return False
        if target not in ("", program.task.target):
            return False
        details = json.loads(program.task.details)
        return details["graph"] != without and compiler in ("", details["compiler"])

    return [program for program in programs if is_usable(program)]


def read_layouts(journal: Path) -> Iterator[Program]:
    """Yield the measured layouts of a journal; other lines are skipped."""
    for line in whole_lines(journal):
        try:
            program = program_from_json(line)
        except (RecordError, ValueError):
            continue
        if program.task.format == FORMAT:
            yield program
