"""A Python file of the user's own, run because the user named it on the command line.

No stored name ever comes here.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType


@contextmanager
def imports_beside(path: Path) -> Iterator[None]:
    """Let imports find what lies beside a file, as they do where it is run itself."""
    before = list(sys.path)
    sys.path.insert(0, str(path.parent.absolute()))
    try:
        yield
    finally:
        sys.path[:] = before


def run_user_file(path: Path) -> ModuleType:
    """Run a user's file and return the module that it makes."""
    spec = importlib.util.spec_from_file_location(f"graph_net_user_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module  # dataclasses and torch look a class's module up
    with imports_beside(path):
        spec.loader.exec_module(module)
    return module
