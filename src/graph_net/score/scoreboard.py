"""Score every compiler of records, with the control beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from graph_net.printable import html_table, printable
from graph_net.results import Interval
from graph_net.score.confidence import Estimate, estimate
from graph_net.score.faults import find_interpretation
from graph_net.score.load import load
from graph_net.score.ranking import Ranking, rank
from graph_net.score.samples import ScoredGraphs, control_of
from graph_net.score.scores import Parameters, score
from graph_net.score.sentence import sentence

COLUMNS = {
    "α": ("alpha", 0), "β": ("beta", 0), "λ": ("correct_share", 0), "η": ("slower_share", 0),
    "S(-5)": ("s", -5), "S(0)": ("s", 0), "ES(3)": ("es", 3),
}  # fmt: skip
"""Columns of a table of scores: a score and the level it is taken at."""


@dataclass(frozen=True)
class Scoreboard:
    """The scores of compilers; ``curves`` are what they were computed from, by compiler."""

    curves: Mapping[str, ScoredGraphs]
    parameters: Parameters
    confidence: float

    @cached_property
    def scored(self) -> dict[str, ScoredGraphs]:
        """The compilers with a sample."""
        return {name: samples for name, samples in self.curves.items() if len(samples)}

    @cached_property
    def estimates(self) -> dict[str, Estimate]:
        """The scores of each compiler with their intervals, the best compiler first."""
        estimates = {name: self._estimate(samples) for name, samples in self.scored.items()}
        return dict(sorted(estimates.items(), key=_best_first))

    @cached_property
    def control(self) -> Estimate | None:
        """The scores of eager against itself: what noise alone gives."""
        control = control_of(self.scored.values())
        return None if control is None else self._estimate(control)

    @cached_property
    def ranking(self) -> Ranking:
        """Every pair of compilers on the graphs both have."""
        return rank(self.scored, self.parameters, self.confidence)

    @property
    def sentence(self) -> str:
        """The speed of each compiler in a sentence."""
        return sentence(self.scored, self.estimates)

    def _estimate(self, samples: ScoredGraphs) -> Estimate:
        return estimate(samples, self.parameters, confidence=self.confidence)

    def __getitem__(self, compiler: str) -> Estimate:
        return self.estimates[compiler]

    def es(self) -> dict[str, dict[str, float]]:
        """Return ES(t) of each compiler by the level t."""
        return {name: self._levels(samples) for name, samples in self.scored.items()}

    def _levels(self, samples: ScoredGraphs) -> dict[str, float]:
        curves = score(samples, self.parameters)
        return {str(int(t)): float(value) for t, value in zip(curves.ts, curves.es[0], strict=True)}

    def __repr__(self) -> str:
        return f"<Scoreboard: {printable(self.sentence)}>"

    def _repr_html_(self) -> str:
        rows = [
            (name, f"{scores.samples:,}", *(_cell(scores.at(*at)) for at in COLUMNS.values()))
            for name, scores in self.estimates.items()
        ]
        return html_table(self.sentence, ("compiler", "graphs", *COLUMNS), rows)


def score_sources(
    sources: Iterable[Path | str],
    p: float = 0.0,
    b: float = 0.1,
    interpretation: str = "default",
    confidence: float = 0.95,
) -> Scoreboard:
    """Score the compilers of records, logs, JSON results or directories of them.

    ``p`` is the penalty for slowdowns, ``b`` the speedup that stands for a failure.
    """
    if not 0.5 <= confidence < 1:
        raise ValueError(f"--confidence must be between 0.5 and 1, not {confidence}")
    parameters = Parameters(p, b, find_interpretation(interpretation))
    return Scoreboard(load(sources), parameters, confidence)


def _best_first(item: tuple[str, Estimate]) -> float:
    aggregate = item[1].graphnet
    return -(aggregate.value if aggregate is not None else 0.0)


def _cell(score: Interval) -> str:
    return f"{score.value:.3f} [{score.low:.3f}, {score.high:.3f}]"
