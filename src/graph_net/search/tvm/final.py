"""The end of a tuning: each task's best program against its first, measured again in turns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from graph_net.measure.stats import median_interval
from graph_net.programs.collection.task import CollectedTask
from graph_net.results import Interval, Program
from graph_net.search.history import SearchHistory
from graph_net.search.proposer import RandomProposer
from graph_net.search.tvm.tuning_round import TuningRound, run_round

CONFIDENCE = 0.95
ROUNDS = 8


@dataclass(frozen=True)
class FinalTimes:
    """What was gained: start over tuned, of the whole graph and of each task."""

    speedup: Interval
    """Σ weight · start / Σ weight · tuned, the median over rounds."""
    tasks: Mapping[str, Interval]
    start_seconds: float
    tuned_seconds: float


def measure_finally(
    work: Path,
    tasks: Sequence[CollectedTask],
    histories: Sequence[SearchHistory],
    rounds: int = ROUNDS,
) -> FinalTimes | None:
    """Measure the first and the best program of each task again, in alternating order.

    None where no task has two programs that still run.
    """
    start, tuned = np.zeros(rounds), np.zeros(rounds)
    found: dict[str, Interval] = {}
    for task, history in zip(tasks, histories, strict=True):
        times = _again(work, task, history, rounds)
        if times is None:
            continue
        weight = sum(task.weights.values())
        start += weight * times[0]
        tuned += weight * times[1]
        found[task.workload.name] = median_interval(np.log(times[0] / times[1]), CONFIDENCE)
    if not found:
        return None
    speedup = median_interval(np.log(start / tuned), CONFIDENCE)
    return FinalTimes(speedup, found, float(np.median(start)), float(np.median(tuned)))


def _again(
    work: Path, task: CollectedTask, history: SearchHistory, rounds: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the seconds of the first and of the best program, one of each per round."""
    ran = [schedule for schedule in history if math.isfinite(history.seconds(schedule))]
    if not ran or history.best is None:
        return None
    pair = (ran[0], history.best)
    order = [text for number in range(rounds) for text in (pair if number % 2 else pair[::-1])]
    process = TuningRound(task, RandomProposer(), history, len(order), 1, 0, order)
    programs, _ = run_round(work, 1, process)  # one at a time, in this order
    times = [_times_of(programs, text)[:rounds] for text in pair]
    if pair[0] == pair[1]:
        every = _times_of(programs, pair[0])
        times = [every[::2][:rounds], every[1::2][:rounds]]
    if min(map(len, times)) < rounds:
        return None
    return np.array(times[0]), np.array(times[1])


def _times_of(programs: Sequence[Program], schedule: str) -> list[float]:
    """Return the quickest run of each measurement: disturbances only add time."""
    return [min(p.costs) for p in programs if p.schedule == schedule and p.costs]
