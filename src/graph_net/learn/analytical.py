"""Analytical: a roofline of ``graph_net.learn.rooflines`` with its constants fitted to seconds.

Only peaks, bandwidths and latencies are learned, a dozen numbers, so it extrapolates to sizes that
it has not seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from graph_net.learn.cost_model import CostModel, Domain, load_json_part, save_json_part
from graph_net.learn.learning_set import LearnError, LearningSet
from graph_net.learn.metrics import Floats
from graph_net.learn.rooflines import ROOFLINES, RooflineFormula

PART = "constants.json"
STEPS, RATE = 200, 0.08
LEAST_SECONDS = 1e-9
MOST_FITTED = 20_000
"""Most programs that the constants are fitted to, drawn at random."""
ABSOLUTE = 0.05
"""Weight of absolute seconds in the fit, relative to the ratios within a task."""


@dataclass(frozen=True)
class FittedRoofline:
    """The name of a formula, and its constants."""

    roofline: str
    constants: dict[str, float]

    def __post_init__(self) -> None:
        if self.roofline not in ROOFLINES:
            raise ValueError(f"unknown roofline {self.roofline!r}; known: {', '.join(ROOFLINES)}")
        if self.constants.keys() != ROOFLINES[self.roofline].constants.keys():
            raise ValueError(f"other constants than those of {self.roofline}")
        if min(self.constants.values()) <= 0:
            raise ValueError("constants are positive numbers")


class Analytical(CostModel):
    """Scores are the logarithm of 1 / seconds."""

    name = "analytical"

    def fit(self, data: LearningSet, held_out: LearningSet | None = None) -> None:
        name = _fitting(data)
        ran = np.flatnonzero(np.isfinite(data.programs.costs))
        if ran.size > MOST_FITTED:
            ran = np.random.default_rng(self.seed).choice(ran, MOST_FITTED, replace=False)
        self.fitted = FittedRoofline(name, _fit(ROOFLINES[name], data.take(np.sort(ran))))
        self.domain = Domain.of(data)

    def predict(self, data: LearningSet) -> Floats:
        return -np.log(self.seconds(data))

    def seconds(self, data: LearningSet) -> Floats:
        """Return the seconds that each program is expected to take."""
        self.learned().check_columns(data)
        roofline = ROOFLINES[self.fitted.roofline]
        constants = {
            key: torch.tensor(value, dtype=torch.float64)
            for key, value in self.fitted.constants.items()
        }
        found: Floats = _seconds(roofline, data, constants).clamp(min=LEAST_SECONDS).numpy()
        return found

    def save_parts(self, folder: Path) -> None:
        self.learned()
        save_json_part(self.fitted, folder / PART)

    def load_parts(self, folder: Path) -> None:
        self.fitted = load_json_part(FittedRoofline, folder / PART)


def has_roofline(columns: Sequence[str]) -> bool:
    """Return whether a roofline takes these features."""
    return any(set(columns).issuperset(roofline.columns) for roofline in ROOFLINES.values())


def _fitting(data: LearningSet) -> str:
    """Return the roofline whose columns a set has; raise LearnError if there is none."""
    has = set(data.columns)
    for name, roofline in ROOFLINES.items():
        if has.issuperset(roofline.columns):
            return name
    lacks = {name: ", ".join(sorted(set(r.columns) - has)[:3]) for name, r in ROOFLINES.items()}
    said = "; ".join(f"{name} lack {missing} …" for name, missing in lacks.items())
    raise LearnError(f"no roofline takes these features ({said}): read them as triton or per_store")


def _seconds(roofline: RooflineFormula, data: LearningSet, constants: dict[str, Tensor]) -> Tensor:
    return _summed(roofline.seconds(_numbers(roofline, data), constants), data)


def _summed(rows: Tensor, data: LearningSet) -> Tensor:
    total = rows.new_zeros(len(data))
    return total.index_add(0, torch.from_numpy(data.owners), rows)


def _numbers(roofline: RooflineFormula, data: LearningSet) -> dict[str, Tensor]:
    found = {
        name: torch.from_numpy(data.rows[:, data.columns.index(name)].astype(np.float64))
        for name in roofline.columns
    }
    return found | {name: torch.exp2(found[name]) - 1 for name in roofline.logarithms}


def _fit(roofline: RooflineFormula, data: LearningSet) -> dict[str, float]:
    """Return the constants with the least error of log seconds."""
    numbers = _numbers(roofline, data)
    measured = torch.from_numpy(np.log(data.programs.costs))
    tasks = torch.from_numpy(data.programs.tasks)
    sizes = torch.from_numpy(data.programs.sizes)
    start = list(roofline.constants.values())
    logarithms = torch.tensor(start, dtype=torch.float64).log().requires_grad_()
    optimizer = torch.optim.Adam([logarithms], lr=RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    for _ in range(STEPS):
        constants = dict(zip(roofline.constants, logarithms.exp(), strict=True))
        error = _summed(roofline.seconds(numbers, constants), data).log() - measured
        means = error.new_zeros(len(sizes)).index_add(0, tasks, error) / sizes
        loss = _robust(error - means[tasks]) + ABSOLUTE * _robust(error)
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        optimizer.step()
        schedule.step()
    return dict(zip(roofline.constants, logarithms.detach().exp().tolist(), strict=True))


def _robust(errors: Tensor) -> Tensor:
    """Return the mean of squares, linear for large errors (Huber)."""
    return torch.nn.functional.huber_loss(errors, torch.zeros_like(errors), delta=0.5)
