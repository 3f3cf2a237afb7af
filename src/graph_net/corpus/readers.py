"""A pool of processes that read files, and end when the process that wants them does."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context, parent_process
from threading import Thread


def reading_pool(jobs: int, module: str) -> ProcessPoolExecutor:
    """Processes forked from a server that has imported a module, and nothing that holds threads."""
    context = get_context("forkserver")
    context.set_forkserver_preload([module])
    return ProcessPoolExecutor(jobs, mp_context=context, initializer=_end_with_parent)


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
