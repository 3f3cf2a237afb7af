"""What a command loads before it does anything, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from corpus.some_graphs import some_graph
from graph_net.cli.verbs import VERBS
from graph_net.corpus.pack import PackWriter

HEAVY = ("torch", "pandas", "pyarrow.dataset", "duckdb", "matplotlib")
PROGRAM = """
import sys
from graph_net.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit as stop:
    assert not stop.code, stop.code
print(*sys.modules, sep="\\n", file=sys.stderr)
"""


def loaded(*words: str | Path) -> set[str]:
    """The modules that a command has loaded when it ends."""
    command = [sys.executable, "-c", PROGRAM, *map(str, words)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return set(ended.stderr.split())


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A pack of one graph."""
    with PackWriter(tmp_path / "pack") as writer:
        writer.add("one", some_graph(3))
    return tmp_path / "pack"


def test_the_help_loads_no_verb_and_nothing_that_one_needs() -> None:
    modules = loaded("--help")
    assert not modules.intersection((*HEAVY, "pyarrow", "numpy"))
    assert not modules.intersection({f"graph_net.cli.{verb}" for verb in VERBS})


@pytest.mark.parametrize("verb", ["bench", "show", "capture", "programs", "validate", "corpus"])
def test_the_help_of_a_verb_loads_no_engine(verb: str) -> None:
    assert not loaded(verb, "--help").intersection(HEAVY)


def test_a_list_loads_no_engine(small: Path) -> None:
    assert not loaded("list", small).intersection(HEAVY)


def test_a_question_in_sql_loads_the_engine_that_answers_it(small: Path) -> None:
    assert "duckdb" in loaded("list", small, "--where", "nodes > 1")
