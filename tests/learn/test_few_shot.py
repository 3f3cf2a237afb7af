"""Curves of what is found after a few measurements, and simple ways to use measurements."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from graph_net.learn.adapting import (
    Adapts,
    NearestNeighbour,
    RandomOrder,
    ResidualProcess,
    ResidualTrees,
    TaskTrees,
    gaussian_process,
    split_by_task,
)
from graph_net.learn.few_shot import (
    FewShotPoint,
    Strategy,
    compare_curves,
    few_shot_curve,
    format_comparisons,
    tasks_with_more,
)
from graph_net.learn.learning_set import LearnError, LearningSet, LearningTask, tabular_set
from graph_net.learn.metrics import Floats, Ints, TaskCosts
from graph_net.testing.cost_model import easy_set

COUNTS = (0, 1, 4, 16)


@dataclass
class KnowsAll:
    """An order by the costs themselves, that keeps what it was told."""

    sign: float = -1.0

    def __post_init__(self) -> None:
        self.told: list[Ints] = []

    def predict_given(self, data: LearningSet, measured: Ints) -> Floats:
        self.told.append(measured)
        return self.sign * np.minimum(data.programs.costs, 1e6)


class NoOrder:
    """Gives every program the same score."""

    def predict_given(self, data: LearningSet, measured: Ints) -> Floats:
        return np.zeros(len(data))


def smooth_set(seed: int = 0) -> LearningSet:
    """Six tasks whose costs have an optimum in the middle of two features."""
    generator = np.random.default_rng(seed)
    rows = generator.uniform(-1, 1, (6 * 60, 2)).astype(np.float32)
    costs = 1e-3 * np.exp(3 * (rows**2).sum(axis=1))
    tasks = np.repeat(np.arange(6), 60)
    return tabular_set(
        ["x", "y"], rows, costs, tasks, [LearningTask(f"task {n}") for n in range(6)]
    )


@pytest.mark.parametrize("strategy", Strategy)
def test_who_knows_the_costs_picks_the_best(strategy: Strategy) -> None:
    for point in few_shot_curve(KnowsAll(), smooth_set(), COUNTS, strategy):
        assert point.reached.tolist() == [1.0] * 6
        assert point.picked.tolist() == [1.0] * 6


def test_measuring_at_random_reaches_more_but_picks_no_better_without_learning() -> None:
    points = few_shot_curve(RandomOrder(), smooth_set(), COUNTS, seeds=range(5))
    means = [point.reached.mean() for point in points]
    assert means == sorted(means)
    assert means[-1] > 2 * means[0]
    assert points[-1].picked.mean() < 1.5 * points[0].picked.mean()


def test_random_choices_are_nested_and_the_same_for_every_model() -> None:
    one, other = KnowsAll(), KnowsAll(sign=1.0)
    for model in (one, other):
        few_shot_curve(model, smooth_set(), COUNTS, seeds=(3,))
    assert [told.tolist() for told in one.told] == [told.tolist() for told in other.told]
    assert [told.size for told in one.told] == [6 * count for count in COUNTS]
    assert set(one.told[1]) <= set(one.told[2]) <= set(one.told[3])


def test_a_greedy_choice_is_what_the_model_puts_first() -> None:
    data, model = smooth_set(), KnowsAll()
    few_shot_curve(model, data, COUNTS, Strategy.GREEDY)
    for rows, known in split_by_task(data, model.told[-1]):
        slowest = np.sort(data.programs.costs[rows])[15]
        assert known.size == 16
        assert (data.programs.costs[known] <= slowest).all()


def test_a_pick_that_fails_counts_nothing_but_what_was_measured_stays() -> None:
    rows = np.zeros((4, 1), np.float32)
    data = tabular_set(["x"], rows, [np.inf, 1.0, 2.0, np.inf], [0] * 4, [LearningTask("t")])
    worst = KnowsAll(sign=1.0)
    (start,) = few_shot_curve(worst, data, (0,))
    assert (start.reached.tolist(), start.picked.tolist()) == ([0.0], [0.0])
    greedy = few_shot_curve(worst, data, (0, 3), Strategy.GREEDY)[1]
    assert (greedy.reached.tolist(), greedy.picked.tolist()) == ([1.0], [1.0])


@pytest.mark.parametrize(
    ("counts", "why"), [((), "grow"), ((4, 1), "grow"), ((-1, 2), "grow"), ((0, 60), "60 programs")]
)
def test_numbers_that_make_no_curve_are_refused(counts: tuple[int, ...], why: str) -> None:
    with pytest.raises(LearnError, match=why):
        few_shot_curve(KnowsAll(), smooth_set(), counts)


def test_small_tasks_are_left_out() -> None:
    data = smooth_set().take(np.arange(100))
    assert [task.name for task in tasks_with_more(data, 40).tasks] == ["task 0"]
    with pytest.raises(LearnError, match="more than 60"):
        tasks_with_more(data, 60)


def test_models_are_compared_in_pairs() -> None:
    curves = {
        "one": [FewShotPoint(0, np.array([0.5, 0.9]), np.array([0.4, 0.8]))],
        "base": [FewShotPoint(0, np.array([0.4, 0.8]), np.array([0.4, 0.8]))],
    }
    one, base = compare_curves(curves, "base")
    assert (one.model, one.measured) == ("one", 0)
    assert one.reached.value == pytest.approx(0.7)
    assert one.reached_over.value == pytest.approx(0.1)
    assert one.reached_over.is_better
    assert (one.picked_over.value, base.reached_over.value) == (0.0, 0.0)
    text = format_comparisons([one, base], "base")
    assert text.splitlines()[2].startswith("| one | 0 | 0.7000 (0.5000 … 0.9000) | +0.1000")


ADAPTING = [
    RandomOrder(),
    NearestNeighbour(),
    TaskTrees(),
    ResidualTrees(NoOrder()),
    ResidualProcess(NoOrder()),
]


@pytest.mark.parametrize("model", ADAPTING, ids=lambda model: type(model).__name__)
def test_costs_that_were_not_measured_are_not_looked_at(model: Adapts) -> None:
    pytest.importorskip("lightgbm")
    data = easy_set(tasks=3)
    measured = np.concatenate([rows[:9] for rows in data.programs.rows()])
    costs = np.random.default_rng(0).uniform(1, 2, len(data))
    costs[measured] = data.programs.costs[measured]
    other = replace(data, programs=TaskCosts.of(costs, data.programs.tasks))
    before, after = model.predict_given(data, measured), model.predict_given(other, measured)
    np.testing.assert_array_equal(before, after)
    assert np.isfinite(before).all()


@pytest.mark.parametrize("model", ADAPTING[1:], ids=lambda model: type(model).__name__)
def test_measurements_lead_to_better_picks(model: Adapts) -> None:
    pytest.importorskip("lightgbm")
    data = smooth_set()
    chance = few_shot_curve(RandomOrder(), data, (0, 32), seeds=range(3))[1]
    assert few_shot_curve(model, data, (0, 32), seeds=range(3))[1].picked.mean() > (
        chance.picked.mean() + 0.2
    )


def test_with_nothing_measured_the_first_order_stays() -> None:
    data = easy_set(tasks=2)
    nothing = np.zeros(0, np.int64)
    for model in (ResidualTrees(KnowsAll()), ResidualProcess(KnowsAll())):
        np.testing.assert_array_equal(
            model.predict_given(data, nothing), KnowsAll().predict_given(data, nothing)
        )


def test_failures_alone_teach_nothing() -> None:
    data = smooth_set()
    costs = data.programs.costs.copy()
    costs[:5] = np.inf
    failing = replace(data, programs=TaskCosts.of(costs, data.programs.tasks))
    scores = ResidualProcess(NoOrder()).predict_given(failing, np.arange(5))
    assert scores.tolist() == [0.0] * len(data)


def test_a_gaussian_process_goes_through_what_has_no_noise() -> None:
    given = np.linspace(0, 3, 12)[:, None]
    found = gaussian_process(given, np.sin(2 * given[:, 0]), np.array([[0.4], [1.6], [2.2]]))
    np.testing.assert_allclose(found, np.sin([0.8, 3.2, 4.4]), atol=0.05)
