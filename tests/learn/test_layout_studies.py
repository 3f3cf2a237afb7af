"""Studies of measured layouts: families, analytical costs, unseen graphs, two compilers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from configs.layouts.layout_graphs import images_graph, sequence_graph
from configs.layouts.some_layouts import layouts_of
from graph_net.api.study import study
from graph_net.configs.layouts.call_trees import sum_calls
from graph_net.configs.layouts.layout_examples import GraphLayouts
from graph_net.learn.learning_set import LearnError
from graph_net.learn.studies.layout_balance import LayoutBalance, drawn_alike, even, skewed
from graph_net.learn.studies.layout_folds import (
    LayoutStudyData,
    deal_families,
    family,
    judge_folds,
    select_layouts,
    slowdown,
)
from graph_net.learn.studies.layout_questions import (
    BYTES,
    ROOFLINE,
    CostRanker,
    LayoutAnalytical,
    LayoutCompilers,
    LayoutUnseen,
    fit_of,
)
from graph_net.learn.studies.run import StudyJournal, run_study, write_page

NAMES = ("timm/resnet18", "timm/vgg11", "monai/UNet", "transformers/BertModel", "timm/darknet53")


@pytest.fixture(scope="module")
def graphs() -> tuple[GraphLayouts, ...]:
    """Layouts of five families; their times follow the calls they make."""
    drawn = [
        layouts_of(graph, seed)
        for seed in (1, 2, 3)
        for graph in (images_graph(), sequence_graph())
    ]
    return tuple(
        replace(one, name=name, graph=name, schedules=tuple(map(str, range(len(one)))))
        for name, one in zip(NAMES, drawn, strict=False)
    )


def test_selected_layouts_keep_their_calls(graphs: tuple[GraphLayouts, ...]) -> None:
    whole, chosen = graphs[0], np.array([5, 0, 5, 59])
    part = select_layouts(whole, chosen)
    assert part.schedules == ("5", "0", "5", "59")
    assert np.array_equal(part.labels, whole.labels[chosen])
    sums = (sum_calls([one]) for one in (whole, part))
    totals = [one.total(np.ones(len(one.features))) for one in sums]
    assert np.allclose(totals[1], totals[0][chosen])


def test_samplings_spread_the_same_layouts_over_families(graphs: tuple[GraphLayouts, ...]) -> None:
    large, alike, drawn = (sample(graphs, 0) for sample in (skewed, even, drawn_alike))
    assert sorted({len(one) for one in large}) == [8, 60]
    assert [len(one) for one in large].count(60) == 1
    assert len({len(one) for one in alike}) == 1
    assert abs(sum(map(len, alike)) - sum(map(len, large))) <= len(graphs)
    assert {len(one) for one in drawn} == {60}
    for few, many in zip(large, drawn, strict=True):
        assert set(many.schedules) == set(few.schedules)


def test_a_graph_is_ranked_by_what_other_families_taught(graphs: tuple[GraphLayouts, ...]) -> None:
    fold, seen = deal_families(graphs, 0), []

    def fit(train: object, seed: int) -> CostRanker:
        assert isinstance(train, list)
        seen.append({fold[family(one)] for one in train})
        return CostRanker(lambda graph: graph.labels, "truth")

    found = judge_folds(graphs, fit, 0)
    assert len(seen) == len(set(fold.values()))
    assert all(len(one) == len(set(fold.values())) - 1 for one in seen)
    assert found["τ"] == 1
    assert found["slowdown@1"] == 0
    assert found["graphs"] == list(NAMES)


def test_a_slowdown_is_what_the_choice_costs() -> None:
    labels = np.log([2.0, 1.0, 4.0])
    assert slowdown(labels, np.array([0.0, 1.0, 2.0]), 1) == pytest.approx(1.0)
    assert slowdown(labels, np.array([0.0, 1.0, 2.0]), 2) == pytest.approx(0.0)


def test_a_correction_ranks_better_than_the_roofline_alone(
    graphs: tuple[GraphLayouts, ...],
) -> None:
    found = {
        name: judge_folds(graphs, fit_of(name), 0)["τ"]
        for name in (ROOFLINE, "sums over calls", f"{ROOFLINE} + LightGBM")
    }
    assert float(str(found["sums over calls"])) > float(str(found[ROOFLINE]))
    assert float(str(found[f"{ROOFLINE} + LightGBM"])) > 0


def test_pages_say_what_was_found(graphs: tuple[GraphLayouts, ...], tmp_path: Path) -> None:
    slower = [
        replace(one, labels=-one.labels if number else one.labels)
        for number, one in enumerate(graphs[:2])
    ]
    data = LayoutStudyData(graphs, tuple(slower))
    analytical, unseen = LayoutAnalytical(), LayoutUnseen()
    analytical.models = unseen.models = (BYTES, ROOFLINE)
    pages = []
    for chosen in (analytical, unseen, LayoutCompilers()):
        journal = StudyJournal(tmp_path / f"{chosen.name}.jsonl", "data")
        outcome = run_study(chosen, data, journal, seeds=[0])
        assert not outcome.failures
        pages.append(write_page(chosen, outcome, tmp_path, "graph-net study", "").read_text())
    assert "| roofline of calls | 0." in pages[0]
    assert "| timm/vgg11 | 0." in pages[1]
    assert "| timm/resnet18 | 60 | +1.000 | 0.0% |" in pages[2]
    assert "| timm/vgg11 | 60 | -1.000 |" in pages[2]
    assert "| mean | 120 | +0.000 (-1.000 … +1.000) |" in pages[2]


def test_families_are_reported_the_worst_first(
    graphs: tuple[GraphLayouts, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = "graph_net.learn.studies.layout_balance.FITS"
    monkeypatch.setattr(module, {"roofline": fit_of(ROOFLINE)})
    journal = StudyJournal(tmp_path / "j.jsonl", "data")
    outcome = run_study(LayoutBalance(), LayoutStudyData(graphs), journal, seeds=[0, 1])
    table = LayoutBalance().table(outcome.cells)
    report = [line.split(" | ") for line in table.split("\n\n")[1].splitlines()[2:]]
    assert len(report) == len(NAMES)
    taus = [float(row[-1].rstrip(" |")) for row in report]
    assert taus == sorted(taus)


def test_what_cannot_be_studied_is_told(tmp_path: Path) -> None:
    with pytest.raises(LearnError, match="does not exist"):
        study("layout_balance", tmp_path / "absent", progress=False)
    (tmp_path / "journal").write_text("no layout\n")
    with pytest.raises(LearnError, match="has no graph with 20 layouts"):
        study("layout_balance", tmp_path / "journal", progress=False)
    with pytest.raises(LearnError, match="needs --spaces"):
        LayoutUnseen().cells(LayoutStudyData(()), [0])
    with pytest.raises(LearnError, match="needs --spaces"):
        LayoutCompilers().cells(LayoutStudyData(()), [0])
