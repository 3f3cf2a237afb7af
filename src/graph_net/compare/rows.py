"""Pairs of a comparison in words and numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from graph_net.compare.choose import labels_of
from graph_net.compare.judge import Change, Reason
from graph_net.results import EQUAL
from graph_net.results.signature import headline_of
from graph_net.score.faults import Fault
from graph_net.score.records import faults_of, floats_of
from graph_net.score.samples import Floats, Ints

if TYPE_CHECKING:
    from graph_net.compare.result import Comparison

Two = tuple[float | None, float | None]


@dataclass(frozen=True)
class Row:
    """One graph: its change and why, both sides' figures, ratios B / A."""

    graph: str
    id: str
    compiler: str
    change: Change
    reason: Reason
    level_change: int
    sentence: str
    ratio: float | None
    low: float | None
    high: float | None
    p: float | None
    q: float | None
    speedups: Two
    levels: Two
    failures: tuple[str, str]
    costs: dict[str, float | None]


def rows_of(comparison: Comparison, positions: Sequence[int] | Ints) -> list[Row]:
    """Return the pairs at these positions, in this order."""
    judged, chosen = comparison.judged, np.asarray(positions, np.int64)
    first, second = (run.take(chosen) for run in (comparison.pairs.first, comparison.pairs.second))
    names, ids = (first.table[name].to_pylist() for name in ("graph", "graph_id"))
    configs = zip(labels_of(first), labels_of(second), strict=True)
    speedups, levels = (
        [floats_of(run.table[name]) for run in (first, second)] for name in ("speedup", "t")
    )
    failed = list(zip(*(_failures(run.table) for run in (first, second)), strict=True))
    costs = {name: values[chosen] for name, values in comparison.costs().items()}
    numbers = {key: getattr(judged, key)[chosen] for key in ("ratio", "low", "high", "p", "q")}
    rows = []
    for number, ((before, after), position) in enumerate(zip(configs, chosen, strict=True)):
        change, reason = Change(judged.change[position]), Reason(judged.reason[position])
        level = int(judged.level[position])
        passing = _two(levels, number)
        clauses = [_failed(change, failed[number]), _why(comparison, int(position), reason)]
        if level:
            clauses.append(f"passes from t = {_level(passing[1])} on, not {_level(passing[0])}")
        rows.append(
            Row(
                names[number],
                ids[number],
                before if before == after else f"{before} → {after}",
                change,
                reason,
                level,
                "; ".join(filter(None, clauses)),
                **{key: _number(values[number]) for key, values in numbers.items()},
                speedups=_two(speedups, number),
                levels=passing,
                failures=failed[number],
                costs={name: _number(values[number]) for name, values in costs.items()},
            )
        )
    return rows


def _failures(table: pa.Table) -> list[str]:
    """Return the failure of each row in a few words; empty for a success."""
    columns = (table[name].to_pylist() for name in ("stage", "symptom", "message"))
    return [
        "" if fault == Fault.NONE else f"{stage} {symptom}: {headline_of(text or '')}".rstrip(": ")
        for fault, stage, symptom, text in zip(faults_of(table), *columns, strict=True)
    ]


def _number(value: Any) -> float | None:
    return float(value) if math.isfinite(value) else None


def _two(sides: list[Floats], number: int) -> Two:
    return _number(sides[0][number]), _number(sides[1][number])


def _level(t: float | None) -> str:
    return "none" if t is None else "equal" if t <= EQUAL else f"{t:.1f}"


def _failed(change: Change, failed: tuple[str, str]) -> str:
    if change in (Change.NEW_FAILURE, Change.STILL_FAILING):
        return failed[1]
    if change is Change.FIXED:
        return f"was {failed[0]}"
    if change is not Change.NOT_COUNTED or failed[0] == failed[1]:
        return failed[0]
    return "; ".join(f"{side}: {text}" for side, text in zip("AB", failed, strict=True) if text)


def _why(comparison: Comparison, position: int, reason: Reason) -> str:
    """Return why a graph is ambiguous."""
    judged = comparison.judged
    low, high = judged.low[position], judged.high[position]
    noise = math.expm1(judged.noise[position])
    between = f"between {low:.3f} and {high:.3f} times"
    if not 0 < low <= high < math.inf:
        between = "too few blocks for an interval"
    limit = comparison.settings.threshold
    return {
        Reason.NONE: "",
        Reason.INTERVAL: f"{between}: neither within nor beyond {limit:g}",
        Reason.CHANCE: f"{between}: significant alone, but not among this many graphs",
        Reason.NOISE: f"{between}, but eager differs from itself by up to {noise:.0%}",
        Reason.SAMPLES: "too few samples",
        Reason.TOO_NOISY: "too noisy for a speedup; the outputs count",
        Reason.DEVICE: "measured on different devices",
        Reason.PROTOCOL: "measured under different protocols",
        Reason.EAGER: "eager's version changed, and the compiled graph's own time disagrees",
    }[reason]
