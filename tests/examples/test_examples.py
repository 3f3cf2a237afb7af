"""The examples run as they are, each in a process of its own, and print what they promise."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
SCRIPTS = {
    "add_a_compiler": r"right on 1\d graphs",
    "capture_my_model": r"graphs in my\.pack: \['my_model'\]",
    "compare_compilers": r"Traced\[freeze=True\]: S\(-3\) = .* \(\d graphs\)",
    "decompose_a_graph": r"the largest task: aten\..* → ",
    "query_records": r"monai/VoxelMorph \| 2\.73",
    "read_a_sample": r"outputs: \[\(1, 2\)\]",
    "score_records": r"S\(-3\) = 0\.454, 95 % between",
    "what_changed": r"slower: 1\d\n.*slower, 0\.67 of",
}
"""Script: what it prints last, or most tellingly."""
NOTEBOOKS = {
    "benchmark_my_model": r"my_model",
    "look_at_records": r"monai/VoxelMorph",
}
MOST_LINES = 60


def run_python(code: Path, folder: Path) -> str:
    """Run a file in an empty folder; return what it prints."""
    environment = os.environ | {"PYTHONPATH": str(EXAMPLES.parent / "src"), "MPLBACKEND": "Agg"}
    done = subprocess.run(
        [sys.executable, str(code)],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def read_cells(notebook: Path) -> list[dict[str, object]]:
    cells = json.loads(notebook.read_text("utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def test_every_example_is_tried() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == SCRIPTS.keys()
    assert {path.stem for path in EXAMPLES.glob("*.ipynb")} == NOTEBOOKS.keys()


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_runs(name: str, tmp_path: Path) -> None:
    printed = run_python(EXAMPLES / f"{name}.py", tmp_path)
    assert re.search(SCRIPTS[name], printed, re.DOTALL), printed


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_runs_from_its_first_cell_to_its_last(name: str, tmp_path: Path) -> None:
    cells = ["".join(cell["source"]) for cell in read_cells(EXAMPLES / f"{name}.ipynb")]  # type: ignore[arg-type]
    runner = tmp_path / "run_cells.py"
    runner.write_text(
        "names = {'__name__': 'notebook'}\n"
        f"for cell in {cells!r}:\n    exec(compile(cell, cell[:40], 'exec'), names)\n"
    )
    assert re.search(NOTEBOOKS[name], run_python(runner, tmp_path))


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_is_stored_without_what_it_printed(name: str) -> None:
    cells = read_cells(EXAMPLES / f"{name}.ipynb")
    assert cells
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_is_short_and_says_how_it_is_called(name: str) -> None:
    text = (EXAMPLES / f"{name}.py").read_text("utf-8")
    assert len(text.splitlines()) < MOST_LINES
    assert f"python examples/{name}.py" in text
