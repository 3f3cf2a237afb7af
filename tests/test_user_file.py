"""A user's own file runs as if it were run itself."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from graph_net.user_file import imports_beside, run_user_file


def test_a_file_finds_what_lies_beside_it_and_its_classes_find_their_module(tmp_path: Path) -> None:
    (tmp_path / "lies_beside.py").write_text("ANSWER = 42\n")
    (tmp_path / "own.py").write_text("from lies_beside import ANSWER\nclass Own: ...\n")
    before = list(sys.path)
    module = run_user_file(tmp_path / "own.py")
    assert module.ANSWER == 42
    assert sys.modules[module.Own.__module__] is module
    assert sys.path == before


def test_imports_look_beside_no_longer_after_a_failure(tmp_path: Path) -> None:
    (tmp_path / "fails.py").write_text("raise RuntimeError('no')\n")
    before = list(sys.path)
    with pytest.raises(RuntimeError, match="no"), imports_beside(tmp_path / "fails.py"):
        run_user_file(tmp_path / "fails.py")
    assert sys.path == before
