"""Finals: the fastest choices of a short operation are timed again."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch._inductor import config
from torch._inductor.select_algorithm import AlgorithmSelectorCache

import graph_net.inductor
from graph_net.search.inductor.finals import FINALISTS, ROUNDS, TIMING, finals, repeat
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
    clock = Clock()
    repeat({choice(): 0.006 for _ in range(9)}, clock)
    assert len(set(clock.asked)) == FINALISTS


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


def test_a_choice_that_fails_the_second_time_loses() -> None:
    broken, sound = choice(), choice()
    again = repeat({broken: 0.005, sound: 0.0055}, lambda one: math.inf if one is broken else 0.006)
    assert again == {broken: math.inf, sound: 0.006}


def test_a_choice_outside_the_final_does_not_win_by_its_only_time() -> None:
    finalists, lucky = [choice(), choice(), choice()], choice()
    times = {one: 0.0050 + place / 1e4 for place, one in enumerate(finalists)} | {lucky: 0.0053}
    again = {**times, **repeat(times, lambda _: 0.0056)}
    assert min(again, key=again.__getitem__) in finalists
    assert again[lucky] == pytest.approx(0.0056)


def test_times_stay_as_they_were_if_all_fail_the_second_time() -> None:
    assert repeat({choice(): 0.005, choice(): 0.0055}, lambda _: math.inf) == {}


class Timed:
    """Inductor's function that times choices, which counts how often it is called."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, fails: bool = False) -> None:
        self.calls = 0

        def timing(cls: Any, choices: Any, arguments: Any) -> Any:
            self.calls += 1
            if fails and self.calls > 1:
                raise RuntimeError("the GPU is gone")
            return dict.fromkeys(choices, 0.005)

        monkeypatch.setattr(AlgorithmSelectorCache, TIMING, classmethod(timing))

    def __call__(self) -> list[float]:
        """Time two choices as Inductor does."""
        self.calls = 0
        timing: Any = getattr(AlgorithmSelectorCache, TIMING)
        return list(timing([choice(), choice()], None).values())


def test_times_stay_as_they_were_if_timing_again_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    timed = Timed(monkeypatch, fails=True)
    with graph_net.inductor.learned(some_model()):
        assert timed() == [0.005, 0.005]
    assert timed.calls == 2


def test_a_block_inside_a_block_has_one_final(monkeypatch: pytest.MonkeyPatch) -> None:
    timed = Timed(monkeypatch)
    with finals(), finals():
        timed()
    assert timed.calls == 1 + 2 * ROUNDS
    timed()
    assert timed.calls == 1


def test_a_final_ends_with_its_block_though_another_hook_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    timed, block = Timed(monkeypatch), finals()
    block.__enter__()
    inner = AlgorithmSelectorCache.__dict__[TIMING].__func__
    other = classmethod(lambda cls, *given: inner(cls, *given))
    monkeypatch.setattr(AlgorithmSelectorCache, TIMING, other)
    block.__exit__(None, None, None)
    assert AlgorithmSelectorCache.__dict__[TIMING] is other
    timed()
    assert timed.calls == 1


def test_choices_that_another_process_times_have_no_final(monkeypatch: pytest.MonkeyPatch) -> None:
    timed = Timed(monkeypatch)
    with finals(), config.patch(autotune_in_subproc=True):
        timed()
    assert timed.calls == 1


def test_a_torch_without_the_function_compiles_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(AlgorithmSelectorCache, TIMING)
    with graph_net.inductor.learned(some_model()):
        assert TIMING not in vars(AlgorithmSelectorCache)
