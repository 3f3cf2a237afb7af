"""A comparison as a whole: its sides, its counts and its costs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from graph_net.compare.choose import MatchedRuns, match_runs
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
"""Columns that are reported without a test, and the least value that is worth a ratio."""


@dataclass(frozen=True)
class Spread:
    """The ratios B / A of a cost over graphs: geometric mean and the central nine tenths.

    Not an Interval: the mean of skewed ratios may lie outside of them.
    """

    graphs: int
    middle: float
    low: float
    high: float


@dataclass(frozen=True)
class Comparison:
    """Two runs side by side: A is the first, B the second."""

    names: tuple[str, str]
    settings: CompareSettings
    pairs: MatchedRuns
    judged: JudgedPairs

    def __len__(self) -> int:
        return len(self.pairs.first)

    def __repr__(self) -> str:
        from graph_net.compare.markdown import headline

        return f"<Comparison {printable(headline(self))}>"

    def _repr_html_(self) -> str:
        from graph_net.compare.markdown import to_html

        return to_html(self)

    def count(self, change: Change) -> int:
        """Count the graphs with this change."""
        return int((self.judged.change == change).sum())

    @property
    def worse(self) -> int:
        """The number of graphs that are less correct."""
        return int((self.judged.level > 0).sum())

    @property
    def better(self) -> int:
        """The number of graphs that are more correct."""
        return int((self.judged.level < 0).sum())

    @property
    def regressions(self) -> int:
        """The number of graphs that are slower, newly fail or are less correct."""
        return int(self.judged.regressed.sum())

    @property
    def changed(self) -> npt.NDArray[np.bool_]:
        """Which pairs changed: neither the same nor still failing."""
        unchanged = np.isin(self.judged.change, [Change.SAME, Change.STILL_FAILING])
        return np.asarray(~unchanged | (self.judged.level != 0), np.bool_)

    def reasons(self) -> dict[Reason, int]:
        """Return why graphs are ambiguous, with their number, the most frequent first."""
        codes = self.judged.reason[self.judged.reason != Reason.NONE]
        return {Reason(code): n for code, n in Counter(codes.tolist()).most_common()}

    def costs(self) -> dict[str, Floats]:
        """Return B / A of each of ``COSTS`` for every graph; NaN if either is missing or tiny."""
        ratios = {}
        for name, (column, least) in COSTS.items():
            sides = (self.pairs.first, self.pairs.second)
            before, after = (floats_of(run.table[column].cast("float64")) for run in sides)
            worth = (before > least) & (after > least)
            ratios[name] = np.divide(after, before, out=np.full(len(self), np.nan), where=worth)
        return ratios

    def spreads(self) -> dict[str, Spread]:
        """Return the spread of each cost's ratios."""
        spreads = {}
        for name, ratios in self.costs().items():
            logs = np.log(ratios[np.isfinite(ratios)])
            if len(logs):
                low, high = np.quantile(logs, [0.05, 0.95])
                numbers = (math.exp(x) for x in (float(logs.mean()), low, high))
                spreads[name] = Spread(len(logs), *numbers)
        return spreads

    def order(self) -> Ints:
        """Return the positions of all pairs: regressions first, by size, then the rest."""
        size = -np.abs(np.log(np.nan_to_num(self.judged.ratio, nan=1.0)))
        return np.lexsort((size, self.judged.change, ~self.judged.regressed))

    def rows(self, positions: Sequence[int] | Ints) -> list[Row]:
        """Return the pairs at these positions, in words and numbers."""
        return rows_of(self, positions)

    def as_json(self) -> dict[str, Any]:
        """Return the whole comparison as JSON."""
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
    """Compare two sources, or two configurations of one.

    Raises RecordError if they have no graph and compiler in common.
    """
    if second is None and between is None:
        raise RecordError("give two sources, or one with --between OLD NEW")
    a = read_run(first)
    b = a if second is None else read_run(second)
    names = (str(first), str(first if second is None else second))
    if between is not None:
        old, new = map(short_name, between)
        names = (old, new) if second is None else (f"{names[0]} {old}", f"{names[1]} {new}")
    matched = match_runs(a, b, between, compilers)
    if not len(matched.first):
        raise RecordError(f"{names[0]} and {names[1]} have no graph and compiler in common")
    return Comparison(names, settings, matched, judge(matched, settings))
