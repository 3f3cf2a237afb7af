"""One writer per directory: a lock that the kernel releases when its process ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from graph_net.store.files import require_regular_handle

_LOCK = os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC


class InUse(ValueError):
    """A directory is locked by another process."""


@contextmanager
def hold_lock(folder: Path) -> Iterator[None]:
    """Lock a directory inside the context; raise InUse if another process has it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / ".lock"
    handle = _acquire(path, folder)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)  # while locked: a process that opened it meanwhile notices
        os.close(handle)


def _acquire(path: Path, folder: Path) -> int:
    """Return a handle of the lock file, locked, and still under its name."""
    while True:
        handle = os.open(path, _LOCK, 0o666)  # neither follows a link nor waits on a FIFO
        try:
            require_regular_handle(handle, path)
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.exists() and os.path.samestat(os.fstat(handle), os.stat(path)):
                return handle
        except BlockingIOError as error:
            os.close(handle)
            raise InUse(f"{folder} is in use by another run; wait until it ends") from error
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # another run released it and removed the file
