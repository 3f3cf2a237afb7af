"""Sets in two: by which rule, and that nothing is on both sides."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from graph_net.learn.learning_set import LearnError
from graph_net.learn.measured_set import MeasuredSet
from graph_net.learn.read_set import read_set
from graph_net.learn.set_split import (
    ChosenSplit,
    part_of_tasks,
    split_set,
    splits_at,
)
from graph_net.programs.dataset.splits import DatasetSplits
from learn.some_records import EACH, TESTED, data_set, records


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return data_set(tmp_path_factory.mktemp("split") / "set")


@pytest.fixture(scope="module")
def measured(place: Path) -> MeasuredSet:
    return read_set(place)


@pytest.fixture(scope="module")
def splits(place: Path) -> DatasetSplits:
    return splits_at(place)


def graphs(measured: MeasuredSet) -> set[str]:
    return {task.graph for task in measured.data.tasks}


def test_by_network_held_out_networks_alone_are_judged_on(
    measured: MeasuredSet, splits: DatasetSplits
) -> None:
    train, test = split_set(measured, splits, ChosenSplit.parse("network"))
    assert graphs(test) == {"graph1", "graph4", "graph7"}
    assert len(graphs(train)) == 6
    assert set(test.data.weights) == {TESTED}


def test_within_a_task_no_program_is_on_both_sides(
    measured: MeasuredSet, splits: DatasetSplits
) -> None:
    train, test = split_set(measured, splits, ChosenSplit.parse("within_task"))
    assert not set(train.programs.tolist()) & set(test.programs.tolist())
    assert train.data.tasks == test.data.tasks
    assert (test.programs % 5 == 0).all()


def test_by_platform_the_others_are_for_training(
    measured: MeasuredSet, splits: DatasetSplits
) -> None:
    train, test = split_set(measured, splits, ChosenSplit.parse("platform:second"))
    assert {task.platform for task in train.data.tasks} == {"first"}
    assert {task.platform for task in test.data.tasks} == {"second"}
    assert graphs(train) == graphs(test)


def test_a_new_platform_can_be_judged_on_new_tasks_alone(
    measured: MeasuredSet, splits: DatasetSplits
) -> None:
    train, test = split_set(measured, splits, ChosenSplit.parse("platform:second+network"))
    assert {task.platform for task in train.data.tasks} == {"first"}
    assert {task.platform for task in test.data.tasks} == {"second"}
    assert graphs(test) == {"graph1", "graph4", "graph7"}
    assert not graphs(train) & graphs(test)


def test_by_task_equal_graphs_of_two_platforms_are_on_one_side(
    measured: MeasuredSet, splits: DatasetSplits
) -> None:
    train, test = split_set(measured, splits, ChosenSplit.parse("task"))
    assert not graphs(train) & graphs(test)
    for side in (train, test):
        names = [(task.graph, task.platform) for task in side.data.tasks]
        assert len(names) == 2 * len({graph for graph, _ in names})


def test_a_directory_of_records_is_split_by_the_same_rules(tmp_path: Path, place: Path) -> None:
    alone = records(tmp_path / "records")
    _, test = split_set(read_set(alone), splits_at(alone), ChosenSplit.parse("task"))
    _, both = split_set(read_set(place), splits_at(place), ChosenSplit.parse("task"))
    assert graphs(test) == graphs(both)


def test_published_splits_that_leak_are_refused(
    measured: MeasuredSet, splits: DatasetSplits
) -> None:
    leaking = replace(splits, test={"network": {"first": splits.test["network"]["first"]}})
    with pytest.raises(LearnError, match=r"has 3 graphs on both sides, such as graph1: .* anew"):
        split_set(measured, leaking, ChosenSplit.parse("network"))


def test_a_split_that_leaves_nothing_is_told(measured: MeasuredSet, splits: DatasetSplits) -> None:
    empty = replace(splits, test={})
    with pytest.raises(LearnError, match="leaves nothing to judge on"):
        split_set(measured, empty, ChosenSplit.parse("operators"))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("colour", "unknown split 'colour'; available: network, task"),
        ("platform", "write the split 'platform' as platform:NAME"),
        ("task:h200", "write the split 'task:h200' as task"),
        ("task+network", r"write the split 'task\+network' as task"),
        ("platform:h200+luck", r"unknown split 'platform:h200\+luck'"),
    ],
)
def test_a_split_that_is_none_is_told(text: str, why: str) -> None:
    with pytest.raises(LearnError, match=why):
        ChosenSplit.parse(text)


@pytest.mark.parametrize("text", ["network", "platform:h200", "platform:h200+task"])
def test_a_split_is_written_as_it_was_read(text: str) -> None:
    assert str(ChosenSplit.parse(text)) == text


def test_a_platform_that_is_not_there_is_told(measured: MeasuredSet, splits: DatasetSplits) -> None:
    with pytest.raises(LearnError, match="no platform 'third' here; there are: first, second"):
        split_set(measured, splits, ChosenSplit.parse("platform:third"))


def test_a_part_set_aside_has_graphs_of_its_own(measured: MeasuredSet) -> None:
    rest, aside = part_of_tasks(measured, 0.3)
    assert not graphs(rest) & graphs(aside)
    assert len(rest.data) + len(aside.data) == len(measured.data) == 18 * EACH
    assert np.isfinite(aside.data.rows).all()


def test_a_part_that_is_nothing_is_told(measured: MeasuredSet) -> None:
    with pytest.raises(LearnError, match="too few"):
        part_of_tasks(measured, 1e-6)
