"""Files that others made: only regular ones are opened.

A FIFO without a writer blocks whoever opens it, a device may never end, and to open one may do
something. What a path names is asked before it is opened, and again of what was opened.
"""

from __future__ import annotations

import errno
import os
import stat
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


class NotRegular(OSError):
    """A path names something that is no regular file."""

    def __init__(self, path: Path | str, kind: str) -> None:
        super().__init__(errno.EINVAL, f"it is {kind}; only regular files are read", str(path))

    def __str__(self) -> str:
        return f"{self.filename} cannot be read: {self.strerror}"


class TooLarge(ValueError):
    """A file is larger than what is read of its kind."""


def require_regular(path: Path | str) -> None:
    """Raise NotRegular unless a path names a regular file, symbolic links followed.

    For libraries that open a path themselves; OSError where there is nothing.
    """
    _require(os.stat(path).st_mode, path)


def require_regular_handle(handle: int, path: Path | str) -> None:
    """Raise NotRegular unless an open file is a regular one."""
    _require(os.fstat(handle).st_mode, path)


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


def _opener(path: str, flags: int) -> int:
    handle = os.open(path, flags | _READ)
    try:
        require_regular_handle(handle, path)
    except NotRegular:
        os.close(handle)
        raise
    return handle


def _require(mode: int, path: Path | str) -> None:
    if not stat.S_ISREG(mode):
        kind = next((words for asks, words in _KINDS if asks(mode)), "no file")
        raise NotRegular(path, kind)
