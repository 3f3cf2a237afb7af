"""A pool of processes that read files, and end when the process that wants them does."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import forkserver, get_context, parent_process, resource_tracker
from threading import Thread

SAFE_PATH = "PYTHONSAFEPATH"
"""What tells an interpreter to leave the current directory out of its path."""


def reading_pool(jobs: int, module: str) -> ProcessPoolExecutor:
    """Processes forked from a server that has imported a module, and nothing that holds threads."""
    context = get_context("forkserver")
    context.set_forkserver_preload([module])
    with _safe_path():
        resource_tracker.ensure_running()
        forkserver.ensure_running()
    return ProcessPoolExecutor(jobs, mp_context=context, initializer=_end_with_parent)


@contextmanager
def _safe_path() -> Iterator[None]:
    """Let interpreters that are started look for modules where they are installed.

    multiprocessing starts its own with ``python -c``, which looks in the current directory first:
    there may be a stranger's ``multiprocessing.py`` beside the samples that are to be read.
    """
    before = os.environ.get(SAFE_PATH)
    os.environ[SAFE_PATH] = "1"
    try:
        yield
    finally:
        del os.environ[SAFE_PATH]
        if before is not None:
            os.environ[SAFE_PATH] = before


def _end_with_parent() -> None:
    """End this process when the one that asked for it is gone, however it went.

    A worker is the server's child and waits on a queue that its siblings hold open: neither a
    signal at the parent's death nor the end of the queue would ever reach it.
    """
    parent = parent_process()
    if parent is None:
        return

    def wait() -> None:
        parent.join()
        os._exit(1)

    Thread(target=wait, daemon=True).start()
