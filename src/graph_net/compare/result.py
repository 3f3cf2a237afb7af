"""A comparison as a whole: who is compared with whom, counts, and costs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from graph_net.compare.choose import Matched, match_runs
from graph_net.compare.judge import Change, CompareSettings, JudgedPairs, Reason, judge
from graph_net.compare.read import read_run
from graph_net.compare.rows import Row, rows_of
from graph_net.printable import printable
from graph_net.results import RecordError, short_name
from graph_net.score.records import floats_of
from graph_net.score.samples import Floats, Ints

COSTS = {
    "eager": ("eager_seconds", 0.0),
    "compile time": ("cold_seconds", 0.01),
    "peak memory": ("candidate_peak_bytes", float(1 << 20)),
}
"""Columns that are told without a test, and the least that is worth a ratio."""


@dataclass(frozen=True)
class Spread:
    """The ratios B / A of something that was measured once a graph."""

    graphs: int
    middle: float
    low: float
    high: float


@dataclass(frozen=True)
class Comparison:
    """Two runs side by side: A is the first, B the second."""

    names: tuple[str, str]
    settings: CompareSettings
    pairs: Matched
    judged: JudgedPairs

    def __len__(self) -> int:
        return len(self.pairs.first)

    def __repr__(self) -> str:
        from graph_net.compare.markdown import headline

        return f"<Comparison {printable(headline(self))}>"

    def _repr_html_(self) -> str:
        from graph_net.compare.markdown import html

        return html(self)

    def count(self, change: Change) -> int:
        """How many graphs changed so."""
        return int((self.judged.change == change).sum())

    @property
    def worse(self) -> int:
        """How many are less correct."""
        return int((self.judged.level > 0).sum())

    @property
    def better(self) -> int:
        """How many are more correct."""
        return int((self.judged.level < 0).sum())

    @property
    def regressions(self) -> int:
        """Graphs that are slower, fail newly or are less correct."""
        return int(self.judged.regressed.sum())

    @property
    def telling(self) -> npt.NDArray[np.bool_]:
        """Pairs that are neither as fast and correct as before nor as broken."""
        quiet = np.isin(self.judged.change, [Change.SAME, Change.STILL_FAILING])
        return np.asarray(~quiet | (self.judged.level != 0), np.bool_)

    def reasons(self) -> dict[Reason, int]:
        """Why graphs are ambiguous, the most frequent first."""
        codes, counts = np.unique(self.judged.reason, return_counts=True)
        found = [(Reason(c), int(n)) for c, n in zip(codes, counts, strict=True) if c]
        return dict(sorted(found, key=lambda item: -item[1]))

    def costs(self) -> dict[str, Floats]:
        """B / A of each of ``COSTS`` for every graph; NaN where either is missing or tiny."""
        found = {}
        for name, (column, least) in COSTS.items():
            sides = (self.pairs.first, self.pairs.second)
            before, after = (floats_of(run.table[column].cast("float64")) for run in sides)
            worth = (before > least) & (after > least)
            found[name] = np.divide(after, before, out=np.full(len(self), np.nan), where=worth)
        return found

    def spreads(self) -> dict[str, Spread]:
        """The geometric means of the costs' ratios, and where nine tenths of them lie."""
        found = {}
        for name, ratios in self.costs().items():
            logs = np.log(ratios[np.isfinite(ratios)])
            if len(logs):
                low, high = np.quantile(logs, [0.05, 0.95])
                numbers = (math.exp(x) for x in (float(logs.mean()), low, high))
                found[name] = Spread(len(logs), *numbers)
        return found

    def order(self) -> Ints:
        """Every pair: regressions first, the largest before the smaller ones, then the rest."""
        size = -np.abs(np.log(np.nan_to_num(self.judged.ratio, nan=1.0)))
        return np.lexsort((size, self.judged.change, ~self.judged.regressed))

    def rows(self, places: Sequence[int] | Ints) -> list[Row]:
        """Some of the pairs in words."""
        return rows_of(self, places)

    def as_json(self) -> dict[str, Any]:
        """All of it as plain values."""
        return {
            "a": self.names[0],
            "b": self.names[1],
            "settings": asdict(self.settings),
            "regressions": self.regressions,
            "counts": {change.word: self.count(change) for change in Change}
            | {"less correct": self.worse, "more correct": self.better}
            | {"only in a": self.pairs.only_first, "only in b": self.pairs.only_second},
            "reasons": {reason.word: count for reason, count in self.reasons().items()},
            "costs": {name: asdict(spread) for name, spread in self.spreads().items()},
            "graphs": [
                asdict(row) | {"change": row.change.word, "reason": row.reason.word}
                for row in self.rows(self.order())
            ],
        }


def compare(
    first: Path,
    second: Path | None = None,
    between: tuple[str, str] | None = None,
    compilers: Sequence[str] = (),
    settings: CompareSettings = CompareSettings(),  # noqa: B008 - frozen
) -> Comparison:
    """Two sources, or two configurations; raises where they have no graph in common."""
    if second is None and between is None:
        raise RecordError("give two sources, or one with --between OLD NEW")
    a = read_run(first)
    b = a if second is None else read_run(second)
    names = (str(first), str(first if second is None else second))
    if between is not None:
        old, new = map(short_name, between)
        names = (old, new) if second is None else (f"{names[0]} {old}", f"{names[1]} {new}")
    found = match_runs(a, b, between, compilers)
    if not len(found.first):
        raise RecordError(f"{names[0]} and {names[1]} have no graph and compiler in common")
    return Comparison(names, settings, found, judge(found, settings))
