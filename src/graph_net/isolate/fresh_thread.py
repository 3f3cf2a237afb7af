"""Run a call in a new thread, without what native libraries keep for the calling one.

TVM keeps a pool of workers for each thread that has used it. A forked process inherits the pool's
memory and none of its workers, and the next parallel loop waits for them for ever; the pool cannot
be ended as OpenMP's can. A new thread has no pool, nor has a process that is forked from it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

STACK_BYTES = 64 << 20
"""Compilers recurse deeply; the default of a thread may be a fraction of the main thread's."""
Result = TypeVar("Result")


def run_in_fresh_thread(work: Callable[[], Result]) -> Result:
    """Return what ``work`` returns in a new thread, or raise what it raises.

    The thread has the confinement that the calling thread has now: confine first.
    """
    results: list[Result] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    before = threading.stack_size(STACK_BYTES)
    try:
        thread = threading.Thread(target=run, name="fresh")
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    if errors:
        raise errors[0]
    return results[0]
