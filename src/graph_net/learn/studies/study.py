"""Study: a question, the trainings that answer it, and how the answer is presented."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import ClassVar, Generic, TypeVar

import numpy as np

from graph_net.learn.measured_set import MeasuredSet
from graph_net.learn.metrics import Floats
from graph_net.learn.paired import PairedDifference, compare_models
from graph_net.results import Json

Settings = Mapping[str, Json]
"""The settings that identify a training within a study, including ``seed``."""


@dataclass(frozen=True)
class StudyData:
    """Programs to learn from, and to judge on."""

    train: MeasuredSet
    test: MeasuredSet
    spaces: MeasuredSet | None = None
    """Tasks of which every program was measured; none of them is learned from."""


@dataclass(frozen=True)
class StudyCell:
    """One training and its result."""

    settings: Settings
    result: Mapping[str, Json]

    def setting(self, name: str) -> str:
        """Return a setting as text."""
        return str(self.settings[name])

    def number(self, name: str) -> float:
        """Return a number of the result; NaN if it is missing."""
        value = self.result.get(name)
        return float(value) if isinstance(value, int | float) else float("nan")

    def numbers(self, name: str) -> Floats:
        """Return a list of numbers of the result, such as one for each task."""
        values = self.result[name]
        assert isinstance(values, list)
        return np.array(values, np.float64)


Line = tuple[str, Sequence[tuple[float, float, float]]]
"""A line of a plot: its name, and its points with half the width of their spread."""


@dataclass(frozen=True)
class StudyPicture:
    """Lines over an axis, or with ``bars`` one bar per line."""

    lines: Sequence[Line]
    x: str
    y: str
    bars: bool = False
    log: bool = True


Data = TypeVar("Data")
"""What the trainings of a study share."""


class Study(ABC, Generic[Data]):
    """A question that trainings answer; each training is one cell, computed independently."""

    name: ClassVar[str]
    title: ClassVar[str]
    about: ClassVar[str]
    """The question, the method, and how to read the table."""

    @abstractmethod
    def cells(self, data: Data, seeds: Sequence[int]) -> list[Settings]:
        """Return the trainings to run."""

    @abstractmethod
    def compute(self, data: Data, settings: Settings) -> Mapping[str, Json]:
        """Train and judge; called in a process of its own."""

    @abstractmethod
    def table(self, cells: Sequence[StudyCell]) -> str:
        """Return the answer as a Markdown table."""

    @abstractmethod
    def picture(self, cells: Sequence[StudyCell]) -> StudyPicture:
        """Return the answer as a plot."""


def group(cells: Sequence[StudyCell], *names: str) -> dict[tuple[str, ...], list[StudyCell]]:
    """Group cells by these settings; a group differs in seed only."""
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
    """Return how far one is ahead of another, paired by task, each averaged over its seeds."""
    first, second = (np.mean([c.numbers(name) for c in cells], axis=0) for cells in (one, other))
    return compare_models(first, second)[0]


def format_lead(difference: PairedDifference) -> str:
    """Return a difference with its interval; bold if the interval excludes zero."""
    text = f"{difference.value:+.3f} ({difference.low:+.3f} … {difference.high:+.3f})"
    return f"**{text}**" if difference.is_better or difference.is_worse else text


def markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return rows as a Markdown table."""
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])
