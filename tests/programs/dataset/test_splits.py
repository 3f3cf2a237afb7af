"""Splits: what each rule promises, on any tasks and on those that are shipped."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_net.programs.dataset.splits import (
    BY_TASK,
    RULES,
    SPLITS,
    SplitRule,
    graph_key,
    is_held_out,
    is_tested_program,
    load_splits,
    make_splits,
    save_splits,
    structure_key,
)
from graph_net.programs.dataset.stats import count
from graph_net.programs.formats import ReadError
from graph_net.programs.view.overview import TaskSummary

SHIPPED = Path(__file__).parents[3] / "dataset" / "programs"
HELD, TRAINED = "tenset/resnet50-1x224", "tenset/vgg-1x224"


def a_task(
    name: str, graph: str = "", structure: str = "", networks: Sequence[str] = ()
) -> TaskSummary:
    said = ("triton", f"w{name}", f"kernel{name}", "", "", "")
    weights = dict.fromkeys(networks, 1)
    return TaskSummary(name, *said, 2, 0, 1.0, 1.0, 1.0, weights, 0.0, structure, graph)


@st.composite
def platforms_of_tasks(draw: st.DrawFn) -> dict[str, list[TaskSummary]]:
    """Two platforms that have some graphs in common; a graph has one structure, or neither."""
    platforms: dict[str, list[TaskSummary]] = {"a": [], "b": []}
    for number in range(draw(st.integers(0, 24))):
        graph = draw(st.integers(0, 9))
        known = draw(st.booleans())
        networks = draw(st.lists(st.sampled_from([HELD, TRAINED]), max_size=2))
        task = a_task(
            f"{number:03}",
            f"graph{graph}" if known else "",
            f"structure{graph % 4}" if known else "",
            networks,
        )
        platforms[draw(st.sampled_from("ab"))].append(task)
    return platforms


def sides(
    platforms: Mapping[str, Sequence[TaskSummary]], rule: SplitRule
) -> tuple[list[TaskSummary], list[TaskSummary]]:
    """The tasks of all platforms to train on, and those to test with."""
    splits = make_splits(platforms)
    pair: tuple[list[TaskSummary], list[TaskSummary]] = ([], [])
    for name, tasks in platforms.items():
        tested = splits.tested(rule, name)
        for task in tasks:
            pair[task.task in tested].append(task)
    return pair


@pytest.mark.parametrize("rule", BY_TASK)
@given(platforms=platforms_of_tasks())
def test_no_graph_is_on_both_sides_whatever_the_platform(
    rule: SplitRule, platforms: dict[str, list[TaskSummary]]
) -> None:
    train, test = sides(platforms, rule)
    assert not {graph_key(task) for task in train} & {graph_key(task) for task in test}


@given(platforms=platforms_of_tasks())
def test_an_operator_to_test_with_never_occurs_in_training(
    platforms: dict[str, list[TaskSummary]],
) -> None:
    train, test = sides(platforms, SplitRule.OPERATORS)
    assert not {structure_key(task) for task in train} & {structure_key(task) for task in test}


@given(platforms=platforms_of_tasks())
def test_every_task_of_a_held_out_network_is_for_testing(
    platforms: dict[str, list[TaskSummary]],
) -> None:
    train, _ = sides(platforms, SplitRule.NETWORK)
    assert not any(is_held_out(network) for task in train for network in task.weights)


@given(platforms_of_tasks(), st.randoms())
def test_splits_do_not_depend_on_order(
    platforms: dict[str, list[TaskSummary]], chance: Random
) -> None:
    before = make_splits(platforms)
    for tasks in platforms.values():
        chance.shuffle(tasks)
    assert make_splits(dict(reversed(platforms.items()))) == before


@pytest.mark.parametrize("rule", [SplitRule.TASK, SplitRule.OPERATORS])
@given(platforms=platforms_of_tasks())
def test_a_task_stays_on_its_side_when_others_are_added(
    rule: SplitRule, platforms: dict[str, list[TaskSummary]]
) -> None:
    added = {**platforms, "a": [*platforms["a"], a_task("999", "new", "newer", [HELD])]}
    before, after = make_splits(platforms), make_splits(added)
    assert before.tested(rule, "a") == after.tested(rule, "a") - {"999"}
    assert before.tested(rule, "b") == after.tested(rule, "b")


def test_the_same_graph_on_another_platform_is_held_out_too() -> None:
    """The second platform's own networks do not hold it out."""
    platforms = {"a": [a_task("1", "g", "s", [HELD])], "b": [a_task("2", "g", "s", [TRAINED])]}
    splits = make_splits(platforms)
    assert splits.tested(SplitRule.NETWORK, "b") == {"2"}
    assert splits.held_out == {"a": (HELD,), "b": ()}


def test_about_one_program_in_five_is_for_testing() -> None:
    tested = [is_tested_program(program) for program in range(1000)]
    assert sum(tested) == 200


def test_splits_are_read_as_they_were_written(tmp_path: Path) -> None:
    splits = make_splits({"a": [a_task("1", "g", "s", [HELD])], "b": []})
    save_splits(tmp_path, splits)
    assert load_splits(tmp_path) == splits


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"cpu": {"train": "x"}}',
        '{"version": 1, "rules": {}, "held_out": {}, "test": {}}',
        '{"version": 2, "rules": {}, "held_out": {}, "test": {"network": {"cpu": "x"}}}',
    ],
)
def test_splits_that_are_none_are_told(tmp_path: Path, text: str) -> None:
    (tmp_path / SPLITS).write_text(text)
    with pytest.raises(ReadError, match="holds no splits"):
        load_splits(tmp_path)


def test_a_data_set_without_splits_says_what_writes_them(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="graph-net programs card"):
        load_splits(tmp_path)


@pytest.fixture(scope="module")
def shipped() -> dict[str, list[TaskSummary]]:
    return {of.name: list(of.tasks) for of in count(SHIPPED)}


def test_the_shipped_splits_are_those_of_the_shipped_tasks(
    shipped: dict[str, list[TaskSummary]],
) -> None:
    assert load_splits(SHIPPED) == make_splits(shipped)
    published = json.loads((SHIPPED / SPLITS).read_text("utf-8"))
    assert published["rules"] == {str(rule): text for rule, text in RULES.items()}
    assert (SHIPPED / SPLITS).stat().st_size < 60_000


@pytest.mark.parametrize("rule", BY_TASK)
def test_no_shipped_graph_is_on_both_sides(
    rule: SplitRule, shipped: dict[str, list[TaskSummary]]
) -> None:
    train, test = sides(shipped, rule)
    assert not {task.graph for task in train} & {task.graph for task in test}
    assert all(task.graph and task.structure for task in [*train, *test])


def test_no_shipped_structure_to_test_with_occurs_in_training(
    shipped: dict[str, list[TaskSummary]],
) -> None:
    train, test = sides(shipped, SplitRule.OPERATORS)
    assert not {task.structure for task in train} & {task.structure for task in test}


@pytest.mark.parametrize("rule", BY_TASK)
def test_both_sides_of_a_shipped_platform_have_tasks_with_a_choice(
    rule: SplitRule, shipped: dict[str, list[TaskSummary]]
) -> None:
    splits = make_splits(shipped)
    for name in ("cpu", "h200"):
        several = [task.task for task in shipped[name] if task.programs > 1]
        tested = splits.tested(rule, name).intersection(several)
        assert 0.1 < len(tested) / len(several) < 0.35, (rule, name)
