"""What ``import graph_net`` offers, and what it loads."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from typing import assert_type

import pytest

import graph_net as gn
from corpus.some_graphs import some_graph
from graph_net.corpus.pack import PackWriter

NAMES = """
Comparison Corpus Graph ProgramSet Record Records Roofline Scoreboard __version__ bench bisect
capture compare corpus evaluate featurise layout learn load programs read_configs read_sample repro
roofline serve subgraphs tune validate
""".split()
HEAVY = {"torch", "numpy", "pandas", "pyarrow", "duckdb", "rich", "typer"}


def modules_after(program: str) -> set[str]:
    """The modules that are loaded when a program ends."""
    tell = "\nimport sys; print(*sys.modules)"
    command = [sys.executable, "-c", program + tell]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def test_the_public_names_are_these() -> None:
    assert sorted(gn.__all__) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_is_there_and_documented(name: str) -> None:
    found = getattr(gn, name)
    assert name in dir(gn)
    assert isinstance(found, str) or inspect.getdoc(found)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'lunch'"):
        gn.lunch  # noqa: B018


def test_importing_the_library_loads_no_library_and_no_room() -> None:
    loaded = modules_after("import graph_net")
    assert not loaded & HEAVY
    assert {name for name in loaded if name.startswith("graph_net")} == {"graph_net"}


def test_importing_the_library_loads_few_modules_more_than_python_itself() -> None:
    assert len(modules_after("import graph_net") - modules_after("import typing")) < 10


def test_a_corpus_is_chosen_from_without_torch() -> None:
    loaded = modules_after("import graph_net; len(graph_net.corpus().mini())")
    assert "torch" not in loaded


def test_functions_are_called_after_their_packages_were_imported_too() -> None:
    program = f"""
import importlib, inspect, graph_net
for name in {[name for name in NAMES if name[0].islower()]}:
    before = inspect.signature(getattr(graph_net, name))
    try:
        importlib.import_module("graph_net." + name)
    except ModuleNotFoundError:
        pass
    assert callable(getattr(graph_net, name)), name
    assert inspect.signature(getattr(graph_net, name)) == before, name
"""
    assert "graph_net" in modules_after(program)


def test_a_package_with_the_name_of_a_function_calls_it(tmp_path: Path) -> None:

    with pytest.raises(ValueError, match="nowhere does not exist"):
        gn.compare(tmp_path / "nowhere", tmp_path)


def test_the_names_have_their_types(tmp_path: Path) -> None:
    with PackWriter(tmp_path / "pack") as writer:
        writer.add("one", some_graph(3))
    # mypy checks these; names that it did not know would be Any.
    assert isinstance(assert_type(gn.load(f"{tmp_path / 'pack'}:one"), gn.Graph), gn.Graph)
    assert isinstance(assert_type(gn.corpus(tmp_path / "pack"), gn.Corpus), gn.Corpus)
    assert isinstance(assert_type(gn.Records(tmp_path), gn.Records), gn.Records)


def test_the_page_names_everything_public() -> None:
    page = (Path(__file__).parents[2] / "docs" / "library.md").read_text("utf-8")
    missing = [name for name in NAMES if f"`{name}" not in page and name != "__version__"]
    assert missing == []
