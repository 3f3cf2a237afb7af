"""CostModel: the protocol of models that rank the programs of a task.

    class Mine(CostModel):
        name = "mine"
        options = {"rounds": Option(100, least=1)}

        def fit(self, data, held_out=None): ...
        def predict(self, data): ...            # higher is faster, comparable within a task
        def save_parts(self, folder): ...
        def load_parts(self, folder): ...

``graph_net.testing.cost_model.check_cost_model(Mine)`` checks a model against the protocol.
"""

from __future__ import annotations

import json
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np

from graph_net.compilers.option import Json, Option
from graph_net.learn.learning_set import LearnError, LearningSet
from graph_net.learn.metrics import Floats
from graph_net.results.codec import read_as
from graph_net.store.atomic import write_text
from graph_net.store.files import read_text

FILE = "model.json"
MOST_BYTES = 16 << 20
Part = TypeVar("Part")
SLACK = 0.1
"""How far a feature may be outside the learned range, as a fraction of that range."""


@dataclass(frozen=True)
class Domain:
    """What a model has learned from; outside of it, scores are guesses."""

    columns: tuple[str, ...]
    lows: tuple[float, ...]
    highs: tuple[float, ...]
    kinds: tuple[str, ...]
    platforms: tuple[str, ...]
    tasks: int
    programs: int

    @staticmethod
    def of(data: LearningSet) -> Domain:
        """Return the domain of a model that learned from ``data``."""
        return Domain(
            data.columns,
            tuple(data.rows.min(axis=0).tolist()),
            tuple(data.rows.max(axis=0).tolist()),
            tuple(sorted({task.kind for task in data.tasks})),
            tuple(sorted({task.platform for task in data.tasks})),
            len(data.tasks),
            len(data),
        )

    def check_columns(self, data: LearningSet) -> None:
        """Raise LearnError if ``data`` has other features than the model learned from."""
        if data.columns != self.columns:
            raise LearnError(
                f"the model has learned from {_shorten(self.columns)}, "
                f"and was asked about {_shorten(data.columns)}: compute the features it knows"
            )

    def objections(self, data: LearningSet) -> list[str]:
        """Return what in ``data`` is outside the domain; raise LearnError if features differ."""
        self.check_columns(data)
        said = []
        for word, learned, asked in (
            ("operators", self.kinds, {task.kind for task in data.tasks}),
            ("platforms", self.platforms, {task.platform for task in data.tasks}),
        ):
            if unseen := sorted(asked - set(learned)):
                said.append(f"{word} never seen in training: {', '.join(unseen)}")
        low, high = np.array(self.lows), np.array(self.highs)
        slack = SLACK * (high - low) + 1e-6
        outside = (data.rows < low - slack) | (data.rows > high + slack)
        if outside.any():
            names = [self.columns[index] for index in np.flatnonzero(outside.any(axis=0))[:3]]
            part = np.unique(data.owners[outside.any(axis=1)]).size / len(data)
            said.append(
                f"{part:.0%} of programs beyond the values learned from ({', '.join(names)} …)"
            )
        return said


class CostModel(ABC):
    """A model that scores programs; higher is faster, and scores compare only within a task."""

    name: ClassVar[str]
    options: ClassVar[Mapping[str, Option]] = {}
    needs: ClassVar[str] = ""
    """Name of a package that must be installed, as pip knows it."""
    ranks_together: ClassVar[bool] = False
    """Whether a score depends on which other programs of the task are asked about with it."""

    def __init__(self, options: Mapping[str, Json] | None = None, seed: int = 0) -> None:
        chosen = dict(options or {})
        if unknown := sorted(chosen.keys() - self.options.keys()):
            known = ", ".join(self.options) or "none"
            raise LearnError(f"{self.name} has no option {', '.join(unknown)}; it has: {known}")
        for key, value in chosen.items():
            if not self.options[key].takes(value):
                raise LearnError(self.name + self.options[key].refusal(key, value))
        self.settings = {key: option.default for key, option in self.options.items()} | chosen
        self.seed = seed
        self.domain: Domain | None = None

    @abstractmethod
    def fit(self, data: LearningSet, held_out: LearningSet | None = None) -> None:
        """Learn from measured programs; ``held_out`` may be used to stop early. Sets ``domain``."""

    @abstractmethod
    def predict(self, data: LearningSet) -> Floats:
        """Return a score for each program."""

    def prior_scores(self, data: LearningSet) -> Floats:
        """Return scores that do not depend on the other programs; corrections build on them."""
        return self.predict(data)

    @abstractmethod
    def save_parts(self, folder: Path) -> None:
        """Write the learned parts: safetensors, JSON or a library's own text."""

    @abstractmethod
    def load_parts(self, folder: Path) -> None:
        """Read what ``save_parts`` wrote; raise LearnError on anything else. Never unpickles."""

    def learned(self) -> Domain:
        """Return the domain; raise LearnError if the model has not been fitted."""
        if self.domain is None:
            raise LearnError(f"{self.name} has learned nothing yet: fit or load it first")
        return self.domain

    def number(self, key: str) -> float:
        """Return the value of an option that is a number."""
        value = self.settings[key]
        assert isinstance(value, (int, float))
        return value


@dataclass(frozen=True)
class ModelHeader:
    """The contents of a saved model's ``model.json``."""

    name: str
    seed: int
    settings: str
    """The model's settings as JSON."""
    domain: Domain


def save_model(model: CostModel, folder: Path, beside: Mapping[str, str] | None = None) -> None:
    """Save a fitted model into a new folder, with texts ``beside`` it by file name.

    The folder is written aside, synced and renamed, so it is complete or absent.
    """
    header = ModelHeader(model.name, model.seed, json.dumps(model.settings), model.learned())
    check_new(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    aside = folder.with_name(f".{folder.name}.{os.getpid()}")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()
    try:
        model.save_parts(aside)
        for name, text in (beside or {}).items():
            write_text(aside / name, text)
        write_text(aside / FILE, json.dumps(asdict(header), indent=1) + "\n")
        aside.rename(folder)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def check_new(folder: Path) -> None:
    """Raise LearnError if the folder exists."""
    if folder.exists():
        raise LearnError(f"{folder} exists: name a new folder for the model, or delete it first")


def read_header(folder: Path) -> ModelHeader:
    """Return the header of a saved model."""
    try:
        return read_as(ModelHeader, read_text(folder / FILE, MOST_BYTES), "model")
    except OSError as error:
        raise LearnError(f"{folder} holds no model: {FILE} cannot be read") from error
    except ValueError as error:
        raise LearnError(f"{folder / FILE}: {error}") from error


def save_json_part(part: Any, path: Path) -> None:
    """Write a frozen dataclass of learned numbers."""
    write_text(path, json.dumps(asdict(part)) + "\n")


def load_json_part(kind: type[Part], path: Path) -> Part:
    """Return what ``save_json_part`` wrote; raise LearnError on anything else."""
    try:
        return read_as(kind, read_text(path, MOST_BYTES), kind.__name__)
    except OSError as error:
        raise LearnError(f"{path} cannot be read: save the model again") from error
    except ValueError as error:
        raise LearnError(f"{path}: {error}") from error


def _shorten(columns: tuple[str, ...]) -> str:
    return f"{len(columns)} features ({', '.join(columns[:3])} …)"
