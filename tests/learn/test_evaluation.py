"""Scores of a model beside what they compare with."""

from __future__ import annotations

import numpy as np
import pytest

from graph_net.learn.evaluation import bootstrap, compare_scores, evaluate_scores
from graph_net.learn.label_scale import LabelScale
from graph_net.learn.measured_set import MeasuredSet
from graph_net.learn.metrics import (
    TaskCosts,
    best_over_picked,
    mape,
    pairwise_accuracy,
    r_squared,
    random_best_over_picked,
    rmse,
    top_k,
)
from graph_net.learn.ranked_tasks import RepeatedCosts, TaskRatio, rank_at_random, slowest_by_task
from graph_net.testing.cost_model import easy_set


def measured(noise: float = 0.02, every: int = 3) -> MeasuredSet:
    """An easy set, some programs of which were measured twice."""
    data = easy_set()
    generator = np.random.default_rng(3)
    again = data.programs.costs * np.exp(noise * generator.normal(size=len(data)))
    again[np.arange(len(data)) % every != 0] = np.nan
    programs = np.arange(len(data)).astype(np.uint64)
    return MeasuredSet(data, programs, RepeatedCosts.of(data.programs.costs, again), "easy")


SET = measured()
PROGRAMS = SET.data.programs
SCORES = PROGRAMS.labels + 0.2 * np.random.default_rng(1).normal(size=len(SET.data))
SCALE = LabelScale.fit(PROGRAMS, SCORES)


def test_scores_are_those_of_the_metrics() -> None:
    found = evaluate_scores(SET, SCORES, SCALE)
    labels = SCALE.predict(PROGRAMS, SCORES)
    assert found.score("RMSE").value == pytest.approx(rmse(PROGRAMS, labels))
    assert found.score("R²").value == pytest.approx(r_squared(PROGRAMS, labels))
    assert found.score("MAPE").value == pytest.approx(mape(PROGRAMS, labels))
    accuracy = pairwise_accuracy(PROGRAMS, SCORES)
    assert found.score("pairwise accuracy").value == pytest.approx(accuracy)
    for k in (1, 5):
        ratios = best_over_picked(PROGRAMS, SCORES, k)
        assert found.score(f"best/picked at {k}").value == pytest.approx(ratios.mean())
        wanted = top_k(PROGRAMS, PROGRAMS.least_of_first(SCORES, k), SET.data.weights)
        assert found.score(f"top-{k}, pooled").value == pytest.approx(wanted.pooled)
        assert found.score(f"top-{k}, mean of networks").value == pytest.approx(wanted.mean)
        assert found.networks["net"][f"top-{k}"] == pytest.approx(wanted.networks["net"])


def test_every_score_lies_in_its_interval_and_between_chance_and_the_best() -> None:
    for score in evaluate_scores(SET, SCORES, SCALE).scores:
        assert score.low <= score.value <= score.high
        worst, best = sorted([score.random, score.best])
        assert worst < score.value < best
        assert score.ceiling is not None
        assert abs(score.best - score.ceiling) < abs(score.best - score.random) / 3


def test_a_perfect_ranking_is_the_best_possible() -> None:
    found = evaluate_scores(SET, PROGRAMS.labels)
    assert all(score.value == pytest.approx(score.best) for score in found.scores)
    assert found.score("top-1, pooled").best == 1


def test_the_random_ranking_is_what_random_scores_come_to() -> None:
    generator = np.random.default_rng(0)
    draws = [evaluate_scores(SET, generator.normal(size=len(SET.data))) for _ in range(60)]
    for name in ("best/picked at 1", "best/picked at 5", "pairwise accuracy"):
        values = [one.score(name).value for one in draws]
        assert np.mean(values) == pytest.approx(draws[0].score(name).random, abs=0.02)
    wanted = random_best_over_picked(PROGRAMS, 5).mean()
    assert draws[0].score("best/picked at 5").random == pytest.approx(wanted)


def test_more_noise_lowers_the_ceiling() -> None:
    ceilings = [
        evaluate_scores(measured(noise), SCORES).score("best/picked at 1").ceiling
        for noise in (0.001, 0.1, 0.5)
    ]
    assert None not in ceilings
    assert ceilings == sorted(ceilings, reverse=True)  # type: ignore[type-var]
    assert ceilings[0] == pytest.approx(1, abs=0.01)


