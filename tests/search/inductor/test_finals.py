"""Finals: the fastest choices of a short operation are timed again."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch._inductor.select_algorithm import AlgorithmSelectorCache

import graph_net.inductor
from graph_net.search.inductor.finals import FINALISTS, ROUNDS, finals, repeat
from search.inductor.some_choices import some_model


@dataclass(eq=False)
class Choice:
    """A choice on a device; one that is not steady was lucky the first time."""

    layout: Any
    steady: bool = True


def choice(device: str = "cuda", *, steady: bool = True) -> Choice:
    return Choice(SimpleNamespace(device=torch.device(device)), steady)


class Clock:
    """Takes longer for a choice that is not steady, and notes what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def __call__(self, one: Any) -> float:
        self.asked.append(one)
        return 0.006 if one.steady else 0.009


def test_a_lucky_first_time_does_not_win() -> None:
    lucky, steady, clock = choice(steady=False), choice(), Clock()
    again = repeat({lucky: 0.0055, steady: 0.0061}, clock)
    assert min(again, key=again.__getitem__) is steady
    assert clock.asked == [steady, lucky, lucky, steady]
    assert len(clock.asked) == 2 * ROUNDS


@pytest.mark.parametrize(
    "times",
    [
        {},
        {choice(): 0.005},
        {choice(): 0.005, choice(): 0.007},
        {choice(): 2.0, choice(): 2.01},
        {choice(): math.inf, choice(): math.inf},
        {choice("cpu"): 0.005, choice("cpu"): 0.005},
    ],
    ids="none one apart long failed cpu".split(),
)
def test_nothing_is_timed_again_where_once_is_enough(times: dict[Any, float]) -> None:
    clock = Clock()
    assert repeat(times, clock) == {}
    assert not clock.asked


def test_only_a_few_take_part() -> None:
    times = {choice(): 0.006 for _ in range(9)}
    assert len(repeat(times, Clock())) == FINALISTS


def test_inductor_gets_the_repeated_times_for_the_block_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second = choice(), choice()
    answers = {first: [0.005, 0.008, 0.008], second: [0.0052, 0.0052, 0.0052]}

    def timing(cls: Any, choices: Any, arguments: Any, is_collective: bool = False) -> Any:
        return {one: answers[one].pop(0) for one in choices}

    monkeypatch.setattr(AlgorithmSelectorCache, "benchmark_choices", classmethod(timing))
    before = AlgorithmSelectorCache.__dict__["benchmark_choices"]
    with finals():
        timed: Any = AlgorithmSelectorCache.benchmark_choices
        assert timed([first, second], None) == {first: 0.008, second: 0.0052}
        answers = {first: [0.005], second: [0.0052]}
        together = timed([first, second], None, is_collective=True)
        assert together == {first: 0.005, second: 0.0052}
    assert AlgorithmSelectorCache.__dict__["benchmark_choices"] is before


def test_times_stay_as_they_were_if_a_choice_fails_the_second_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = []

    def timing(cls: Any, choices: Any, arguments: Any) -> Any:
        calls.append(choices)
        if len(calls) > 1:
            raise RuntimeError("the GPU is gone")
        return dict.fromkeys(choices, 0.005)

    monkeypatch.setattr(AlgorithmSelectorCache, "benchmark_choices", classmethod(timing))
    with graph_net.inductor.learned(some_model()):
        timed: Any = AlgorithmSelectorCache.benchmark_choices
        times = timed([choice(), choice()], None)
    assert set(times.values()) == {0.005}
    assert len(calls) == 2
