"""Interleaved timing: the order of the arms, inner repeats, and when sampling ends.

No test here looks at a real clock: the clocks are made of numbers.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from graph_net.measure.protocol import Protocol
from graph_net.measure.timing import (
    PER_ROUND,
    ROUNDS,
    SLOW,
    Call,
    CompiledAgain,
    CpuClock,
    time_arms,
)
from graph_net.results import Verdict

PER_BLOCK = PER_ROUND * ROUNDS


class Seconds:
    """A clock that reads the seconds a call says it takes."""

    def __init__(self, noise: float = 0.0) -> None:
        self.taken: list[str] = []
        self._noise = noise
        self._random = random.Random(0)  # noqa: S311 - noise, not a secret

    def take(self, call: Call, inner: int) -> tuple[float, float | None, Any]:
        name, seconds = call()
        self.taken.append(name)
        return seconds * (1 + self._noise * self._random.random()), None, (name, inner)


def eager() -> tuple[str, float]:
    return "eager", 1e-2


def candidate() -> tuple[str, float]:
    return "candidate", 5e-3


def test_arms_take_turns_in_mirrored_rounds() -> None:
    clock = Seconds()
    protocol = Protocol(min_blocks=2, max_blocks=2)
    time_arms(eager, candidate, protocol, clock)
    rounds = clock.taken[-2 * PER_BLOCK * 3 :]
    for start in range(0, len(rounds), 6):
        taken = rounds[start : start + 6]
        assert taken == taken[::-1]
        assert taken.count("candidate") == 2
        assert taken.count("eager") == 4  # eager and its control


def test_every_sample_is_kept() -> None:
    timing, _ = time_arms(eager, candidate, Protocol(min_blocks=3, max_blocks=3), Seconds())
    for arm in (timing.eager, timing.control, timing.candidate):
        assert len(arm.wall) == 3 * PER_BLOCK


def test_short_functions_are_repeated_inside_a_sample() -> None:
    protocol = Protocol(sample_seconds=1e-3, min_blocks=1, max_blocks=1)
    timing, last = time_arms(lambda: ("e", 1e-5), lambda: ("c", 3e-4), protocol, Seconds())
    assert timing.eager.inner == timing.control.inner == 100
    assert timing.candidate.inner == 4
    assert last == ("c", 4)


def test_arms_that_are_alike_get_samples_that_are_alike() -> None:
    protocol = Protocol(sample_seconds=1e-3, min_blocks=1, max_blocks=1)
    timing, _ = time_arms(lambda: ("e", 1.01e-3), lambda: ("c", 0.99e-3), protocol, Seconds())
    assert timing.eager.inner == timing.control.inner == timing.candidate.inner == 2


def test_a_block_of_long_samples_is_one_round() -> None:
    protocol = Protocol(min_blocks=2, max_blocks=2)
    timing, _ = time_arms(lambda: ("e", 2 * SLOW), lambda: ("c", SLOW), protocol, Seconds())
    assert timing.per_block == PER_ROUND
    assert len(timing.eager.wall) == 2 * PER_ROUND


def test_few_blocks_judge_nothing() -> None:
    protocol = Protocol(min_blocks=8, patience=-1.0)
    timing, _ = time_arms(eager, candidate, protocol, Seconds())
    assert timing.verdict is Verdict.AMBIGUOUS
    assert "1 of 8 blocks" in timing.reason


def test_nothing_is_compiled_inside_the_timed_region() -> None:
    counts = iter(range(100))
    protocol = Protocol(min_blocks=1, max_blocks=1)
    with pytest.raises(CompiledAgain):
        time_arms(eager, candidate, protocol, Seconds(), compilations=lambda: next(counts))


def test_sampling_ends_when_the_interval_is_narrow() -> None:
    protocol = Protocol(min_blocks=2, max_blocks=60, width=0.01)
    quiet, _ = time_arms(eager, candidate, protocol, Seconds())
    noisy, _ = time_arms(eager, candidate, protocol, Seconds(noise=0.3))
    assert len(quiet.eager.wall) == 2 * PER_BLOCK
    assert len(noisy.eager.wall) > len(quiet.eager.wall)


def test_a_candidate_twice_as_fast_is_faster() -> None:
    timing, _ = time_arms(eager, candidate, Protocol(min_blocks=4), Seconds(noise=0.02))
    assert timing.verdict is Verdict.FASTER
    assert timing.speedup.value == pytest.approx(2.0, rel=0.02)


def test_what_runs_between_samples_is_not_timed() -> None:
    calls: list[int] = []
    protocol = Protocol(min_blocks=1, max_blocks=1)
    clock = Seconds()
    time_arms(eager, candidate, protocol, clock, between=lambda: calls.append(1))
    assert len(calls) == len(clock.taken)


def test_what_must_be_restored_is_called_once_a_sample() -> None:
    protocol = Protocol(min_blocks=1, max_blocks=1)
    timing, _ = time_arms(
        lambda: ("e", 1e-6), lambda: ("c", 1e-6), protocol, Seconds(), between=lambda: None
    )
    assert timing.eager.inner == timing.candidate.inner == 1


def test_a_cpu_clock_gives_what_the_call_gave() -> None:
    wall, device, result = CpuClock().take(lambda: 7, 3)
    assert wall > 0
    assert device is None
    assert result == 7
