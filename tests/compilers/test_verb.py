"""``graph-net compilers``."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from graph_net.cli.main import app
from graph_net.compilers import compiler_names


def test_every_compiler_is_listed_with_what_it_needs() -> None:
    answer = CliRunner().invoke(app, ["compilers", "--json"])
    rows = {row["name"]: row for row in json.loads(answer.stdout)}
    assert list(rows) == compiler_names()
    assert rows["eager"]["missing"] is None
    assert rows["eager"]["aliases"] == ["nope"]
    assert rows["inductor"]["options"] == {"mode": "default", "fullgraph": False}
    assert rows["tensorrt"]["devices"] == ["cuda"]
    absent = [row for row in rows.values() if row["missing"]]
    assert all("not installed:" in row["missing"] or "built" in row["missing"] for row in absent)


def test_the_table_has_the_version_and_the_options() -> None:
    answer = CliRunner().invoke(app, ["compilers", "tvm"])
    assert answer.exit_code == 0
    assert "tvm" in answer.stdout
    assert "trials=0" in answer.stdout


def test_one_of_ones_own_is_called_by_its_file(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from graph_net.compilers import Compiler\n"
        "class Mine(Compiler):\n    name = 'other'\n    def compile(self, job): ...\n"
    )
    answer = CliRunner().invoke(app, ["compilers", str(tmp_path / "mine.py"), "--json"])
    assert [row["name"] for row in json.loads(answer.stdout)] == ["mine.py:Mine"]


def test_a_vendors_advice_is_not_printed() -> None:
    pytest.importorskip("paddle", reason="needs paddlepaddle")
    command = [sys.executable, "-W", "default", "-m", "graph_net.cli.main", "compilers", "cinn"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "cinn" in ended.stdout
    assert "ccache" not in ended.stderr
