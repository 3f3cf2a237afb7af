"""The benchmark of gains: measured where nothing but torch and numpy is installed, and shown."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest
from benchmarks.layout_gains_measure import (
    GRAPH,
    PLAN,
    PREDICTORS,
    TASK,
    GainPlan,
    GainTask,
    read_results,
    search_all,
)
from benchmarks.layout_gains_report import about, report

from configs.layouts.layout_graphs import images_graph, sequence_graph
from configs.layouts.some_layouts import layouts_of
from graph_net.configs.layouts.layout_predictor import learn_layouts
from graph_net.graph import to_bytes
from graph_net.learn.layout_model_files import save_layouts

ROOT = Path(__file__).parents[3]
MISSING = "lightgbm duckdb pyarrow typer rich pydantic safetensors xgboost matplotlib pandas scipy"
PROGRAM = f"""
import runpy, sys

class Bare:
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        missing = name.partition(".")[0] in {MISSING.split()!r}
        return None if missing else self.finder.find_spec(name, path, target)

sys.meta_path[:] = [Bare(finder) for finder in sys.meta_path if hasattr(finder, "find_spec")]
runpy.run_module("benchmarks.layout_gains", run_name="__main__")
"""


def _prepared(work: Path) -> Path:
    """Return a folder of two graphs, the first ranked by a model, the second by bytes."""
    for number, graph in enumerate((images_graph(), sequence_graph())):
        folder = work / "graphs" / f"{number:02}"
        folder.mkdir(parents=True)
        (folder / GRAPH).write_bytes(to_bytes(graph))
        task = GainTask(f"made/up{number}", "other", "made/up", "" if number else "0")
        (folder / TASK).write_text(json.dumps(asdict(task)))
    save_layouts(learn_layouts([layouts_of(sequence_graph(), 1, 120)]), work / PREDICTORS / "0")
    plan = GainPlan("cpu", "dataset", "python -m benchmarks.layout_gains prepare")
    (work / PLAN).write_text(json.dumps(asdict(plan)))
    return work


def _measure(work: Path, *words: str) -> str:
    command = [sys.executable, "-c", PROGRAM, "measure", str(work), "--prove-seconds", "0.1"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    ended = subprocess.run(
        [*command, *words], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_gains_are_measured_with_torch_and_numpy_alone_and_reported(tmp_path: Path) -> None:
    pytest.importorskip("lightgbm")
    work, results = _prepared(tmp_path / "work"), tmp_path / "results.jsonl"
    assert "0 of 2 graphs" not in _measure(work, "--results", str(results), "--jobs", "1")
    first, second = read_results(results)
    assert (first["name"], second["name"]) == ("made/up0", "made/up1")
    assert first["ranked_by"].startswith("sums over calls")
    assert second["ranked_by"] == "bytes moved"
    assert "0 of 2 graphs" in _measure(work, "--results", str(results))
    assert "of 2 graphs are faster" in report(results, tmp_path / "page")
    page = (tmp_path / "page" / "layout_gains.md").read_text()
    assert "measure work --device cpu" in page
    assert str(tmp_path) not in page


def test_a_page_says_what_was_timed_on_a_gpu() -> None:
    row = {"device": "cuda: NVIDIA H200", "threads": 1, "learned_from": "dataset/layouts/h200"}
    assert "on an NVIDIA H200: " in about([row])
    assert "times are those of the kernels" in about([row])


def test_searches_end_in_time() -> None:
    assert list(search_all(["00"], lambda _: {}, 1, 0.0)) == []
