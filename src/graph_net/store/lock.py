"""One writer per directory: a lock that the kernel lets go of when its process ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from graph_net.store.files import require_regular_handle

_LOCK = os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC


class InUse(ValueError):
    """A directory is held by another process."""


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Have a directory to oneself while writing to it; raises InUse where another process has it.

    The kernel lets go of it when the process ends, however it ends.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / ".lock"
    handle = _locked(path, folder)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)  # while it is held: who opened it meanwhile will see
        os.close(handle)


def _locked(path: Path, folder: Path) -> int:
    """A handle on a file that nobody else has locked and that still bears its name."""
    while True:
        handle = os.open(path, _LOCK, 0o666)  # neither follows a link nor waits on a FIFO
        try:
            require_regular_handle(handle, path)
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.exists() and os.path.samestat(os.fstat(handle), os.stat(path)):
                return handle
        except BlockingIOError as error:
            os.close(handle)
            raise InUse(f"{folder} is in use by another run; wait for its end") from error
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # another run let go of it, and took the file away
