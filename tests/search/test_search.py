"""What a search does with its budget, on a space whose every program is known."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from graph_net.learn.model_registry import model_from_text
from graph_net.search.history import SearchHistory
from graph_net.search.measurer import ReplayMeasurer, SearchError
from graph_net.search.models import FROM_MODEL, WAYS, RememberedScores, make_proposer
from graph_net.search.proposer import RandomProposer
from graph_net.search.search import Search, SearchPlan
from search.some_spaces import bowl


@pytest.mark.parametrize("way", [way for way in WAYS if way != "in_context"])
def test_spends_its_budget_on_distinct_programs(way: str) -> None:
    task = bowl()
    model = None
    if way in FROM_MODEL:
        model = model_from_text("lightgbm[rounds=5,least_in_leaf=2,threads=1]")
        model.fit(task.space.data)
    plan = SearchPlan(trials=20, batch=5, seed=1)
    history = Search(task.space, task.measurer, make_proposer(way, model), plan).run()
    assert len(history) == history.programs == 20
    assert list(history.curve) == sorted(history.curve, reverse=True)


def test_a_search_scores_a_program_alike_whatever_else_it_asks_about() -> None:
    """It scores populations in parts, and compares what it found in all of them."""
    data = bowl().space.data
    model = model_from_text("relative[rounds=5,leaves=4,threads=1]")
    model.fit(data)
    some, none = np.arange(len(data) // 4), np.zeros(0, np.int64)
    every = RememberedScores(model).predict_given(data, none)
    part = RememberedScores(model).predict_given(data.take(some), none)
    assert part == pytest.approx(every[some])
    assert model.predict(data.take(some)) != pytest.approx(model.predict(data)[some])


def test_measures_every_program_once_where_the_budget_is_larger_than_the_space() -> None:
    task = bowl()
    history = Search(task.space, task.measurer, RandomProposer(), SearchPlan(trials=1000)).run()
    assert history.programs == len(history) == len(task.space.schedules)
    assert history.best_seconds == task.measurer.best


def test_the_same_seed_measures_the_same_programs() -> None:
    task = bowl()
    runs = [
        list(Search(task.space, task.measurer, make_proposer("scratch"), SearchPlan(25)).run())
        for _ in range(2)
    ]
    assert runs[0] == runs[1]


def test_expected_improvement_reaches_the_best_of_a_bowl_with_few_measurements() -> None:
    task = bowl()
    plan = SearchPlan(trials=40, polish=0.0)
    history = Search(task.space, task.measurer, make_proposer("scratch"), plan).run()
    assert history.measurements_to(task.measurer.best) is not None


def test_polish_measures_the_neighbours_of_the_incumbent() -> None:
    task = bowl()
    start = task.space.schedules[70]
    plan = SearchPlan(trials=12, polish=1.0)
    search = Search(task.space, task.measurer, RandomProposer(), plan, start=[start])
    search.step()
    before = search.history.best
    assert before == start
    search.step()
    latest = list(search.history)[-1]
    assert latest in task.space.neighbours(start, search._chance)


def test_what_is_used_today_is_measured_first() -> None:
    task = bowl()
    start = task.space.schedules[5]
    search = Search(task.space, task.measurer, RandomProposer(), SearchPlan(3), start=[start])
    assert next(iter(search.run())) == start


def test_a_program_that_was_lucky_once_is_timed_again_and_loses_its_place() -> None:
    task = bowl()
    lucky = task.space.schedules[0]

    class Lucky:
        calls = 0

        def measure(self, schedules: Sequence[str]) -> list[float]:
            seconds = task.measurer.measure(schedules)
            if schedules == [lucky]:
                self.calls += 1
                seconds = [1e-7 if self.calls == 1 else 1.0]
            return seconds

    plan = SearchPlan(trials=30, retimed=1, times=2, polish=0.0)
    history = Search(task.space, Lucky(), RandomProposer(), plan, start=[lucky]).run()
    assert history.times(lucky) == 2
    assert history.best != lucky


def test_a_failed_program_never_is_the_best() -> None:
    history = SearchHistory()
    history.add("broken", math.inf)
    assert not history.best
    history.add("slow", 3.0)
    assert [history.best, history.best_seconds] == ["slow", 3.0]
    assert history.curve == (math.inf, 3.0)


def test_says_how_many_measurements_a_time_took() -> None:
    history = SearchHistory()
    for number, seconds in enumerate((3.0, 2.0, 5.0, 1.0)):
        history.add(str(number), seconds)
    assert [history.measurements_to(goal) for goal in (3.0, 1.5, 0.5)] == [1, 4, None]


def test_a_replay_refuses_what_was_never_measured() -> None:
    with pytest.raises(SearchError, match="no measurement of"):
        ReplayMeasurer({"a": 1.0}).measure(["b"])
    with pytest.raises(SearchError, match="none of the programs"):
        ReplayMeasurer({"a": math.inf})


@pytest.mark.parametrize(("way", "said"), [("best", "available"), ("transfer", "give one")])
def test_unknown_ways_and_absent_models_are_named(way: str, said: str) -> None:
    with pytest.raises(SearchError, match=said):
        make_proposer(way)
