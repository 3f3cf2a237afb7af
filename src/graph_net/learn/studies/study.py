"""Study: a question, the trainings that answer it, and how the answer is told."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import ClassVar

import numpy as np

from graph_net.learn.measured_set import MeasuredSet
from graph_net.learn.metrics import Floats
from graph_net.learn.paired import PairedDifference, compare_models
from graph_net.results import Json

Settings = Mapping[str, Json]
"""What tells one training from the others of a study; ``seed`` is among it."""


@dataclass(frozen=True)
class StudyData:
    """What all trainings of a study share."""

    train: MeasuredSet
    test: MeasuredSet
    spaces: MeasuredSet | None = None
    """Tasks of which every program was measured, none of them learned from."""


@dataclass(frozen=True)
class StudyCell:
    """One training, and what came of it."""

    settings: Settings
    result: Mapping[str, Json]

    def setting(self, name: str) -> str:
        """Return a setting as text."""
        return str(self.settings[name])

    def number(self, name: str) -> float:
        """Return a number of the result; NaN where there is none."""
        value = self.result.get(name)
        return float(value) if isinstance(value, int | float) else float("nan")

    def numbers(self, name: str) -> Floats:
        """Return a list of numbers of the result, such as one for each task."""
        values = self.result[name]
        assert isinstance(values, list)
        return np.array(values, np.float64)


Line = tuple[str, Sequence[tuple[float, float, float]]]
"""A line of a picture: its name, and its points with half the width of their spread."""


@dataclass(frozen=True)
class StudyPicture:
    """Lines over an axis, or with ``bars`` a bar for each line's only point."""

    lines: Sequence[Line]
    x: str
    y: str
    bars: bool = False
    log: bool = True


class Study(ABC):
    """A question that trainings answer; each training is one cell, computed apart."""

    name: ClassVar[str]
    title: ClassVar[str]
    about: ClassVar[str]
    """What is asked, what is done, how to read the table."""

    @abstractmethod
    def cells(self, data: StudyData, seeds: Sequence[int]) -> list[Settings]:
        """Return the trainings to do."""

    @abstractmethod
    def compute(self, data: StudyData, settings: Settings) -> Mapping[str, Json]:
        """Train and judge; called in a process of its own."""

    @abstractmethod
    def table(self, cells: Sequence[StudyCell]) -> str:
        """Return the answer as a Markdown table."""

    @abstractmethod
    def picture(self, cells: Sequence[StudyCell]) -> StudyPicture:
        """Return the answer as a picture."""


def group(cells: Sequence[StudyCell], *names: str) -> dict[tuple[str, ...], list[StudyCell]]:
    """Return the cells that agree in these settings: those of different seeds."""
    groups: dict[tuple[str, ...], list[StudyCell]] = {}
    for cell in cells:
        groups.setdefault(tuple(cell.setting(name) for name in names), []).append(cell)
    return groups


def mean_and_spread(cells: Sequence[StudyCell], name: str) -> tuple[float, float]:
    """Return the mean of a number over seeds, and its standard deviation."""
    values = [cell.number(name) for cell in cells]
    return fmean(values), stdev(values) if len(values) > 1 else 0.0


def format_spread(cells: Sequence[StudyCell], name: str) -> str:
    """Return a number over seeds as text: its mean and its deviation."""
    mean, spread = mean_and_spread(cells, name)
    return f"{mean:.3f}" + (f" ± {spread:.3f}" if len(cells) > 1 else "")


def lead(one: Sequence[StudyCell], other: Sequence[StudyCell], name: str) -> PairedDifference:
    """Return how far one is ahead of another, task by task, each a mean over its seeds."""
    first, second = (np.mean([c.numbers(name) for c in cells], axis=0) for cells in (one, other))
    return compare_models(first, second)[0]


def format_lead(difference: PairedDifference) -> str:
    """Return a difference with its interval; bold where the interval excludes zero."""
    text = f"{difference.value:+.3f} ({difference.low:+.3f} … {difference.high:+.3f})"
    return f"**{text}**" if difference.is_better or difference.is_worse else text


def markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return rows as a Markdown table."""
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])
