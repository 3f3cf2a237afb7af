"""Which task a scheduler chooses, on simulated tasks."""

from __future__ import annotations

import pytest

from graph_net.search.measurer import SearchError
from graph_net.search.scheduler import ScheduledTask, TaskScheduler


def simulate(tasks: list[ScheduledTask], curves: list[list[float]], rounds: int) -> TaskScheduler:
    """Tune for some rounds; a task's best after each of its rounds is given, the last for ever."""
    scheduler = TaskScheduler(tasks)
    for _ in range(rounds):
        place = scheduler.choose()
        assert place is not None
        curve = curves[place]
        scheduler.note(place, curve[min(scheduler.rounds(place), len(curve) - 1)])
    return scheduler


def test_every_task_gets_a_round_before_any_gets_two() -> None:
    tasks = [ScheduledTask(name, 1) for name in "abc"]
    scheduler = simulate(tasks, [[1.0], [1e-6], [1e-3]], 3)
    assert [scheduler.rounds(place) for place in range(3)] == [1, 1, 1]


def test_a_task_that_the_network_calls_more_often_gets_more_rounds() -> None:
    tasks = [ScheduledTask("often", 10), ScheduledTask("once", 1)]
    scheduler = simulate(tasks, [[1e-3], [1e-3]], 20)
    assert scheduler.rounds(0) > 2 * scheduler.rounds(1)


def test_a_task_that_still_falls_gets_more_rounds_than_one_that_has_stopped() -> None:
    falling = [1e-3 * 0.8**step for step in range(20)]
    tasks = [ScheduledTask("stopped", 1), ScheduledTask("falling", 1)]
    scheduler = simulate(tasks, [[falling[0]], falling], 6)
    assert scheduler.rounds(1) >= scheduler.rounds(0)


def test_no_task_is_starved() -> None:
    tasks = [ScheduledTask("large", 1), ScheduledTask("small", 1)]
    scheduler = simulate(tasks, [[1e-2], [1e-3]], 60)
    assert scheduler.rounds(1) > 2


def test_a_task_far_from_the_rate_of_its_kind_is_hoped_to_gain() -> None:
    tasks = [ScheduledTask("quick", 1, 1e9, "conv"), ScheduledTask("slow", 1, 1e9, "conv")]
    scheduler = simulate(tasks, [[1e-3], [1e-2]], 10)
    assert scheduler.gradient(1) > scheduler.gradient(0)


def test_an_exhausted_task_is_not_chosen_again() -> None:
    scheduler = simulate([ScheduledTask("a", 1), ScheduledTask("b", 9)], [[1.0], [1.0]], 2)
    scheduler.exhaust(1)
    assert scheduler.choose() == 0
    scheduler.exhaust(0)
    assert scheduler.choose() is None


def test_the_latency_of_the_network_weighs_each_task() -> None:
    scheduler = simulate([ScheduledTask("a", 2), ScheduledTask("b", 3)], [[1.0], [0.5]], 2)
    assert scheduler.latency == pytest.approx(3.5)


def test_a_network_has_tasks_with_weights() -> None:
    with pytest.raises(SearchError, match="no task"):
        TaskScheduler([])
    with pytest.raises(SearchError, match="positive"):
        ScheduledTask("a", 0)
