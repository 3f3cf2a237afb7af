"""Models of configurations keep to the protocol, and learn what they are for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from configs.small_graphs import layout_arrays, tile_arrays, write_npz
from graph_net.api.learn import evaluate, learn
from graph_net.learn.additive import Additive
from graph_net.learn.config_split import fold_configs, split_configs
from graph_net.learn.cost_levels import CostLevels, noise_of, normal_scores
from graph_net.learn.layout_levels import LayoutLevels
from graph_net.learn.learning_set import LearnError
from graph_net.learn.metrics import TaskCosts
from graph_net.learn.rank_metrics import tau_by_task
from graph_net.learn.read_configs import read_configs
from graph_net.learn.tile_cost import PICKS, TileCost, put_picks_first
from graph_net.testing.config_set import config_set, easy_layouts, easy_tiles
from graph_net.testing.cost_model import check_cost_model, easy_set
from real_files import SLICES

UNET3D = SLICES / "tpugraphs/npz/layout/xla/default/train/unet3d.npz"
KERNELS = SLICES / "tpugraphs/pb/op_tuning_data.pb"


def test_the_additive_model_keeps_to_the_protocol() -> None:
    check_cost_model(Additive, data=config_set([easy_layouts("a"), easy_layouts("b", 1)]))


def test_levels_and_places_keep_to_the_protocol() -> None:
    pytest.importorskip("lightgbm", reason="needs lightgbm")
    check_cost_model(LayoutLevels, data=config_set([easy_layouts("a", configs=24)]))


def test_the_model_of_tiles_keeps_to_the_protocol() -> None:
    data = config_set([easy_tiles("a"), easy_tiles("b", 1)])
    check_cost_model(TileCost, {"draws": 100}, data)


def test_the_second_pick_is_good_where_the_first_is_bad() -> None:
    """Two draws disagree; the tile that is second by the mean is bad under the same draw."""
    costs = np.log([[1.0, 2.0], [1.0, 2.1], [2.0, 1.0], [3.0, 3.0]])
    weights = np.array([0.6, 0.4])
    scores = -(costs @ weights)
    assert np.argsort(-scores).tolist() == [0, 1, 2, 3]
    raised = put_picks_first(scores, costs, weights)
    assert np.argsort(-raised).tolist() == [0, 2, 1, 3]
    assert raised.min() > scores.max()
    many = put_picks_first(np.arange(8.0), np.zeros((8, 2)), weights)
    assert (many == np.arange(8.0)).sum() == 8 - PICKS


def test_tiles_with_equal_scores_stay_equal() -> None:
    costs = np.zeros((4, 2))
    costs[3] = 1.0
    raised = put_picks_first(-costs.mean(axis=1), costs, np.array([0.5, 0.5]))
    assert raised[0] == raised[1] == raised[2] > raised[3]


def test_a_model_of_one_graph_says_so_when_asked_about_another() -> None:
    model = Additive()
    model.fit(config_set([easy_layouts("a")]))
    with pytest.raises(LearnError, match="has not seen b"):
        model.predict(config_set([easy_layouts("b")]))
    with pytest.raises(LearnError, match="has tiles: use tile_cost"):
        model.fit(config_set([easy_tiles("t")]))
    with pytest.raises(LearnError, match="learns from graphs"):
        model.fit(easy_set())


def test_levels_are_bands_of_cost() -> None:
    draw = np.random.default_rng(0)
    band = draw.integers(0, 3, 90)
    costs = np.array([1.0, 1.5, 4.0])[band] * np.exp(1e-6 * draw.normal(size=90))
    levels = CostLevels.of(costs, 1e-6)
    assert (levels.level == band).all()
    assert (np.diff(levels.centers) > 0).all()
    predicted = levels.join(levels.centers[band], levels.places)
    assert tau_by_task(TaskCosts.of(costs, np.zeros(90)), -predicted)[0] > 0.98


def test_noise_is_what_repeats_differ_by() -> None:
    runs = [np.array([1.0, 1.0 + 2e-6]) for _ in range(20)]
    assert noise_of(runs, np.ones(20)) == pytest.approx(1e-6, rel=0.01)
    spread = np.linspace(1, 2, 101)
    assert noise_of([np.ones(1)], spread) == pytest.approx(0.0067, rel=0.1)


def test_equal_values_have_equal_normal_scores() -> None:
    scores = normal_scores(np.array([3.0, 1.0, 3.0, 2.0]))
    assert scores[0] == scores[2] > scores[3] > scores[1] == pytest.approx(-1.15, abs=0.01)


def test_a_split_by_configuration_has_none_on_both_sides() -> None:
    measured = read_configs(UNET3D)
    train, test = split_configs(measured, "within_task")
    assert len(train.data) + len(test.data) == 98
    assert not set(train.programs.tolist()) & set(test.programs.tolist())
    folds = [fold_configs(measured, fold, seed=3)[1].programs for fold in range(5)]
    assert sorted(np.concatenate(folds).tolist()) == sorted(measured.programs.tolist())


def test_what_cannot_be_learned_from_is_named(tmp_path: Path) -> None:
    withheld = layout_arrays() | {"config_runtime": np.zeros(24, np.int64)}
    path = write_npz(tmp_path / "a.npz", withheld)
    with pytest.raises(LearnError, match="no graph with run times"):
        read_configs(path)
    write_npz(tmp_path / "b.npz", layout_arrays())
    write_npz(tmp_path / "c.npz", tile_arrays())
    with pytest.raises(LearnError, match="layouts and tiles"):
        read_configs(tmp_path)
    with pytest.raises(LearnError, match="unknown split 'network'"):
        split_configs(read_configs(tmp_path / "b.npz"), "network")


def test_the_folders_of_a_collection_are_a_split(tmp_path: Path) -> None:
    for split in ("train", "valid"):
        path = tmp_path / f"npz/layout/xla/random/{split}/{split}.npz"
        write_npz(path, layout_arrays(seed=len(split)))
    measured = read_configs(tmp_path)
    train, test = split_configs(measured, "files")
    assert [task.name[-5:] for task in train.data.tasks] == ["train"]
    assert [task.name[-5:] for task in test.data.tasks] == ["valid"]
    left, other = split_configs(measured, "leave:train")
    assert (left.data.tasks, other.data.tasks) == (test.data.tasks, train.data.tasks)


def test_learned_from_a_file_it_is_judged_beside_its_ceiling(tmp_path: Path) -> None:
    learned = learn(UNET3D, "additive", split="within_task", output=tmp_path / "m", progress=False)
    assert learned.evaluation is not None
    tau = learned.evaluation.score("Kendall τ")
    assert tau.random == 0.0
    assert tau.ceiling is not None
    assert tau.value < tau.ceiling < 1
    judged = evaluate(tmp_path / "m", UNET3D, progress=False)
    assert judged.evaluation.score("Kendall τ").value == pytest.approx(tau.value)
    assert judged.doubts == ()


def test_tiles_are_learned_from_kernels_that_were_measured() -> None:
    split = "leave:fusion.232_579e7b2c540f0929"
    learned = learn(KERNELS, "tile_cost[draws=200]", split=split, progress=False)
    assert learned.evaluation is not None
    slow = learned.evaluation.score("slowdown@5")
    assert slow.value < slow.random
