"""A predictor of layouts in a folder: the same scores without LightGBM, clear errors otherwise."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import graph_net as gn
from configs.layouts.layout_graphs import images_graph, sequence_graph
from configs.layouts.some_layouts import layouts_of
from graph_net.api.learn_layouts import LayoutExamples, MeasuredGraph
from graph_net.configs.layouts.call_trees import CallTrees, SolvedTrees
from graph_net.configs.layouts.layout_examples import NO_CALLS, GraphLayouts
from graph_net.configs.layouts.layout_models import MeanOfMembers
from graph_net.configs.layouts.layout_predictor import LearnedLayouts, learn_layouts
from graph_net.learn.layout_model_files import FILE, load_layouts, save_layouts
from graph_net.learn.learning_set import LearnError

TARGET = "cpu: made up"


@pytest.fixture(scope="module")
def graphs() -> list[GraphLayouts]:
    """Two sets of layouts of each of two graphs."""
    return [
        layouts_of(graph, seed) for graph in (images_graph(), sequence_graph()) for seed in (1, 2)
    ]


@pytest.fixture(scope="module")
def learned(graphs: list[GraphLayouts]) -> LearnedLayouts:
    """What is learned from three of them."""
    pytest.importorskip("lightgbm")
    return learn_layouts(graphs[:3], target=TARGET)


@pytest.fixture
def folder(learned: LearnedLayouts, tmp_path: Path) -> Path:
    """The same, saved."""
    save_layouts(learned, tmp_path / "model")
    return tmp_path / "model"


def test_a_loaded_predictor_gives_the_same_scores(
    learned: LearnedLayouts, folder: Path, graphs: list[GraphLayouts]
) -> None:
    loaded = load_layouts(folder)
    assert (loaded.name, loaded.target) == (learned.name, TARGET)
    for one in graphs:
        assert np.allclose(loaded.scores(one), learned.scores(one), rtol=0, atol=1e-9)
        assert len(set(loaded.scores(one))) > 10


def test_every_member_is_kept_to_rounding(
    learned: LearnedLayouts, folder: Path, graphs: list[GraphLayouts]
) -> None:
    for (saved, _), (loaded, _) in zip(
        learned.model.models,  # type: ignore[attr-defined]
        load_layouts(folder).model.models,  # type: ignore[attr-defined]
        strict=True,
    ):
        expected = saved.predict(graphs[3])
        assert np.allclose(loaded.predict(graphs[3]), expected, rtol=1e-10, atol=1e-12)


def test_a_model_without_calls_is_kept(graphs: list[GraphLayouts], tmp_path: Path) -> None:
    pytest.importorskip("lightgbm")
    learned = learn_layouts([replace(one, calls=NO_CALLS) for one in graphs])
    save_layouts(learned, tmp_path)
    loaded = load_layouts(tmp_path)
    assert loaded.name == learned.name
    assert np.allclose(loaded.scores(graphs[0]), learned.scores(graphs[0]), atol=1e-12)


def test_calls_that_cannot_be_split_are_kept(graphs: list[GraphLayouts], tmp_path: Path) -> None:
    bare = CallTrees(SolvedTrees(None, np.zeros((0, 16))), 0.5)
    learned = LearnedLayouts(MeanOfMembers([bare], "bare"), 100, 1)
    save_layouts(learned, tmp_path)
    assert np.array_equal(load_layouts(tmp_path).scores(graphs[0]), learned.scores(graphs[0]))


def test_a_predictor_is_loaded_without_lightgbm(folder: Path) -> None:
    program = (
        "import sys; sys.modules.update(dict.fromkeys(['lightgbm', 'pyarrow', 'duckdb']))\n"
        "from graph_net.learn.layout_model_files import load_layouts\n"
        f"print(load_layouts({str(folder)!r}).name)"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert b"sums over calls" in ended.stdout


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("features", "0", "other features: learn it anew"),
        ("ensembles", [], "1 to 8 ensembles"),
        ("layouts", "many", "not a model of layouts|expected|must be"),
    ],
)
def test_a_spoiled_description_is_refused(
    folder: Path, field: str, value: object, message: str
) -> None:
    tree = json.loads((folder / FILE).read_text())
    (folder / FILE).write_text(json.dumps(tree | {field: value}))
    with pytest.raises(LearnError, match=message):
        load_layouts(folder)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"no gzip", "trees-0-0.txt.gz is no gzip file"),
        (gzip.compress(b"max_feature_idx=3\n"), "holds no model of layouts"),
        (gzip.compress(b"tree\n" * 1000)[:-9], "cut short"),
    ],
    ids="bytes trees short".split(),  # a name of packed bytes would have the second in it
)
def test_spoiled_trees_are_refused(folder: Path, data: bytes, message: str) -> None:
    (folder / "trees-0-0.txt.gz").write_bytes(data)
    with pytest.raises(LearnError, match=message):
        load_layouts(folder)


def test_trees_of_other_rows_are_refused(folder: Path) -> None:
    (folder / "trees-0-0.txt.gz").write_bytes((folder / "trees-1-0.txt.gz").read_bytes())
    with pytest.raises(LearnError, match=r"trees-0-0.txt.gz has trees of \d+ features, not"):
        load_layouts(folder)


def test_a_missing_file_is_named(folder: Path) -> None:
    (folder / "trees-1-2.txt.gz").unlink()
    with pytest.raises(LearnError, match="trees-1-2"):
        load_layouts(folder)
    with pytest.raises(LearnError, match="holds no model of layouts"):
        load_layouts(folder.parent)


def test_a_loaded_predictor_is_not_written_again(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(LearnError, match="copy the folder"):
        save_layouts(load_layouts(folder), tmp_path / "again")


def test_a_search_ranks_by_a_folder_of_its_own_device_only(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from graph_net.api.layout import layout
    from graph_net.configs.layouts import layout_collection
    from graph_net.configs.layouts.layout_search import SearchSettings

    with pytest.raises(ValueError, match="was learned on cpu: made up, and this is cpu: "):
        gn.layout(images_graph(), learn_from=folder, threads=1, progress=False)
    mine = SimpleNamespace(kind="cpu", name="made up", threads=1)
    monkeypatch.setattr(layout_collection, "describe_confined", lambda *_: mine)
    quick = SearchSettings(pool=6, top=2, generations=1, repeats=3, seconds=0.1)
    result = layout(images_graph(), learn_from=folder, settings=quick, jobs=1, progress=False)
    assert "ranked by sums over calls and LightGBM" in str(result)
    assert result.outcome.measured


def test_families_are_left_out(graphs: list[GraphLayouts]) -> None:
    pytest.importorskip("lightgbm")
    ids = {one.graph for one in graphs}
    described = {graph: MeasuredGraph(graph, "other", f"zoo/{graph}") for graph in ids}
    examples = LayoutExamples(TARGET, tuple(graphs), described)
    first, *_ = sorted(ids)
    learned = examples.learn([f"zoo/{first}"])
    assert (learned.graphs, learned.target) == (2, TARGET)
    with pytest.raises(ValueError, match="no graph is of zoo/none"):
        examples.learn(["zoo/none"])
