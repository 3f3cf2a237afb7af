"""Inductor's compiling processes: their number, and no kernel compiled twice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def compile_pool(jobs: int) -> Iterator[None]:
    """Use ``jobs`` compiling processes, and wait until they run.

    Until then Inductor would compile in its own process. The compiling processes use the assembler
    that comes with torch, while this one uses Triton's, whose version is in the key of Triton's
    cache: without this, every choice would be compiled again here, one by one, when it is timed.
    """
    from torch._inductor import config
    from torch._inductor.async_compile import AsyncCompile
    from torch._inductor.runtime.compile_tasks import _set_triton_ptxas_path

    _set_triton_ptxas_path()
    with config.patch(compile_threads=jobs):
        if jobs > 1:
            AsyncCompile.wait_pool_ready()
        yield
