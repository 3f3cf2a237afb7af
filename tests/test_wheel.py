"""The package as it is installed: outside of the repository, with nothing but its own files."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from graph_net.corpus.shipped import mini_names

ROOT = Path(__file__).parents[1]
Run = Callable[..., "subprocess.CompletedProcess[str]"]
pytestmark = pytest.mark.skipif(
    not all(map(find_spec, ("pip", "setuptools"))), reason="builds a wheel with pip and setuptools"
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel, built from a copy of what it is made of."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    pip("wheel", "--no-deps", "--no-build-isolation", "-w", folder, source)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def run(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs a program of an environment that has the wheel, in an empty directory."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder / "env")
    python = folder / "env" / "bin" / "python"
    (inside,) = (folder / "env").glob("lib/python*/site-packages")
    (inside / "present.pth").write_text(sysconfig.get_path("purelib") + "\n")  # nothing is fetched
    pip("--python", python, "install", "--no-deps", wheel)
    own = {name: value for name, value in os.environ.items()
           if not name.startswith(("GRAPH_NET", "PYTHON"))}  # fmt: skip

    def call(program: str, *words: object, **more: str) -> subprocess.CompletedProcess[str]:
        command = [str(python.parent / program), *map(str, words)]
        return subprocess.run(
            command, cwd=folder, env=own | more, capture_output=True, text=True, check=False
        )

    return call


def pip(*words: object) -> None:
    settings = {"PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_CACHE_DIR": "1"}
    ended = subprocess.run(
        [sys.executable, "-m", "pip", *map(str, words)],
        env=os.environ | settings, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_the_wheel_holds_the_package_and_what_it_reads(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    every = {
        str(path.relative_to(ROOT / "src"))
        for path in (ROOT / "src" / "graph_net").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert every <= names


def test_it_is_the_installed_package_that_runs(run: Run) -> None:
    ended = run("python", "-c", "import graph_net; print(graph_net.__file__)")
    assert "env/lib" in ended.stdout, ended.stderr


def test_the_help_lists_the_verbs(run: Run) -> None:
    ended = run("graph-net", "--help")
    assert ended.returncode == 0, ended.stderr
    assert "bench" in ended.stdout


def test_the_list_is_of_the_mini_selection_and_says_where_the_rest_is(run: Run) -> None:
    ended = run("graph-net", "list")
    assert ended.returncode == 0, ended.stderr
    assert f"{len(mini_names())} graphs" in ended.stderr
    assert "set $GRAPH_NET_DATA" in ended.stderr
    listed = json.loads(run("graph-net", "list", "--mini", "--json").stdout)
    assert [row["name"] for row in listed] == mini_names()


def test_a_graph_of_it_is_shown(run: Run) -> None:
    (first, *_) = json.loads(run("graph-net", "list", "--json", "--limit", "1").stdout)
    ended = run("graph-net", "show", first["name"], "--no-flops")
    assert ended.returncode == 0, ended.stderr
    assert f"{first['nodes']:,}" in ended.stdout


def test_a_graph_that_is_not_in_it_is_told_with_the_way_out(run: Run) -> None:
    ended = run("graph-net", "show", "timm/lunch")
    assert ended.returncode == 1
    assert "only the mini selection is installed; set $GRAPH_NET_DATA" in ended.stderr


def test_the_whole_corpus_is_asked_for_with_the_way_out(run: Run) -> None:
    ended = run("graph-net", "bench", "--compilers", "eager")
    assert ended.returncode == 1
    assert "set $GRAPH_NET_DATA to a checkout" in ended.stderr


def test_a_checkout_that_is_named_has_the_whole_corpus(run: Run) -> None:
    program = "import graph_net; print(len(graph_net.corpus()))"
    ended = run("python", "-c", program, GRAPH_NET_DATA=str(ROOT))
    assert int(ended.stdout) > 4000, ended.stderr


def test_a_graph_is_measured_scored_and_reported(run: Run) -> None:
    smallest = min(
        json.loads(run("graph-net", "list", "--mini", "--json").stdout),
        key=lambda row: row["nodes"],
    )
    where = f"name = '{smallest['name']}'"
    words = ["--mini", "--where", where, "--compilers", "eager", "--seconds", "0.1", "-j", "1"]
    ended = run("graph-net", "bench", *words)
    assert ended.returncode == 0, ended.stderr
    asked = run("graph-net", "query", "SELECT graph, status FROM records", "--json")
    assert json.loads(asked.stdout) == [{"graph": smallest["name"], "status": "success"}]
    assert "eager" in run("graph-net", "score", "build/records").stdout
    written = run("graph-net", "report", "build/records", "-o", "report.html")
    assert written.returncode == 0, written.stderr
    assert "1 measurement" in written.stderr
