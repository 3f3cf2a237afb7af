"""What became of each graph between two runs: columns in, columns out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from graph_net.compare.choose import Matched
from graph_net.compare.ranks import adjust_p_values, shifts
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
"""Below this level, which is torch.testing's own tolerance, outputs differ by rounding alone."""
_SOFTWARE = ("software", "python")


class Change(IntEnum):
    """What became of a graph."""

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
        """For people."""
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
        """For programs."""
        return self.name.lower()


@dataclass(frozen=True)
class CompareSettings:
    """What counts as a difference.

    ``threshold`` is the factor that matters, ``fdr`` the share of findings that may be false,
    ``levels`` how far the smallest passing t must rise or fall.
    """

    threshold: float = 1.05
    fdr: float = 0.05
    confidence: float = 0.95
    levels: float = 1.0

    def __post_init__(self) -> None:
        if not 1 <= self.threshold < math.inf:
            raise RecordError(f"--threshold is a factor from 1 on, not {self.threshold}")
        if not 0 < self.fdr < 1:
            raise RecordError(f"--fdr is a share between 0 and 1, not {self.fdr}")
        if not 0.5 <= self.confidence < 1:
            raise RecordError(f"--confidence is between 0.5 and 1, not {self.confidence}")
        if not 0 <= self.levels < math.inf:
            raise RecordError(f"--levels is a number from 0 on, not {self.levels}")


