"""The last lines of a run of tests say what was not run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SOME = """
import pytest

absent = pytest.mark.skipif(True, reason="needs a browser")

@absent
def test_first(): ...

@absent
@pytest.mark.parametrize("n", [1, 2])
def test_second(n): ...

def test_third():
    pytest.importorskip("no_such_module", reason="needs no_such_module")

def test_runs(): ...
"""


def test_reasons_are_counted_at_the_end(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(SOME)
    words = ["-q", "-p", "skips", "-p", "no:cacheprovider", str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent), "PYTEST_ADDOPTS": ""}
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        capture_output=True, text=True, env=environment, cwd=tmp_path, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout
    *_, first, second, counts = ended.stdout.strip().splitlines()
    assert first == "skipped 3: needs a browser"
    assert second == "skipped 1: needs no_such_module"
    assert counts.startswith("1 passed, 4 skipped")
