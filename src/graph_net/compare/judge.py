"""Judge how each graph changed between two runs, column by column."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from graph_net.compare.choose import MatchedRuns
from graph_net.compare.ranks import adjust_p_values, measure_shifts
from graph_net.compare.read import Run
from graph_net.measure.protocol import Protocol
from graph_net.results import RecordError, Symptom
from graph_net.score.faults import Fault
from graph_net.score.records import BLAMELESS_FAULT, faults_of, floats_of
from graph_net.score.samples import Floats, Ints
from graph_net.store.counting_rows import encode_texts

Flags = npt.NDArray[np.bool_]
LEAST_BLOCKS = Protocol().min_blocks
ROUNDING = -5.0
"""The tolerance of torch.testing: below this level outputs differ by rounding alone."""
_SOFTWARE = ("software", "python")


class Change(IntEnum):
    """How a graph changed from A to B."""

    SLOWER = 0
    NEW_FAILURE = 1
    FASTER = 2
    FIXED = 3
    SAME = 4
    AMBIGUOUS = 5
    STILL_FAILING = 6
    NOT_COUNTED = 7

    @property
    def word(self) -> str:
        """The change in words."""
        return self.name.lower().replace("_", " ")


class Reason(IntEnum):
    """Why a graph is ambiguous."""

    NONE = 0
    INTERVAL = 1
    CHANCE = 2
    NOISE = 3
    SAMPLES = 4
    DEVICE = 5
    PROTOCOL = 6
    EAGER = 7
    TOO_NOISY = 8

    @property
    def word(self) -> str:
        """The reason as programs read it."""
        return self.name.lower()


@dataclass(frozen=True)
class CompareSettings:
    """What counts as a difference.

    ``threshold`` is the factor from which on speed matters, ``fdr`` the false discovery rate,
    ``levels`` how far the smallest passing t must rise or fall.
    """

    threshold: float = 1.05
    fdr: float = 0.05
    confidence: float = 0.95
    levels: float = 1.0

    def __post_init__(self) -> None:
        if not 1 <= self.threshold < math.inf:
            raise RecordError(f"--threshold must be a factor of at least 1, not {self.threshold}")
        if not 0 < self.fdr < 1:
            raise RecordError(f"--fdr must be between 0 and 1, not {self.fdr}")
        if not 0.5 <= self.confidence < 1:
            raise RecordError(f"--confidence must be between 0.5 and 1, not {self.confidence}")
        if not 0 <= self.levels < math.inf:
            raise RecordError(f"--levels must be finite and ≥ 0, not {self.levels}")


@dataclass(frozen=True)
class JudgedPairs:
    """The change of each pair, its reason, and the ratio of the speedups B / A.

    The interval ``low`` … ``high`` is the one that the verdict is based on. For a pair that is
    slower or faster, or would be except for the correction, it is that of the test, corrected for
    the number of graphs; for the others, that of the graph alone.
    ``p`` and ``q`` (adjusted over graphs) are NaN if nothing was tested; ``level`` is 1 if the
    smallest passing t got worse, -1 if it got better.
    """

    change: Ints
    reason: Ints
    ratio: Floats
    low: Floats
    high: Floats
    p: Floats
    q: Floats
    level: Ints
    noise: Floats

    @property
    def regressed(self) -> Flags:
        """Which pairs are slower, newly fail, or are less correct."""
        bad = (self.change == Change.SLOWER) | (self.change == Change.NEW_FAILURE)
        return np.asarray(bad | (self.level > 0), np.bool_)


def judge(matched: MatchedRuns, settings: CompareSettings) -> JudgedPairs:
    """Judge every pair; the tests are corrected for the number of pairs."""
    first, second = matched.first, matched.second
    faults = np.stack([faults_of(run.table) for run in (first, second)])
    change = _changes_of_faults(faults)
    both = (faults == Fault.NONE).all(axis=0)
    count = len(first)
    reason = np.zeros(count, np.int64)
    for rows, code in (
        (np.minimum(first.blocks.counts, second.blocks.counts) < LEAST_BLOCKS, Reason.SAMPLES),
        (_is_too_noisy(first) | _is_too_noisy(second), Reason.TOO_NOISY),
        (_differ(first, second, "protocol"), Reason.PROTOCOL),
        (_describe(first, False) != _describe(second, False), Reason.DEVICE),
    ):
        reason[both & rows] = code
    numbers = {name: np.full(count, np.nan) for name in ("ratio", "low", "high", "p", "q")}
    noise = _noise(first, second)
    with np.errstate(all="ignore"):
        numbers["ratio"] = floats_of(second.table["speedup"]) / floats_of(first.table["speedup"])
    numbers["ratio"][~both] = np.nan
    rows = np.flatnonzero(both & (reason == Reason.NONE))
    if len(rows):
        margin = np.maximum(math.log(settings.threshold), noise[rows])
        blocks = first.blocks.take(rows), second.blocks.take(rows)
        tested = measure_shifts(*blocks, margin, settings.confidence)
        q = adjust_p_values(tested.p)
        for name, values in (("ratio", tested.value), ("low", tested.low), ("high", tested.high)):
            numbers[name][rows] = np.exp(values)
        numbers["p"][rows], numbers["q"][rows] = tested.p, q
        change[rows], reason[rows] = _verdicts(numbers, rows, settings)
        by_test = np.isin(change[rows], [Change.SLOWER, Change.FASTER])
        by_test |= reason[rows] == Reason.CHANCE
        some = np.flatnonzero(by_test)
        first_blocks, second_blocks = (block.take(some) for block in blocks)
        level = _test_level(q, settings)
        corrected = measure_shifts(first_blocks, second_blocks, margin[some], 1 - level)
        numbers["low"][rows[some]] = np.exp(corrected.low)
        numbers["high"][rows[some]] = np.exp(corrected.high)
        _withdraw_where_eager_changed(matched, rows, change, reason, settings)
    return JudgedPairs(
        change, reason, numbers["ratio"], numbers["low"], numbers["high"], numbers["p"],
        numbers["q"], _levels(first, second, both, settings), noise,
    )  # fmt: skip


def _test_level(q: Floats, settings: CompareSettings) -> float:
    """Return the significance level of each graph's test: the rate times the share of findings.

    At this confidence, only the intervals of the findings lie beyond the margin.
    """
    return settings.fdr * max(1, int((q <= settings.fdr).sum())) / len(q)


def _changes_of_faults(faults: npt.NDArray[Any]) -> Ints:
    """Return the changes by failures alone; two successes are ambiguous until they are tested."""
    failed = faults > Fault.NONE
    change = np.full(faults.shape[1], int(Change.AMBIGUOUS))
    change[~failed[0] & failed[1]] = Change.NEW_FAILURE
    change[failed[0] & ~failed[1]] = Change.FIXED
    change[failed[0] & failed[1]] = Change.STILL_FAILING
    change[(faults == BLAMELESS_FAULT).any(axis=0)] = Change.NOT_COUNTED
    return change


def _verdicts(
    numbers: dict[str, Floats], rows: Ints, settings: CompareSettings
) -> tuple[Ints, Ints]:
    ratio, low, high, p, q = (numbers[name][rows] for name in ("ratio", "low", "high", "p", "q"))
    limit = settings.threshold
    significant = q <= settings.fdr
    within = (low >= 1 / limit) & (high <= limit)
    beyond = (low > limit) | (high < 1 / limit)
    choices = [significant & (ratio < 1), significant, within]
    change = np.select(choices, [Change.SLOWER, Change.FASTER, Change.SAME], Change.AMBIGUOUS)
    reason = np.select([p <= settings.fdr, beyond], [Reason.CHANCE, Reason.NOISE], Reason.INTERVAL)
    return change, np.where(change == Change.AMBIGUOUS, reason, Reason.NONE)


def _withdraw_where_eager_changed(
    matched: MatchedRuns, rows: Ints, change: Ints, reason: Ints, settings: CompareSettings
) -> None:
    """Call a change ambiguous if eager's version changed and the candidate's time disagrees."""
    other = (_describe(matched.first, True) != _describe(matched.second, True))[rows]
    with np.errstate(all="ignore"):
        before, after = (
            floats_of(run.table["candidate_seconds"])[rows]
            for run in (matched.first, matched.second)
        )
        times = after / before
    slower, faster = (change[rows] == kind for kind in (Change.SLOWER, Change.FASTER))
    refuted = slower & ~(times > settings.threshold) | faster & ~(times < 1 / settings.threshold)
    withdrawn = rows[other & refuted]
    change[withdrawn], reason[withdrawn] = Change.AMBIGUOUS, Reason.EAGER


def _levels(first: Run, second: Run, both: Flags, settings: CompareSettings) -> Ints:
    before, after = (np.maximum(floats_of(run.table["t"]), ROUNDING) for run in (first, second))
    rise = np.where(both, after - before, 0.0)
    return np.where(rise > settings.levels, 1, np.where(rise < -settings.levels, -1, 0))


def _is_too_noisy(run: Run) -> Flags:
    """Return which outputs count without a speedup, which was too noisy."""
    return np.asarray(pc.fill_null(pc.equal(run.table["symptom"], Symptom.TOO_NOISY), False))


def _noise(first: Run, second: Run) -> Floats:
    """Return eager's distance from itself, as a logarithm; the larger of the two runs."""
    with np.errstate(all="ignore"):
        sides = [
            np.maximum(
                np.log(floats_of(run.table["noise_high"])),
                -np.log(floats_of(run.table["noise_low"])),
            )
            for run in (first, second)
        ]
    return np.asarray(np.nan_to_num(np.fmax(*sides)), np.float64)


def _differ(first: Run, second: Run, column: str) -> Flags:
    sides = [np.array(texts, dtype=object)[codes] for texts, codes in
             (encode_texts(run.table[column]) for run in (first, second))]  # fmt: skip
    return np.asarray(sides[0] != sides[1], np.bool_)


def _describe(run: Run, software: bool) -> npt.NDArray[Any]:
    """Return for each record its device's software, or its hardware."""
    texts, codes = encode_texts(run.table["device"])
    descriptions = []
    for text in texts:
        device = run.devices.get(text, {})
        part = {key: device[key] for key in device if (key in _SOFTWARE) == software}
        descriptions.append(str(sorted(part.items(), key=lambda item: item[0])))
    return np.array(descriptions, dtype=object)[codes] if descriptions else np.zeros(0, object)