@dataclass(frozen=True)
class JudgedPairs:
    """For each pair: what became of it, why, and the ratio of the speedups B / A.

    The interval ``low`` … ``high`` is the one that its verdict rests on: of what is slower or
    faster, or would be but for chance, that of the test, which counts how many graphs were tested;
    of all others that of the graph alone.
    ``p`` and ``q`` (adjusted over graphs) are NaN where nothing was tested; ``level`` is 1 where
    the smallest passing t got worse, -1 where it got better.
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
        """Slower, newly failing, or less correct."""
        bad = (self.change == Change.SLOWER) | (self.change == Change.NEW_FAILURE)
        return np.asarray(bad | (self.level > 0), np.bool_)


def judge(found: Matched, settings: CompareSettings) -> JudgedPairs:
    """Every pair judged, all of them together where chance is concerned."""
    first, second = found.first, found.second
    faults = np.stack([faults_of(run.table) for run in (first, second)])
    change = _by_faults(faults)
    both = (faults == Fault.NONE).all(axis=0)
    count = len(first)
    reason = np.zeros(count, np.int64)
    for which, why in (
        (_blocks(found) < LEAST_BLOCKS, Reason.SAMPLES),
        (_withheld(first) | _withheld(second), Reason.TOO_NOISY),
        (_differ(first, second, "protocol"), Reason.PROTOCOL),
        (_hardware(first) != _hardware(second), Reason.DEVICE),
    ):
        reason[both & which] = why
    numbers = {name: np.full(count, np.nan) for name in ("ratio", "low", "high", "p", "q")}
    noise = _noise(first, second)
    with np.errstate(all="ignore"):
        numbers["ratio"] = floats_of(second.table["speedup"]) / floats_of(first.table["speedup"])
    numbers["ratio"][~both] = np.nan
    rows = np.flatnonzero(both & (reason == Reason.NONE))
    if len(rows):
        margin = np.maximum(math.log(settings.threshold), noise[rows])
        blocks = first.blocks.take(rows), second.blocks.take(rows)
        tested = shifts(*blocks, margin, settings.confidence)
        q = adjust_p_values(tested.p)
        for name, values in (("ratio", tested.value), ("low", tested.low), ("high", tested.high)):
            numbers[name][rows] = np.exp(values)
        numbers["p"][rows], numbers["q"][rows] = tested.p, q
        change[rows], reason[rows] = _verdicts(numbers, rows, settings)
        called = np.isin(change[rows], [Change.SLOWER, Change.FASTER])
        called |= reason[rows] == Reason.CHANCE
        some = np.flatnonzero(called)
        first_blocks, second_blocks = (each.take(some) for each in blocks)
        at = shifts(first_blocks, second_blocks, margin[some], 1 - _tested_at(q, settings))
        numbers["low"][rows[some]], numbers["high"][rows[some]] = np.exp(at.low), np.exp(at.high)
        _where_eager_changed(found, rows, change, reason, settings)
    return JudgedPairs(
        change, reason, numbers["ratio"], numbers["low"], numbers["high"], numbers["p"],
        numbers["q"], _levels(first, second, both, settings), noise,
    )  # fmt: skip


def _tested_at(q: Floats, settings: CompareSettings) -> float:
    """The probability of error that each graph was tested at: the rate, times the share found.

    Intervals of this confidence lie beyond the margin for what was found, and for nothing else.
    """
    return settings.fdr * max(1, int((q <= settings.fdr).sum())) / len(q)


def _by_faults(faults: npt.NDArray[Any]) -> Ints:
    """What the failures alone say; two successes are ambiguous until their samples have spoken."""
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
    found = q <= settings.fdr
    within = (low >= 1 / limit) & (high <= limit)
    beyond = (low > limit) | (high < 1 / limit)
    choices = [found & (ratio < 1), found, within]
    change = np.select(choices, [Change.SLOWER, Change.FASTER, Change.SAME], Change.AMBIGUOUS)
    why = np.select([p <= settings.fdr, beyond], [Reason.CHANCE, Reason.NOISE], Reason.INTERVAL)
    return change, np.where(change == Change.AMBIGUOUS, why, Reason.NONE)


def _where_eager_changed(
    found: Matched, rows: Ints, change: Ints, reason: Ints, settings: CompareSettings
) -> None:
    """With another torch eager is another program: what its own time does not show is not said."""
    other = _software(found.first)[rows] != _software(found.second)[rows]
    with np.errstate(all="ignore"):
        before, after = (
            floats_of(run.table["candidate_seconds"])[rows] for run in (found.first, found.second)
        )
        times = after / before
    slower, faster = (change[rows] == kind for kind in (Change.SLOWER, Change.FASTER))
    refuted = slower & ~(times > settings.threshold) | faster & ~(times < 1 / settings.threshold)
    which = rows[other & refuted]
    change[which], reason[which] = Change.AMBIGUOUS, Reason.EAGER


def _levels(first: Run, second: Run, both: Flags, settings: CompareSettings) -> Ints:
    before, after = (np.maximum(floats_of(run.table["t"]), ROUNDING) for run in (first, second))
    rise = np.where(both, after - before, 0.0)
    return np.where(rise > settings.levels, 1, np.where(rise < -settings.levels, -1, 0))


def _blocks(found: Matched) -> Ints:
    return np.minimum(found.first.blocks.counts, found.second.blocks.counts)


def _withheld(run: Run) -> Flags:
    """Where the outputs count and the speedup was too noisy to keep."""
    return np.asarray(pc.fill_null(pc.equal(run.table["symptom"], Symptom.TOO_NOISY), False))


def _noise(first: Run, second: Run) -> Floats:
    """How far eager was from itself, as a logarithm; the larger of the two runs."""
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


def _described(run: Run, software: bool) -> npt.NDArray[Any]:
    """For each record its device's software, or all but it."""
    texts, codes = encode_texts(run.table["device"])
    words = []
    for text in texts:
        known = run.devices.get(text, {})
        part = {key: known[key] for key in known if (key in _SOFTWARE) == software}
        words.append(str(sorted(part.items(), key=lambda item: item[0])))
    return np.array(words, dtype=object)[codes] if words else np.zeros(0, object)


def _hardware(run: Run) -> npt.NDArray[Any]:
    return _described(run, software=False)


def _software(run: Run) -> npt.NDArray[Any]:
    return _described(run, software=True)
