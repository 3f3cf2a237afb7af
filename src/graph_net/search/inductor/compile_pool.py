"""Inductor's compiling processes: their number, and no kernel compiled twice."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PTXAS = "TRITON_PTXAS_PATH"
"""Environment variable that names the assembler of Triton."""


@contextmanager
def compile_pool(jobs: int) -> Iterator[None]:
    """Use ``jobs`` compiling processes, and wait until they run.

    Until then Inductor would compile in its own process.
    """
    from torch._inductor import config
    from torch._inductor.async_compile import AsyncCompile

    with config.patch(compile_threads=jobs):
        if jobs > 1:
            AsyncCompile.wait_pool_ready()
        yield


@contextmanager
def one_assembler() -> Iterator[None]:
    """Use the assembler of Inductor's compiling processes in this process too.

    They use the one that comes with torch, this process Triton's. The version is in the key of
    Triton's cache, so every choice would be compiled again here, one by one, when it is timed.
    """
    is_named = PTXAS in os.environ
    share_assembler()
    try:
        yield
    finally:
        if not is_named:
            _name_assembler(None)


def share_assembler() -> None:
    """Do the same for the rest of this process; one that is named already stays."""
    if named := os.environ.get(PTXAS) or torch_assembler():
        _name_assembler(str(named))  # Triton may have asked for the version of another before


def torch_assembler() -> Path | None:
    """Return the assembler that comes with torch, which its compiling processes use."""
    from torch._inductor.runtime import compile_tasks

    # torch 2.11 looks for it in torch/bin, 2.13 in torch/_inductor/bin.
    parents = Path(compile_tasks.__file__).absolute().parents
    names = [parents[level] / "bin" / "ptxas" for level in (2, 1)]
    return next((name for name in names if name.is_file() and os.access(name, os.X_OK)), None)


@contextmanager
def two_assemblers() -> Iterator[None]:
    """Leave the assemblers as torch sets them up; for comparisons."""
    before = os.environ.get(PTXAS)
    _name_assembler(None)
    try:
        yield
    finally:
        _name_assembler(before)


def _name_assembler(path: str | None) -> None:
    """Set Triton's assembler, and make Triton ask for its version again."""
    if path is None:
        os.environ.pop(PTXAS, None)
    else:
        os.environ[PTXAS] = path
    triton: Any = sys.modules.get("triton.backends.nvidia.compiler")
    cached: list[Any] = [
        getattr(triton, "get_ptxas_version", None),
        getattr(triton, "get_features", None),
        getattr(getattr(triton, "CUDABackend", None), "hash", None),
    ]
    for function in cached:
        if hasattr(function, "cache_clear"):
            function.cache_clear()
