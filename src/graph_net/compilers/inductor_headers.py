"""Inductor's precompiled headers: made once per machine, read by every worker, written by none.

Inductor keeps them in one directory for all its runs, and compiling them takes most of a worker's
first compilation. A worker that could write there could change what everybody compiles afterwards,
the user's own programs included. So they are made before the first fork, and each worker has a
directory of its own with links to them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from graph_net.isolate import INHERITED, Died, Limits, call
from graph_net.store.atomic import caching

SECONDS = 600
"""Time limit for compiling the headers, on the slowest machine."""


def shared_headers() -> Path | None:
    """Return the directory of Inductor's headers; None if this version has none."""
    from torch._inductor import codecache

    path = getattr(codecache, "_HEADER_DIR", None)
    return None if path is None else Path(path)


def make_headers() -> None:
    """Make Inductor compile its headers in a process of its own, unless they exist."""
    shared = shared_headers()
    if shared is None or _exist(shared):
        return
    with suppress(Died):  # without them each worker makes its own
        # Not confined: it writes where every user of Inductor on this machine reads.
        call(_compile_something, Limits(SECONDS, None), INHERITED)
    with suppress(OSError), caching(_marker(shared)) as aside:
        shared.mkdir(parents=True, exist_ok=True)
        aside.write_text(json.dumps([path.name for path in shared.glob("*.gch")]))


@contextmanager
def private_headers(workdir: Path) -> Iterator[None]:
    """Let Inductor use the shared headers from a private directory, and add to that one."""
    from torch._inductor import codecache

    shared = shared_headers()
    if shared is None:
        yield
        return
    own = (workdir / "headers").absolute()
    own.mkdir(parents=True, exist_ok=True)
    for header in shared.glob("*.h*"):
        with suppress(FileExistsError):
            (own / header.name).symlink_to(header)
    module: Any = codecache
    before = module._HEADER_DIR, module._HEADER_LOCK_DIR
    module._HEADER_DIR, module._HEADER_LOCK_DIR = str(own), str(own / "locks")
    module._precompile_header.cache_clear()  # it remembers their paths
    try:
        yield
    finally:
        module._HEADER_DIR, module._HEADER_LOCK_DIR = before
        module._precompile_header.cache_clear()


def _compile_something() -> None:
    import torch

    torch.compile(lambda x: x + 1, dynamic=False, options={"compile_threads": 1})(torch.zeros(64))


def _exist(shared: Path) -> bool:
    try:
        names = json.loads(_marker(shared).read_text())
    except (OSError, ValueError):
        return False
    return bool(names) and all((shared / name).exists() for name in names)


def _marker(shared: Path) -> Path:
    """Return the list of the headers made for this torch: another copy of it cannot use them."""
    import torch
    from torch._inductor.cpu_vec_isa import pick_vec_isa

    copy = sha256(torch.__file__.encode()).hexdigest()[:12]
    return shared / f"made-by-{torch.__version__}-{pick_vec_isa()}-{copy}.json"
