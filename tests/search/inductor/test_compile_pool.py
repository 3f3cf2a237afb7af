"""Inductor's processes and this one name the same assembler, so nothing compiles twice."""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from graph_net.search.inductor import compile_pool
from graph_net.search.inductor.compile_pool import PTXAS, one_assembler, two_assemblers


@pytest.fixture
def assembler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An assembler that comes with torch; none is named in the environment."""
    file = tmp_path / "ptxas"
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    monkeypatch.delenv(PTXAS, raising=False)
    monkeypatch.setattr(compile_pool, "torch_assembler", lambda: file)
    return str(file)


def test_the_assembler_of_the_compiling_processes_is_named_inside_the_block_only(
    assembler: str,
) -> None:
    with one_assembler():
        assert os.environ[PTXAS] == assembler
        with two_assemblers():
            assert PTXAS not in os.environ
        assert os.environ[PTXAS] == assembler
    assert PTXAS not in os.environ


def test_an_assembler_that_the_user_named_stays(
    assembler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PTXAS, "mine")
    with one_assembler():
        assert os.environ[PTXAS] == "mine"
    assert os.environ[PTXAS] == "mine"


def test_triton_is_asked_for_the_version_again(
    assembler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    triton: Any = ModuleType("triton.backends.nvidia.compiler")
    triton.get_ptxas_version = lru_cache(lambda: os.environ.get(PTXAS, "its own"))
    monkeypatch.setitem(sys.modules, triton.__name__, triton)
    assert triton.get_ptxas_version() == "its own"
    with one_assembler():
        assert triton.get_ptxas_version() == assembler
    assert triton.get_ptxas_version() == "its own"


def test_torch_without_an_assembler_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PTXAS, raising=False)
    monkeypatch.setattr(compile_pool, "torch_assembler", lambda: None)
    with one_assembler():
        assert PTXAS not in os.environ
