"""A later measurement of a layout is its second one, marked or not."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from graph_net.api.publish_layouts import publish_layouts
from graph_net.configs.layouts.layout_predictor import read_layouts
from graph_net.configs.layouts.measured_layouts import by_graph, measured_layouts
from graph_net.configs.layouts.second_measurements import second_measurements
from graph_net.results import Program, canonical, program_to_json


@pytest.fixture(scope="session")
def programs(journal: Path) -> list[Program]:
    """Results of one graph that ran."""
    groups = by_graph(read_layouts(journal))
    return groups[min(groups)]


def later(program: Program, **noted: bool) -> Program:
    """Return another measurement of a layout, without a search."""
    extra = {key: value for key, value in json.loads(program.extra).items() if key != "search"}
    return replace(program, measured=9.0, extra=canonical({**extra, **noted}))


def test_a_later_result_of_a_layout_is_a_second_measurement(programs: list[Program]) -> None:
    assert second_measurements([*programs[:2], later(programs[0])]) == [False, False, True]


def test_a_marked_result_is_second_wherever_it_comes(programs: list[Program]) -> None:
    assert second_measurements([later(programs[0], again=True), programs[0]]) == [True, False]


def test_a_layout_on_another_device_or_compiler_is_no_repetition(programs: list[Program]) -> None:
    first = programs[0]
    device = replace(first, task=replace(first.task, target="cuda: x"))
    compiler = replace(first, task=replace(first.task, workload="other-inductor"))
    assert second_measurements([first, device, compiler]) == [False, False, False]


@pytest.mark.parametrize("noted", [{}, {"again": True}])
def test_second_measurements_are_not_learned_from(
    programs: list[Program], noted: dict[str, bool]
) -> None:
    examples = measured_layouts([*programs, later(programs[0], **noted)], None)
    assert len(examples) == len(programs)
    assert [text for text, _ in examples.again] == [programs[0].schedule]


def test_the_card_counts_them_and_each_graph_once(
    programs: list[Program], journal: Path, tmp_path: Path
) -> None:
    first, task = programs[0], programs[0].task
    compiled = replace(
        first,
        task=replace(
            task,
            workload=task.workload.replace("eager", "inductor"),
            details=task.details.replace('"eager"', '"inductor"'),
        ),
    )
    rows = [*programs, later(programs[0]), later(programs[1], again=True), compiled]
    source = tmp_path / "layouts.jsonl"
    source.write_text("".join(f"{program_to_json(one)}\n" for one in rows))
    pack = str(journal.parent / "pack")
    (found,) = publish_layouts({"cpu": [source]}, tmp_path / "published", pack)
    assert (found.twice, found.pairs, found.noise) == (2, 2, 0.0)
    assert found.searches["second measurements"] == 2
    assert sum(found.searches.values()) == found.results == 63
    assert sum(found.categories.values()) == found.graphs == 1
    assert found.compilers == {"eager": 62, "inductor": 1}
    card = (tmp_path / "published" / "README.md").read_text("utf-8")
    assert "| 63 | 0 | 1 | 2 | 0.00 % (2 layouts) |" in card
