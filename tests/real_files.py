"""Files that other people's programs wrote: slices in this folder, and the whole beside it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

SLICES = Path(__file__).parent / "slices"
SHARED = Path(os.environ.get("GRAPH_NET_SHARED", Path(__file__).resolve().parents[2] / "shared"))


def find_real_files(extent: str) -> Path:
    """Return the folder of slices, or of whole files; skip where the latter is not there."""
    if extent == "slice":
        return SLICES
    if not (SHARED / "data").is_dir():
        pytest.skip("whole files: needs shared/data beside the repository, or $GRAPH_NET_SHARED")
    return SHARED / "data"


@pytest.fixture(params=["slice", "whole"])
def extent(request: pytest.FixtureRequest) -> str:
    """How much of the real files a test reads; it runs once for each."""
    return str(request.param)


@pytest.fixture
def real_files(extent: str) -> Path:
    """The folder with the real files, of one extent and then of the other."""
    return find_real_files(extent)
