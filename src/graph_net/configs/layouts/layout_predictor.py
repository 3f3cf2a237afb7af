"""Predictors that rank layouts before they run: bytes moved, or trees trained on a collection."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Protocol

from graph_net.configs.layouts.hand_features import feature_row, label_of, moved_bytes
from graph_net.configs.layouts.layout_config import FORMAT
from graph_net.results import Program, RecordError, program_from_json
from graph_net.store.journal import whole_lines

Copies = Mapping[str, Sequence[int]]
SETTINGS = {
    "objective": "regression", "learning_rate": 0.05, "num_leaves": 31, "min_data_in_leaf": 20,
    "verbose": -1, "num_threads": 1, "seed": 0, "deterministic": True,
}  # fmt: skip
ROUNDS = 300
FEWEST = 100
"""Least measured layouts that trees are trained on."""


class LayoutPredictor(Protocol):
    """Ranks layouts of a graph without running them."""

    @property
    def name(self) -> str:
        """Name of the predictor."""
        ...

    def scores(
        self, schedules: Sequence[str], kinds: str, copies: Sequence[Copies], seconds: float
    ) -> list[float]:
        """Return a number for each layout, lower if it should be faster.

        ``seconds`` is the time of the original.
        """
        ...


class BytesMoved:
    """The analytical cost: the bytes of all copies."""

    name = "bytes moved"

    def scores(
        self, schedules: Sequence[str], kinds: str, copies: Sequence[Copies], seconds: float
    ) -> list[float]:
        """Return the bytes of each layout."""
        return [moved_bytes(one) for one in copies]


@dataclass
class LearnedTrees:
    """LightGBM on hand features: the log of a layout's time over the original's."""

    booster: Any
    layouts: int
    graphs: int

    @property
    def name(self) -> str:
        """Name of the predictor, with what it was trained on."""
        return f"LightGBM on {self.layouts:,} layouts of {self.graphs} graphs"

    def scores(
        self, schedules: Sequence[str], kinds: str, copies: Sequence[Copies], seconds: float
    ) -> list[float]:
        """Return the predicted log-ratio of each layout."""
        import numpy as np

        pairs = zip(schedules, copies, strict=True)
        rows = [feature_row(one, kinds, known, seconds) for one, known in pairs]
        return [float(value) for value in self.booster.predict(np.array(rows))]


def learn_trees(journal: Path, target: str = "", without: str = "") -> LearnedTrees:
    """Train on a collection's journal: its layouts of one device, without one graph's.

    Raise ValueError if there are too few.
    """
    import lightgbm
    import numpy as np

    rows, labels, graphs = [], [], set()
    for program in read_layouts(journal):
        details = json.loads(program.task.details)
        if program.failure or details["graph"] == without:
            continue
        if target and program.task.target != target:
            continue
        extra = json.loads(program.extra)
        seconds = median(extra["control"])
        rows.append(feature_row(program.schedule, details["kinds"], extra["copies"], seconds))
        labels.append(label_of(program.costs, extra))
        graphs.add(details["graph"])
    if len(rows) < FEWEST:
        where = f" on {target}" if target else ""
        raise ValueError(f"{journal} has {len(rows)} layouts{where}; {FEWEST} are learned from")
    data = lightgbm.Dataset(np.array(rows), np.array(labels))
    return LearnedTrees(lightgbm.train(SETTINGS, data, ROUNDS), len(rows), len(graphs))


def read_layouts(journal: Path) -> Iterator[Program]:
    """Yield the measured layouts of a journal; other lines are skipped."""
    for line in whole_lines(journal):
        try:
            program = program_from_json(line)
        except (RecordError, ValueError):
            continue
        if program.task.format == FORMAT:
            yield program
