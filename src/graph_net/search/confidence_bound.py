"""Confidence bound: which programs of a listed space may be fastest, by their parameters.

The bound is the mean of a process over the space's parameters, less some deviations. It explores
more of a space than expected improvement does, which stays near a local optimum for longer.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from graph_net.learn.metrics import Floats, Ints
from graph_net.search.history import SearchHistory
from graph_net.search.improvement import fill_order, kept_points, search_targets
from graph_net.search.parameter_process import condition_parameters, fit_settings
from graph_net.search.parameters import Parameter, space_parameters
from graph_net.search.proposer import Proposer
from graph_net.search.search_space import Chance, ListedSpace, SearchSpace

LEAST = 3
"""Number of programs that ran from which on a process is fitted."""
REFITTED, REFITTED_PART = 4, 8
"""Measurements after which settings are fitted again: so many, or this part of all if more."""


@dataclass
class ConfidenceBound:
    """Proposes the programs of a listed space with the lowest bound of their cost."""

    otherwise: Proposer
    """For spaces that are not listed, or have a single program."""
    design: int = 12
    """Measurements that fill the space before the process decides."""
    deviations: float = 2.0
    powers: tuple[float, ...] = (0.0, 0.5)
    """Powers of the label (best / cost) that the process learns, in turns; 0 is the log cost."""
    seed: int = 0
    _read: tuple[ListedSpace, tuple[Parameter, ...], Floats] | None = field(
        default=None, repr=False
    )
    _settings: dict[float, tuple[int, Floats]] = field(default_factory=dict, repr=False)

    def propose(
        self, space: SearchSpace, history: SearchHistory, count: int, chance: Chance
    ) -> list[str]:
        """Return the programs that may be fastest; at first, programs that fill the space."""
        if not isinstance(space, ListedSpace):
            return self.otherwise.propose(space, history, count, chance)
        return self.rank(space, history, [s for s in space.schedules if s not in history])[:count]

    def rank(self, space: SearchSpace, history: SearchHistory, asked: Sequence[str]) -> list[str]:
        """Return programs by the bound of their cost, the lowest first."""
        if not isinstance(space, ListedSpace) or len(space.schedules) < 2:
            return self.otherwise.rank(space, history, asked)
        bounds = self._bounds(space, history).tolist()
        return sorted(asked, key=lambda schedule: bounds[space.places[schedule]])

    def _bounds(self, space: ListedSpace, history: SearchHistory) -> Floats:
        """Return the bound of each program's cost."""
        parameters, features = self._parameters(space)
        measured = np.array([space.places[schedule] for schedule in history], np.int64)
        costs = np.array([history.seconds(schedule) for schedule in history])
        if measured.size < self.design or np.isfinite(costs).sum() < LEAST:
            chance = np.random.default_rng((self.seed, measured.size))
            return -fill_order(features, measured, chance)
        power = self.powers[measured.size % len(self.powers)]
        values = search_targets(costs, power)
        kept = kept_points(values)
        programs, values = measured[kept], values[kept]
        settings = self._fit(power, measured.size, parameters, programs, values)
        mean, deviation = condition_parameters(parameters, programs, values, settings).predict()
        return mean - self.deviations * deviation

    def _fit(
        self,
        power: float,
        count: int,
        parameters: Sequence[Parameter],
        programs: Ints,
        values: Floats,
    ) -> Floats:
        """Return the process's settings: those of some measurements ago, if there are any."""
        when, settings = self._settings.get(power, (0, None))
        if settings is None or count - when >= max(REFITTED, count // REFITTED_PART):
            settings = fit_settings(parameters, programs, values, settings)
            self._settings[power] = (count, settings)
        return settings

    def _parameters(self, space: ListedSpace) -> tuple[tuple[Parameter, ...], Floats]:
        """Return a space's parameters, and their features for a design that fills the space."""
        if self._read is None or self._read[0] is not space:
            configs = [json.loads(schedule) for schedule in space.schedules]
            parameters = space_parameters(configs)
            features = np.column_stack([one.features[one.codes] for one in parameters])
            self._read = (space, parameters, features)
            self._settings.clear()
        return self._read[1], self._read[2]
