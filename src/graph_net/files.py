"""Files that others made: only regular ones are opened, and a directory has one writer at a time.

A FIFO without a writer blocks whoever opens it, a device may never end, and to open one may do
something. What a path names is asked before it is opened, and again of what was opened.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

_KINDS = (
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISDIR, "a directory"),
)
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_LOCK = os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC


class NotRegular(OSError):
    """A path names something that is no regular file."""

    def __init__(self, path: Path | str, kind: str) -> None:
        super().__init__(errno.EINVAL, f"it is {kind}; only regular files are read", str(path))

    def __str__(self) -> str:
        return f"{self.filename} cannot be read: {self.strerror}"


class TooLarge(ValueError):
    """A file is larger than what is read of its kind."""


class InUse(ValueError):
    """A directory is held by another process."""


def require_regular(path: Path | str) -> None:
    """Raise NotRegular unless a path names a regular file, symbolic links followed.

    For libraries that open a path themselves; OSError where there is nothing.
    """
    _require(os.stat(path).st_mode, path)


def matching(folder: Path, pattern: str) -> list[Path]:
    """The regular files of a directory whose names match, sorted; raises NotRegular on others."""
    found = sorted(folder.glob(pattern))
    for path in found:
        require_regular(path)
    return found


def open_regular(path: Path | str) -> BufferedReader:
    """A regular file opened for reading; raises NotRegular, at once, on anything else."""
    require_regular(path)
    return open(path, "rb", opener=_opener)


def read_bytes(path: Path | str, most: int | None = None) -> bytes:
    """The bytes of a regular file; raises TooLarge where there are more than ``most``."""
    with open_regular(path) as file:
        data = file.read() if most is None else file.read(most + 1)
    if most is not None and len(data) > most:
        raise TooLarge(f"{path} is larger than the {most} bytes that are read of such a file")
    return data


def read_text(path: Path | str, most: int | None = None) -> str:
    """The text of a regular file, which is UTF-8; raises ValueError on other bytes."""
    try:
        return read_bytes(path, most).decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 text (byte {error.start})") from error


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
            _require(os.fstat(handle).st_mode, path)
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


def _opener(path: str, flags: int) -> int:
    handle = os.open(path, flags | _READ)
    try:
        _require(os.fstat(handle).st_mode, path)
    except NotRegular:
        os.close(handle)
        raise
    return handle


def _require(mode: int, path: Path | str) -> None:
    if not stat.S_ISREG(mode):
        kind = next((words for asks, words in _KINDS if asks(mode)), "no file")
        raise NotRegular(path, kind)
