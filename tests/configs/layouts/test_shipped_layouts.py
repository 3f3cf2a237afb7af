"""The layouts that the repository ships are what their card and the documents say."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from statistics import median

import pytest

import graph_net as gn
from graph_net.configs.layouts.hand_features import label_of
from graph_net.programs.dataset.restore import read_published
from graph_net.results import Program

DATASET = Path(__file__).parents[3] / "dataset" / "layouts"
CATEGORIES = {"audio", "computer_vision", "multimodal", "nlp", "other", "scientific"}
PLATFORMS = ("cpu", "h200")


@pytest.fixture(scope="module")
def programs() -> dict[str, list[Program]]:
    return {name: list(read_published(DATASET / name)) for name in PLATFORMS}


@pytest.mark.parametrize(
    ("platform", "least", "graphs"), [("cpu", 8000, 40), ("h200", 16_000, 150)]
)
def test_graphs_of_every_category_have_enough_results(
    programs: dict[str, list[Program]], platform: str, least: int, graphs: int
) -> None:
    details = [json.loads(program.task.details) for program in programs[platform]]
    assert len(details) >= least
    assert len({one["graph"] for one in details}) >= graphs
    assert {one["category"] for one in details} == CATEGORIES


@pytest.mark.parametrize("platform", PLATFORMS)
def test_two_measurements_of_a_layout_agree_within_two_percent(
    programs: dict[str, list[Program]], platform: str
) -> None:
    labels: dict[tuple[str, str], list[float]] = defaultdict(list)
    for program in programs[platform]:
        if program.failure is None:
            key = (program.task.workload, program.schedule)
            labels[key].append(label_of(program.costs, json.loads(program.extra)))
    apart = [abs(first - second) for first, second, *_ in filter(lambda x: x[1:], labels.values())]
    assert len(apart) >= 0.009 * len(labels)
    assert median(apart) < 0.02


def test_every_graph_is_on_one_side_of_each_split(programs: dict[str, list[Program]]) -> None:
    graphs = {program.task.kernel for every in programs.values() for program in every}
    splits = json.loads((DATASET / "splits.json").read_text())["sides"]
    assert set(splits) == {"graph", "family"}
    for sides in splits.values():
        names = [name for side in sides.values() for name in side]
        assert sorted(names) == sorted(graphs)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_the_npz_form_has_the_same_graphs(
    programs: dict[str, list[Program]], platform: str
) -> None:
    files = list((DATASET / "npz" / "layout" / platform).rglob("*.npz"))
    eager = {
        program.task.kernel.rpartition("/")[2]
        for program in programs[platform]
        if program.failure is None
    }
    assert len({path.stem for path in files}) >= len(eager) - 2
    (graph,) = gn.read_configs(min(files, key=lambda path: path.stat().st_size))
    assert len(graph.configs) > 1