def test_the_noise_of_a_program_is_that_of_programs_that_take_as_long() -> None:
    """Those of a second repeat to a part in a million, those of a microsecond do not."""
    costs = np.concatenate([np.full(40, 1e-6), np.full(40, 1.0)])
    noise = np.concatenate([np.full(40, 0.5), np.full(40, 1e-6)])
    repeated = RepeatedCosts.of(costs, costs * np.exp(noise))
    again = repeated.draw(np.array([1e-6, 1.0, 5.0]), np.random.default_rng(0))
    assert abs(np.log(again[0] / 1e-6)) == pytest.approx(0.5)
    assert again[1:] == pytest.approx([1.0, 5.0], rel=1e-5)


def test_too_few_second_measurements_are_no_ceiling() -> None:
    found = evaluate_scores(measured(every=100), SCORES)
    assert 0 < found.pairs < 20
    assert found.score("best/picked at 1").ceiling is None


def test_a_ranking_without_a_scale_has_no_errors() -> None:
    names = {score.metric for score in evaluate_scores(SET, SCORES).scores}
    assert "pairwise accuracy" in names
    assert not names & {"RMSE", "R²", "MAPE"}


def test_operators_have_their_own_scores() -> None:
    (kind,) = evaluate_scores(SET, SCORES).kinds
    assert (kind.kind, kind.tasks) == ("matmul", 12)
    assert [score.metric for score in kind.scores] == ["best/picked at 1", "best/picked at 5"]


def test_effective_tasks_are_at_most_the_tasks() -> None:
    found = evaluate_scores(SET, SCORES)
    assert 1 <= found.effective_tasks <= found.tasks == 12


def test_intervals_are_as_wide_as_tasks_differ() -> None:
    values = np.random.default_rng(5).normal(0.8, 0.1, (1, 400))
    low, high = bootstrap(TaskRatio(values, np.ones_like(values)))
    assert high - low == pytest.approx(2 * 1.96 * values.std() / 20, rel=0.1)
    same = TaskRatio(np.full((1, 9), 0.5), np.ones((1, 9)))
    assert bootstrap(same) == (0.5, 0.5)


def test_a_single_task_has_no_interval() -> None:
    assert bootstrap(TaskRatio(np.ones((1, 1)), np.ones((1, 1)))) == (-np.inf, np.inf)


def test_a_pick_that_failed_counts_as_the_slowest_that_ran() -> None:
    programs = TaskCosts.of([1.0, 4.0, np.inf], [0, 0, 0])
    assert slowest_by_task(programs).tolist() == [4.0]
    assert rank_at_random(programs, 0).picked[1].tolist() == [3.0]


def test_a_better_model_is_told_from_a_worse_one_by_pairs() -> None:
    found = compare_scores(SET.data, PROGRAMS.labels, -PROGRAMS.labels)
    overall, by_kind = found.differences[1]
    assert overall.is_better
    assert (by_kind.kind, by_kind.value) == ("matmul", overall.value)
    assert not compare_scores(SET.data, SCORES, SCORES).differences[1][0].is_better


def test_a_scale_falls_with_the_distance_to_the_best_score() -> None:
    assert list(SCALE.labels) == sorted(SCALE.labels, reverse=True)
    assert list(SCALE.behind) == sorted(SCALE.behind)
    assert len(SCALE.labels) <= 64
    assert LabelScale.fit(PROGRAMS, 7 * SCORES + 3).predict(
        PROGRAMS, 7 * SCORES + 3
    ) == pytest.approx(SCALE.predict(PROGRAMS, SCORES))


@pytest.mark.parametrize(
    ("behind", "labels"), [((), ()), ((0.0,), (1.0, 0.5)), ((1.0, 0.0), (1.0, 0.5))]
)
def test_a_scale_that_is_none_is_refused(
    behind: tuple[float, ...], labels: tuple[float, ...]
) -> None:
    with pytest.raises(ValueError, match="scale"):
        LabelScale(behind, labels)


def test_a_scale_of_labels_themselves_is_nearly_exact() -> None:
    scale = LabelScale.fit(PROGRAMS, PROGRAMS.labels)
    assert rmse(PROGRAMS, scale.predict(PROGRAMS, PROGRAMS.labels)) < 0.02
