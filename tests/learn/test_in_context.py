"""The in-context ranker: what it learns from the programs measured, and what it never looks at."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

pytest.importorskip("safetensors")

from graph_net.learn.cost_model import save_model
from graph_net.learn.in_context import InContext
from graph_net.learn.in_context_episodes import ABSENT, Episodes, EpisodeShape, join_by_dialect
from graph_net.learn.in_context_files import read_sets, write_sets
from graph_net.learn.in_context_network import DialectSize, InContextNetwork, MeasuredPrograms
from graph_net.learn.in_context_stacked import StackedInContext, out_of_fold_scores, with_prior
from graph_net.learn.learning_set import LearnError, LearningSet, LearningTask, tabular_set
from graph_net.learn.metrics import Ints, TaskCosts, best_over_picked
from graph_net.learn.model_registry import load_model
from graph_net.learn.trees import LightGbm
from graph_net.testing.cost_model import check_cost_model, easy_set

SMALL = {
    "steps": 60,
    "width": 16,
    "heads": 2,
    "layers": 1,
    "rate": 5e-3,
    "dropout": 0.0,
    "measured_of_task": 16,
    "threads": 1,
}


def two_sided(tasks: int, seed: int) -> LearningSet:
    """Tasks of two sorts, whose features are alike: what makes one fast makes the other slow."""
    generator = np.random.default_rng(seed)
    rows = generator.uniform(-1, 1, (tasks * 32, 2)).astype(np.float32)
    index = np.repeat(np.arange(tasks), 32)
    sides = generator.permutation(tasks) % 2 * 2 - 1
    costs = 1e-3 * np.exp(sides[index] * rows[:, 0])
    described = [LearningTask(f"task {task} of {seed}") for task in range(tasks)]
    return tabular_set(["side", "noise"], rows, costs, index, described)


def first_of_each(data: LearningSet, count: int) -> Ints:
    return np.concatenate([rows[:count] for rows in data.programs.rows()])


@pytest.fixture(scope="module")
def taught() -> InContext:
    model = InContext({**SMALL, "steps": 250, "tasks_of_episode": 8}, seed=1)
    model.fit(two_sided(24, seed=0))
    return model


def test_it_passes_the_kit() -> None:
    check_cost_model(InContext, SMALL)


def test_stacked_on_trees_it_passes_the_kit() -> None:
    pytest.importorskip("lightgbm")
    check_cost_model(StackedInContext, {**SMALL, "rounds": 40, "folds": 3})


def test_measured_programs_tell_what_features_cannot(taught: InContext) -> None:
    unseen = two_sided(16, seed=5)
    blind = best_over_picked(unseen.programs, taught.predict(unseen)).mean()
    given = taught.predict_given(unseen, first_of_each(unseen, 8))
    assert blind < 0.75
    assert best_over_picked(unseen.programs, given).mean() > 0.9


def test_the_order_of_the_measured_has_no_effect() -> None:
    """Neither on the network, nor where absent programs stand between them."""
    torch.manual_seed(0)
    network = InContextNetwork([DialectSize(3)], width=16, heads=2, layers=2, bins=4, dropout=0.0)
    programs = network.encode(0, torch.randn(12, 3), torch.ones(12, dtype=torch.int64))
    costs = torch.tensor([0.3, -1.0, torch.inf, 2.0, 0.1, 0.0, 0.0])
    present = torch.tensor([True] * 5 + [False] * 2)
    asked = programs.gather(torch.arange(7, 12)[None])
    scores = []
    for order in (torch.arange(7), torch.tensor([6, 4, 2, 0, 5, 3, 1])):
        measured = MeasuredPrograms(
            programs.gather(order[None]), costs[order][None], present[order][None]
        )
        scores.append(network(measured, asked))
    torch.testing.assert_close(scores[0], scores[1])
    fewer = MeasuredPrograms(
        programs.gather(torch.arange(4)[None]), costs[None, :4], present[None, :4]
    )
    assert not torch.allclose(network(fewer, asked), scores[0])


def test_programs_may_be_given_in_any_order(taught: InContext) -> None:
    data = two_sided(4, seed=2)
    measured = first_of_each(data, 9)
    moved = np.random.default_rng(1).permutation(len(data))
    again = taught.predict_given(data.take(moved), np.argsort(moved)[measured])
    np.testing.assert_allclose(
        again, taught.predict_given(data, measured)[moved], rtol=1e-4, atol=1e-5
    )


def test_programs_to_rank_do_not_see_each_other(taught: InContext) -> None:
    data = two_sided(1, seed=3)
    whole = taught.predict_given(data, np.arange(6))
    few = taught.predict_given(data.take(np.arange(10)), np.arange(6))
    np.testing.assert_allclose(few, whole[:10], rtol=1e-4, atol=1e-5)


def test_only_costs_of_measured_programs_of_the_task_are_looked_at(taught: InContext) -> None:
    data = two_sided(3, seed=4)
    measured = first_of_each(data, 5)
    before = taught.predict_given(data, measured)
    costs = np.random.default_rng(0).uniform(1, 2, len(data))
    costs[measured] = data.programs.costs[measured]
    costs[data.programs.tasks == 0] = 7.0
    other = replace(data, programs=TaskCosts.of(costs, data.programs.tasks))
    after = taught.predict_given(other, measured)
    untouched = data.programs.tasks > 0
    np.testing.assert_array_equal(after[untouched], before[untouched])
    assert not np.allclose(after[~untouched], before[~untouched])


def test_the_unit_of_costs_has_no_effect(taught: InContext) -> None:
    data = two_sided(2, seed=6)
    slower = replace(data, programs=TaskCosts.of(data.programs.costs * 1000, data.programs.tasks))
    measured = first_of_each(data, 7)
    np.testing.assert_allclose(
        taught.predict_given(slower, measured),
        taught.predict_given(data, measured),
        rtol=1e-3,
        atol=1e-4,
    )


@pytest.mark.parametrize("failed", [1, 6])
def test_failures_among_the_measured_break_nothing(taught: InContext, failed: int) -> None:
    data = two_sided(1, seed=7)
    costs = data.programs.costs.copy()
    costs[:failed] = np.inf
    data = replace(data, programs=TaskCosts.of(costs, data.programs.tasks))
    assert np.isfinite(taught.predict_given(data, np.arange(6))).all()


def test_of_more_measured_than_trained_with_the_fastest_count(taught: InContext) -> None:
    data = two_sided(1, seed=8)
    fastest = np.argsort(data.programs.costs)[:16]
    np.testing.assert_allclose(
        taught.predict_given(data, np.arange(32)), taught.predict_given(data, fastest), rtol=1e-5
    )


def test_sets_of_several_dialects_teach_one_model(tmp_path: Path) -> None:
    pairs = two_sided(8, seed=0)
    model = InContext(SMALL)
    model.fit_sets([easy_set(), pairs, easy_set(seed=2)])
    assert model.learned().tasks == 24
    save_model(model, tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert isinstance(again, InContext)
    for data in (easy_set(seed=3), pairs):
        measured = first_of_each(data, 3)
        np.testing.assert_allclose(
            again.predict_given(data, measured), model.predict_given(data, measured), rtol=1e-5
        )
    with pytest.raises(LearnError, match="asked about 2 features"):
        model.predict(replace(pairs, columns=("other", "columns")))


def test_programs_of_several_rows_are_summed() -> None:
    data = easy_set(tasks=4)
    twice = replace(data, rows=np.repeat(data.rows, 2, axis=0), starts=2 * np.arange(len(data) + 1))
    model = InContext({**SMALL, "steps": 5})
    model.fit(twice)
    assert model.predict(twice).shape == (len(data),)


def test_an_episode_measures_some_and_ranks_others() -> None:
    data, shape = easy_set(), EpisodeShape(tasks=5, measured=16, ranked=8)
    counts = set()
    for episode in Episodes([data], shape, seed=0).draw(60):
        assert len(np.unique(episode.programs)) == len(episode.programs)
        assert episode.ranked.shape == (5, 8)
        for measured, ranked in zip(episode.measured, episode.ranked, strict=True):
            places = np.concatenate([measured[measured != ABSENT], ranked])
            assert len(np.unique(data.programs.tasks[episode.programs[places]])) == 1
            counts.add(int((measured != ABSENT).sum()))
    assert {0, 1, 2, 16} <= counts
    assert max(counts) == 16


def test_sets_of_equal_columns_are_one() -> None:
    one, other, pairs = easy_set(), easy_set(seed=1), two_sided(2, seed=0)
    first, second = join_by_dialect([one, pairs, other])
    assert len(first) == len(one) + len(other)
    assert second is not pairs
    assert second.tasks == pairs.tasks
    np.testing.assert_array_equal(first.select(list(range(12, 24))).rows, other.rows)


def test_stored_sets_come_back_equal(tmp_path: Path) -> None:
    sets = {"easy": easy_set(), "h200/train": two_sided(3, seed=1)}
    write_sets(tmp_path / "sets.npz", sets)
    again = read_sets(tmp_path / "sets.npz")
    assert list(again) == list(sets)
    for name, data in sets.items():
        assert (again[name].columns, again[name].tasks) == (data.columns, data.tasks)
        np.testing.assert_array_equal(again[name].rows, data.rows)
        np.testing.assert_array_equal(again[name].programs.costs, data.programs.costs)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\x80\x04."])
def test_a_file_without_sets_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "sets.npz").write_bytes(content)
    with pytest.raises(LearnError, match="holds no sets"):
        read_sets(tmp_path / "sets.npz")


def test_dialects_that_do_not_fit_the_weights_are_refused(
    taught: InContext, tmp_path: Path
) -> None:
    save_model(taught, tmp_path / "model")
    file = tmp_path / "model" / "dialects.json"
    tree = json.loads(file.read_text())
    tree["domains"][0]["columns"].append("third")
    file.write_text(json.dumps(tree))
    with pytest.raises(LearnError, match="does not fit"):
        load_model(tmp_path / "model")


def test_heads_divide_the_width() -> None:
    with pytest.raises(LearnError, match="not a multiple of the heads"):
        InContext({"width": 10, "heads": 4}).fit(easy_set())


def test_trees_score_no_task_that_they_learned_from() -> None:
    """Costs are noise, which trees remember but cannot know."""
    pytest.importorskip("lightgbm")
    data = easy_set()
    costs = np.random.default_rng(0).uniform(1, 2, len(data))
    noise = replace(data, programs=TaskCosts.of(costs, data.programs.tasks))
    inside = LightGbm({"rounds": 200, "least_in_leaf": 2})
    inside.fit(noise)
    logs = np.log(noise.programs.labels)
    outside = out_of_fold_scores(noise, rounds=200, folds=4, seed=0)
    assert np.corrcoef(inside.predict(noise), logs)[0, 1] > 0.8
    assert abs(np.corrcoef(outside, logs)[0, 1]) < 0.2


def test_parts_trained_apart_make_one_model(tmp_path: Path) -> None:
    pytest.importorskip("lightgbm")
    data = easy_set()
    trees, ranker = LightGbm({"rounds": 20}), InContext({**SMALL, "steps": 5})
    trees.fit(data)
    wider = with_prior(data, trees.predict(data))
    ranker.fit(wider)
    model = StackedInContext(ranker.settings)
    model.assemble([trees], ranker)
    save_model(model, tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert isinstance(again, StackedInContext)
    measured = first_of_each(data, 4)
    np.testing.assert_allclose(
        again.predict_given(data, measured), ranker.predict_given(wider, measured), rtol=1e-5
    )


def test_a_prior_is_one_more_column_of_every_row() -> None:
    data = easy_set(tasks=2)
    wider = with_prior(data, np.arange(len(data), dtype=np.float64))
    assert wider.columns == (*data.columns, "prior.score")
    assert wider.rows[:, -1].tolist() == list(range(len(data)))
