"""Untrusted files: only regular ones are opened.

Opening a FIFO without a writer blocks, a device may never end, and opening one may have effects.
The kind of a path is checked before it is opened, and that of the opened file again.
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
    """A path that is not a regular file."""

    def __init__(self, path: Path | str, kind: str) -> None:
        super().__init__(errno.EINVAL, f"it is {kind}; only regular files are read", str(path))

    def __str__(self) -> str:
        return f"{self.filename} cannot be read: {self.strerror}"


class TooLarge(ValueError):
    """A file that is larger than the limit of its kind."""


def require_regular(path: Path | str) -> None:
    """Raise NotRegular unless a path is a regular file, following links; OSError if missing.

    For libraries that open a path themselves.
    """
    _require(os.stat(path).st_mode, path)


def require_regular_handle(handle: int, path: Path | str) -> None:
    """Raise NotRegular unless an open file is regular."""
    _require(os.fstat(handle).st_mode, path)


def list_regular(folder: Path, pattern: str) -> list[Path]:
    """Return the files of a directory that match, sorted; raise NotRegular unless all are."""
    paths = sorted(folder.glob(pattern))
    for path in paths:
        require_regular(path)
    return paths


def open_regular(path: Path | str) -> BufferedReader:
    """Open a regular file for reading; raise NotRegular, without blocking, on anything else."""
    require_regular(path)
    return open(path, "rb", opener=_opener)


def read_bytes(path: Path | str, most: int | None = None) -> bytes:
    """Return the bytes of a regular file; raise TooLarge if there are more than ``most``."""
    with open_regular(path) as file:
        data = file.read() if most is None else file.read(most + 1)
    if most is not None and len(data) > most:
        raise TooLarge(f"{path} is larger than the limit of {most} bytes for such a file")
    return data


def read_text(path: Path | str, most: int | None = None) -> str:
    """Return the text of a regular UTF-8 file; raise ValueError on other bytes."""
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
        kind = next((name for test, name in _KINDS if test(mode)), "not a file")
        raise NotRegular(path, kind)
