"""Studies: many trainings, each once, whatever dies; a table and a picture at the end."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from graph_net.learn.learning_set import LearnError
from graph_net.learn.measured_set import MeasuredSet
from graph_net.learn.ranked_tasks import RepeatedCosts
from graph_net.learn.studies import few_shot_curves, metric_choice
from graph_net.learn.studies.architectures import BASELINE, Architectures
from graph_net.learn.studies.data_size import DataSize, choose_some
from graph_net.learn.studies.few_shot_curves import IN_CONTEXT, FewShotCurves, LocalResidual
from graph_net.learn.studies.metric_choice import MetricChoice, correlation
from graph_net.learn.studies.platform_transfer import EVERY, PlatformTransfer
from graph_net.learn.studies.run import STUDIES, StudyJournal, run_study, write_page
from graph_net.learn.studies.study import Settings, Study, StudyCell, StudyData, StudyPicture
from graph_net.learn.studies.trained import measured_until_near
from graph_net.results import Json
from graph_net.testing.cost_model import easy_set

pytest.importorskip("lightgbm", reason="needs lightgbm")


def measured(seed: int, tasks: int = 8, programs: int = 70) -> MeasuredSet:
    """Easy programs on two platforms, of different graphs for different seeds."""
    data = easy_set(tasks, programs, seed)
    described = tuple(
        replace(task, platform="this" if place % 2 else "that", graph=f"{seed}/{place}")
        for place, task in enumerate(data.tasks)
    )
    repeated = RepeatedCosts.of(data.programs.costs, data.programs.costs * 1.01)
    hashes = np.arange(len(data), dtype=np.uint64)
    return MeasuredSet(replace(data, tasks=described), hashes, repeated, "easy")


@pytest.fixture(scope="module")
def data() -> StudyData:
    return StudyData(measured(0), measured(1), measured(2, 3, 200))


class Sums(Study[StudyData]):
    """A study that costs nothing."""

    name = title = about = "sums"
    dies = False

    def cells(self, data: StudyData, seeds: Sequence[int]) -> list[Settings]:
        return [{"add": number, "seed": seed} for number in (1, 2) for seed in seeds]

    def compute(self, data: StudyData, settings: Settings) -> Mapping[str, Json]:
        if self.dies and settings == {"add": 2, "seed": 1}:
            os.kill(os.getpid(), signal.SIGSEGV)
        return {"sum": int(str(settings["add"])) + len(data.train.data)}

    def table(self, cells: Sequence[StudyCell]) -> str:
        return "\n".join(f"{cell.number('sum'):g}" for cell in cells)

    def picture(self, cells: Sequence[StudyCell]) -> StudyPicture:
        return StudyPicture([("sum", [(1.0, cell.number("sum"), 0.0) for cell in cells])], "x", "y")


def run(
    study: Study[StudyData], data: StudyData, folder: Path, seeds: int = 2
) -> tuple[StudyCell, ...]:
    outcome = run_study(study, data, StudyJournal(folder / "j.jsonl", "d"), seeds=range(seeds))
    assert outcome.failures == ()
    page = write_page(study, outcome, folder, "graph-net study", "About.").read_text()
    assert study.title in page
    assert (folder / f"{study.name}.svg").read_text().startswith("<?xml")
    return outcome.cells


def test_a_training_that_dies_is_named_and_costs_itself_alone(
    data: StudyData, tmp_path: Path
) -> None:
    study = Sums()
    study.dies = True
    first = run_study(study, data, StudyJournal(tmp_path / "j.jsonl", "d"), seeds=(0, 1), jobs=2)
    assert len(first.cells) == 3
    (why,) = first.failures
    assert why.startswith('{"add":2,"seed":1}: ')
    assert "SIGSEGV" in why
    study.dies = False
    again = run_study(study, data, StudyJournal(tmp_path / "j.jsonl", "d"), seeds=(0, 1))
    assert [cell.number("sum") - len(data.train.data) for cell in again.cells] == [1, 1, 2, 2]


def test_what_was_computed_is_not_computed_again_unless_the_data_differ(
    data: StudyData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(Sums(), data, tmp_path)
    with (tmp_path / "j.jsonl").open("a") as file:
        file.write('[1]\n{"data": "d"}\nnot JSON\n')  # what no study wrote
        file.write('{"data": "d", "key"')  # as a kill leaves it
    monkeypatch.setattr(Sums, "compute", lambda *_: {"sum": -1})
    assert all(cell.number("sum") > 0 for cell in run(Sums(), data, tmp_path))
    other = run_study(Sums(), data, StudyJournal(tmp_path / "j.jsonl", "other"), seeds=(0,))
    assert [cell.number("sum") for cell in other.cells] == [-1, -1]


def test_models_are_ranked_beside_the_random_ranking(data: StudyData, tmp_path: Path) -> None:
    study = Architectures()
    study.models = (BASELINE, "lightgbm[rounds=1]")
    cells = run(study, data, tmp_path)
    lines = study.table(cells).splitlines()
    assert [line.split(" | ")[0] for line in lines[2:]] == [
        f"| `{BASELINE}`",
        "| `lightgbm[rounds=1]`",
        "| random",
        "| ceiling",
    ]
    numbers = [float(line.split(" | ")[1].split(" ±")[0]) for line in lines[2:]]
    assert numbers[0] > numbers[1] > numbers[2]
    assert numbers[3] > 0.98


def test_a_metric_is_held_against_what_a_search_takes(
    data: StudyData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds = (1, 4, 16, 64)
    monkeypatch.setattr(metric_choice, "MODELS", [f"lightgbm[rounds={n}]" for n in rounds])
    cells = run(MetricChoice(), data, tmp_path)
    assert all(1 <= cell.number("measurements") < 100 for cell in cells)
    rows = [line.split(" | ") for line in MetricChoice().table(cells).splitlines()[2:]]
    assert "| R²" in [row[0] for row in rows]
    assert [row[1] for row in rows] == sorted((row[1] for row in rows), key=float, reverse=True)
    with pytest.raises(LearnError, match="every program was measured: --spaces"):
        MetricChoice().cells(replace(data, spaces=None), (0,))


def test_measurements_are_counted_until_one_is_near_the_best() -> None:
    programs = measured(3, 1, 10).data.programs
    order = np.argsort(programs.costs)
    scores = np.zeros(10)
    scores[order] = np.arange(10)[::-1]
    assert measured_until_near(programs, scores, 0.0) == [1]
    scores[order[0]] = -1
    assert measured_until_near(programs, scores, 0.0) == [10]


def test_a_rank_correlation_is_that_of_ranks() -> None:
    values = np.array([1.0, 2, 4, 8, 16, 32])
    assert correlation(values, np.log(values))[0] == pytest.approx(1)
    assert correlation(values, -values)[0] == pytest.approx(-1)
    value, low, high = correlation(values, np.array([1.0, 3, 2, 5, 4, 6]))
    assert low < value < high
    assert value == pytest.approx(0.886, abs=1e-3)


def test_less_data_are_part_of_more(data: StudyData, tmp_path: Path) -> None:
    programs = data.train.data.programs
    some = choose_some(programs, 3, 5, seed=1)
    assert some.size == 15
    assert np.unique(programs.tasks[some]).size == 3
    assert np.isfinite(programs.costs[some]).any()
    cells = [cell for cell in run(DataSize(), data, tmp_path, 1) if cell.setting("tasks") == "8"]
    assert cells[-1].number("pairwise accuracy") > cells[0].number("pairwise accuracy")


def test_another_platforms_programs_help_where_there_are_none_of_ones_own(
    data: StudyData, tmp_path: Path
) -> None:
    cells = run(PlatformTransfer(), data, tmp_path, 1)
    assert {cell.settings["own"] for cell in cells} == {0, EVERY}  # of four, 4 is all of them
    alone = [cell for cell in cells if cell.settings["own"] == 0]
    assert {cell.setting("platform") for cell in alone} == {"this", "that"}
    randoms = [cell.result["random"] for cell in alone]
    for cell, random in zip(alone, randoms, strict=True):
        assert isinstance(random, dict)
        chance = random["best/picked at 1"]
        assert isinstance(chance, float)
        assert cell.number("best/picked at 1") > chance
    one = StudyData(*(side.take(np.arange(70)) for side in (data.train, data.test)))
    with pytest.raises(LearnError, match="two platforms"):
        PlatformTransfer().cells(one, (0,))


@pytest.mark.parametrize("study", [FewShotCurves(), LocalResidual()])
def test_measurements_of_a_task_help(
    study: Study[StudyData], data: StudyData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(few_shot_curves, "COUNTS", (0, 4, 16))
    monkeypatch.setattr(study.__class__, "ways", LocalResidual.ways[:3], raising=False)
    wanted = study.cells
    monkeypatch.setattr(
        study, "cells", lambda *a: [s for s in wanted(*a) if s["way"] != IN_CONTEXT]
    )
    cells = run(study, data, tmp_path, 1)
    assert all(
        0 < cell.number(name) <= 1 for cell in cells for name in cell.result if "mean" in name
    )


def test_an_unknown_study_is_told_which_there_are() -> None:
    from graph_net.api.study import study

    with pytest.raises(LearnError, match="available: architectures, metrics, size, transfer"):
        study("colours", "h200")
    assert set(STUDIES) == set(
        "architectures metrics size transfer residual few_shot layouts".split()
    )
