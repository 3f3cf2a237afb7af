"""End OpenMP's threads before a fork: a child inherits the list of threads, not the threads.

A forked process that enters a parallel region waits for ever for threads that only its parent has.
OpenMP can be asked to end them; the next parallel region, in either process, starts new ones.
"""

from __future__ import annotations

import ctypes
import os
import re
from contextlib import suppress
from pathlib import Path

HARD = 2
"""``omp_pause_hard``: give up threads and everything they hold."""
_LIBRARY = re.compile(r"/\S*/lib(?:gomp|iomp5|omp)[-.]\S*", re.ASCII)


def end_openmp_threads() -> None:
    """End the threads that every loaded copy of OpenMP keeps for the calling thread."""
    with suppress(OSError):  # a confined process cannot ask, and was forked without such threads
        if len(os.listdir("/proc/self/task")) == 1:
            return
        for path in sorted(set(_LIBRARY.findall(Path("/proc/self/maps").read_text("utf-8")))):
            with suppress(OSError, AttributeError):  # older than OpenMP 5, or gone from disk
                library = ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_NOW)
                library.omp_pause_resource_all(HARD)
