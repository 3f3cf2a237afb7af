"""Every graph of the shipped corpus loads with the torch that runs this, and with 2.11.

``resolves_2.11.txt`` is written by ``tools/check_stability.py`` where that torch is installed:
there every graph was read, resolved and run without values.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tools.check_stability import make

from graph_net.corpus.pack import Pack, PackWriter
from graph_net.corpus.query import select
from graph_net.corpus.shipped import shipped_corpus
from graph_net.graph import GraphError
from graph_net.graph.resolve import resolve
from graph_net.graph.targets import is_allowed
from graph_net.rewrite.lower import to_aten
from graph_net.rewrite.public_names import is_private
from graph_net.testing.models import case_graph

LIST = Path(__file__).with_name("resolves_2.11.txt")


@pytest.fixture(scope="module")
def operators() -> set[str]:
    """What all graphs of the corpus call, from a column; no graph is read."""
    rows = select(Pack(shipped_corpus()), None)
    return {operator for row in rows for operator in row["operators"]}


def test_every_operator_of_the_corpus_resolves_here(operators: set[str]) -> None:
    assert len(operators) > 200
    missing = []
    for target in sorted(operators):
        try:
            resolve(target)
        except GraphError as error:
            missing.append(str(error))
    assert missing == []


def test_the_corpus_calls_no_private_name(operators: set[str]) -> None:
    assert all(is_allowed(target) for target in operators)
    assert [target for target in sorted(operators) if is_private(target)] == []


def test_every_operator_of_the_corpus_resolves_on_211(operators: set[str]) -> None:
    head, *names = LIST.read_text("utf-8").splitlines()
    found = re.fullmatch(r"# torch (2\.11\S*): (\d+) of (\d+) graphs .*", head)
    assert found is not None
    assert found[2] == found[3], "some graphs did not pass there"
    assert sorted(operators - set(names)) == []


def test_the_tool_runs_from_its_file_alone(tmp_path: Path) -> None:
    with PackWriter(tmp_path / "some.pack") as writer:
        for name in ("residual", "unet"):
            writer.add(name, to_aten(case_graph(name)))
    bundle, names = tmp_path / "stability.zip", tmp_path / "names.txt"
    make(tmp_path / "some.pack", bundle)
    command = [sys.executable, "-P", str(bundle), "-j", "1", "-o", str(names)]
    answer = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert answer.returncode == 0, answer.stderr
    head, *resolved = names.read_text("utf-8").splitlines()
    assert "2 of 2 graphs load, resolve and propagate" in head
    assert "aten.conv2d.default" in resolved
