"""Execution of a Python file that the user named on the command line; never of a stored name."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType


@contextmanager
def imports_beside(path: Path) -> Iterator[None]:
    """Let imports find modules beside a file, as when it is run as a script."""
    before = list(sys.path)
    sys.path.insert(0, str(path.parent.absolute()))
    try:
        yield
    finally:
        sys.path[:] = before


def run_user_file(path: Path) -> ModuleType:
    """Run a user's file and return its module."""
    spec = importlib.util.spec_from_file_location(f"graph_net_user_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module  # dataclasses and torch look up a class's module
    with imports_beside(path):
        spec.loader.exec_module(module)
    return module
