"""Processes are started in ``isolate`` alone, with a short list of exceptions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import graph_net

SOURCE = Path(graph_net.__file__).parent
STARTERS = {"subprocess", "multiprocessing", "concurrent.futures.process"}
"""Modules whose use starts processes."""
CALLS = {
    "os.fork", "os.forkpty", "os.system", "os.popen", "os.posix_spawn", "os.posix_spawnp",
    "torch.multiprocessing", "concurrent.futures.ProcessPoolExecutor",
}  # fmt: skip
WAITING = "multiprocessing.connection"
"""Waits for descriptors; starts nothing."""
ALLOWED = {
    ("cluster/program_lane.py", "subprocess"): "an actor has Ray's threads, and must not fork",
    ("measure/runner.py", "subprocess"): "the lanes are forked from a process without threads",
    ("repro/try_script.py", "subprocess"): "a script is tried by a fresh interpreter",
    ("serve/ask_sql.py", "subprocess"): "a server has threads, and must not fork",
    ("serve/task_process.py", "subprocess"): "a server has threads, and must not fork",
}


def starters(tree: ast.Module) -> Iterator[str]:
    """Yield what a module uses to start processes."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names):
                yield from (alias.name for alias in names if alias.name in STARTERS)
            case ast.ImportFrom(module=str(module), names=names) if module != WAITING:
                full = {f"{module}.{alias.name}" for alias in names}
                yield from full & CALLS
                yield from {module, module.partition(".")[0]} & STARTERS
            case ast.Attribute(ast.Name(owner), attribute) if f"{owner}.{attribute}" in CALLS:
                yield f"{owner}.{attribute}"


def test_processes_are_started_in_one_package() -> None:
    uses = {
        (str(path.relative_to(SOURCE)), name)
        for path in SOURCE.rglob("*.py")
        if "isolate" not in path.relative_to(SOURCE).parts
        for name in starters(ast.parse(path.read_text("utf-8")))
    }
    assert uses == set(ALLOWED)


def test_a_process_that_is_started_by_any_of_these_is_seen() -> None:
    text = """
import subprocess
from multiprocessing import Pool
from multiprocessing.connection import wait
from os import fork
from concurrent.futures import ProcessPoolExecutor
os.fork()
"""
    assert set(starters(ast.parse(text))) == {
        "subprocess", "multiprocessing", "os.fork", "concurrent.futures.ProcessPoolExecutor"
    }  # fmt: skip
